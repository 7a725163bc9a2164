//! What a client has of the server: its connections, what it holds by them, and whom to tell.

use crate::error::Failure;
use crate::grip::Grip;
use crate::session::Session;
use crate::sheet::Ground;
use crate::sides::Sides;
use crate::steps::{self, Ask, Taken};
use crate::turns::Turns;
use crate::waits::Waiting;
use mysql_async::Opts;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tenure_core::{Answers, Batch, Claim, Key, Outcome, Pusher, Step, StoreError, StoreErrorKind, report};
use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;

/// How often the desk is tidied.
const TIDY: Duration = Duration::from_millis(500);
/// For how long a session is kept that nobody needs.
const REST: Duration = Duration::from_secs(10);

/// How long one who needs a connection waits for those who are done with theirs soon, and how often it looks.
const TURN: Duration = Duration::from_millis(250);
const LOOK: Duration = Duration::from_millis(5);

/// A client's desk. All of its work is done on the client's own runtime, where its connections live.
pub(crate) struct Desk {
    opts: Opts,
    pub(crate) connections: usize,
    pub(crate) sides: Sides,
    room: Arc<Semaphore>,
    pub(crate) turns: Arc<Turns>,
    state: Mutex<State>,
    pusher: Mutex<Option<Pusher>>,
    /// Until when anything of ours may be held, of whatever kind.
    pub(crate) held: watch::Sender<Instant>,
    pub(crate) answers: Answers,
}

#[derive(Default)]
pub(crate) struct State {
    /// By what a claim of ours has the row of a lock.
    pub(crate) grips: HashMap<(Key, Claim), Arc<Grip>>,
    /// Which rows are waited for.
    pub(crate) waits: HashMap<Key, Waiting>,
    /// Sessions that have no row.
    resting: Vec<(Session, Instant)>,
}

impl Desk {
    pub(crate) fn new(opts: Opts, connections: usize) -> Self {
        Self {
            sides: Sides::new(opts.clone()),
            opts,
            connections,
            room: Arc::new(Semaphore::new(connections)),
            turns: Arc::default(),
            state: Mutex::default(),
            pusher: Mutex::default(),
            held: watch::Sender::new(Instant::now()),
            answers: Answers::new(),
        }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whom to tell from now on.
    pub(crate) fn speak_to(&self, pusher: Option<Pusher>) {
        *self.pusher.lock().unwrap_or_else(PoisonError::into_inner) = pusher;
    }

    pub(crate) fn pusher(&self) -> Option<Pusher> {
        self.pusher.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Makes sure that the server lets us in and can be written to: who waits rides out a fail-over, but does not wait for a
    /// copy to become something else.
    pub(crate) async fn reach(&self, until: Instant) -> Result<(), Failure> {
        let nothing = "UPDATE tenure_meta SET value = value WHERE name = 'schema'";
        self.sides.write(nothing, (), until).await.map_err(|failure| {
            let read_only = failure.is_read_only();
            let error = failure.into_store();
            let kind = if read_only { StoreErrorKind::Denied } else { error.kind };
            StoreError { kind, ..error }.into()
        })
    }

    /// Takes steps, and tells our own who wait.
    pub(crate) async fn take(&self, ask: Ask<'_>, until: Instant) -> Result<Taken, Failure> {
        let taken = steps::take(&self.sides, ask, until).await?;
        // Others find out by looking.
        if let Some(pusher) = self.pusher() {
            taken.notices.tell(&pusher);
        }
        if let Some(lease) = taken.applied.holds_for(ask.batch.steps) {
            self.holds_for(lease);
        }
        Ok(taken)
    }

    /// Takes one step.
    pub(crate) async fn step(&self, step: &Step, ground: Ground<'_>, until: Instant) -> Result<Outcome, Failure> {
        let ask = Ask { batch: Batch::one(step), grounds: &[ground] };
        Ok(self.take(ask, until).await?.applied.single()?)
    }

    /// Something of ours is held for so long from now.
    pub(crate) fn holds_for(&self, lease: Duration) {
        self.answers.holds_for(lease);
        let until = Instant::now() + lease;
        self.held.send_if_modified(|held| {
            let longer = until > *held;
            *held = until.max(*held);
            longer
        });
    }

    /// A session that has no row, and whether it was resting: the server may have ended it meanwhile.
    pub(crate) async fn session(&self, until: Instant) -> Result<(Session, bool), Failure> {
        if !self.sides.are_used() {
            // The tables must be there before a row of theirs is asked for.
            self.sides.take(until).await?.roll_back().await?;
        }
        let patience = until.min(Instant::now() + TURN);
        let room = loop {
            if let Some(rested) = self.rested() {
                return Ok((rested, true));
            }
            if let Ok(room) = Arc::clone(&self.room).try_acquire_owned() {
                break room;
            }
            // Those who only try are done soon, and leave what they had.
            if Instant::now() >= patience {
                let message = format!(
                    "every connection of this client holds a lock or waits for one, raise `connections` in the url, and \
                     `max_connections` of the server with it: connections={}",
                    self.connections
                );
                return Err(StoreError::new(StoreErrorKind::Unreachable, message).into());
            }
            tokio::time::sleep(LOOK).await;
        };
        let session = Session::open(&self.opts, room, until).await?;
        // Who lives is told by names, and whom to end by numbers: they must mean the same to every connection.
        if self.connection_of(&session.name, until).await? != Some(session.connection().into()) {
            let message = "one connection does not see what another one has locked: name the server itself in the url, and no \
                           proxy that shares connections or cluster that shares the work";
            return Err(StoreError::new(StoreErrorKind::Unsupported, message).into());
        }
        Ok((session, false))
    }

    /// A session that rests, and has not done so for too long.
    fn rested(&self) -> Option<Session> {
        let mut state = self.state();
        while let Some((session, since)) = state.resting.pop() {
            if since.elapsed() < session.keeps().min(REST) {
                return Some(session);
            }
        }
        None
    }

    /// The server's number for a session, if it is alive.
    pub(crate) async fn connection_of(&self, session: &str, until: Instant) -> Result<Option<u64>, Failure> {
        let found = self.sides.read("SELECT IS_USED_LOCK(?)", (session,), until).await?;
        Ok(found.into_iter().next().flatten())
    }

    /// Lets go of all rows of a session, and keeps it for the next who needs one.
    pub(crate) async fn let_go(&self, mut session: Session, until: Instant) {
        match session.let_go(until).await {
            Ok(()) => self.state().resting.push((session, Instant::now())),
            // Its rows are free as soon as the server knows that it is gone.
            Err(failure) => report(move || tracing::debug!(?failure, "a session that did not let go is closed")),
        }
    }

    /// Tidies up for as long as the desk is used.
    pub(crate) async fn keep_tidy(self: Arc<Self>) {
        let mut next_sweep = Instant::now();
        loop {
            tokio::time::sleep(TIDY).await;
            self.give_up_waits().await;
            self.sides.close_idle();
            let old: Vec<_> = {
                let mut state = self.state();
                let (old, young) = state.resting.drain(..).partition(|(_, since)| since.elapsed() >= REST);
                state.resting = young;
                old
            };
            drop(old);
            if self.sides.are_used() && Instant::now() >= next_sweep {
                next_sweep = Instant::now() + crate::sweep::EVERY;
                let desk = Arc::clone(&self);
                // By itself, for it may take long.
                tokio::spawn(async move {
                    if let Err(failure) = desk.sweep().await {
                        report(move || tracing::debug!(?failure, "what nobody uses any more could not be swept out"));
                    }
                });
            }
        }
    }

    /// Ends all that goes on in the server, as far as it answers.
    pub(crate) async fn close(&self, until: Instant) {
        let waits: Vec<Key> = self.state().waits.keys().cloned().collect();
        for key in waits {
            self.give_up_wait(&key, until).await;
        }
        let state = std::mem::take(&mut *self.state());
        drop(state);
        self.sides.close_all();
    }
}
