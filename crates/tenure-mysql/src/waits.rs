//! Waiting for a row: one session for each lock that this client waits for, blocked in the server.

use crate::desk::Desk;
use crate::error::Failure;
use crate::link::IDLE;
use crate::name::name;
use crate::session::{Row, Session, Wait};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tenure_core::{Key, Kind, Topic, report};
use tokio::time::Instant;

/// Whoever waits asks once a second; a wait that nobody has asked about for so long is given up.
const ASKED_WITHIN: Duration = Duration::from_millis(2500);
/// How long it may take to make a session to wait by, or to end it.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);
/// What was true so short a time ago is taken to be.
const JUST_NOW: Duration = Duration::from_millis(200);
/// A blocked statement is answered after its own time-out at the latest, and then some.
const BLOCKED_AT_MOST: Duration = Duration::from_secs(15);

/// A wait for one row.
pub(crate) struct Waiting {
    /// Which one: another may have begun for the same row since.
    number: u64,
    /// When somebody last asked for the lock.
    asked: Instant,
    /// The name of the session that waits, once there is one.
    session: Option<String>,
    /// The session, once it has the row, and since when.
    got: Option<(Session, Instant)>,
}

impl Desk {
    /// The session that has waited for the row and got it, if there is one.
    pub(crate) async fn got(&self, key: &Key, until: Instant) -> Option<Session> {
        let (mut session, since) = {
            let mut state = self.state();
            let got = state.waits.get_mut(key)?.got.take()?;
            state.waits.remove(key);
            got
        };
        // It may have been ended since, if that is long ago.
        let is_there = since.elapsed() < JUST_NOW || session.beat(until).await.is_ok();
        is_there.then_some(session)
    }

    /// Whether the row is being waited for. If so, somebody has just asked.
    pub(crate) fn waits_for(&self, key: &Key) -> bool {
        self.state().waits.get_mut(key).map(|waiting| waiting.asked = Instant::now()).is_some()
    }

    /// Whether the row is being waited for.
    pub(crate) fn is_waited_for(&self, key: &Key) -> bool {
        self.state().waits.contains_key(key)
    }

    /// Waits for the row in the server from now on.
    pub(crate) fn wait_for(self: &Arc<Self>, key: &Key) {
        if !self.waits_for(key) {
            static NEXT: AtomicU64 = AtomicU64::new(0);
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let waiting = Waiting { number, asked: Instant::now(), session: None, got: None };
            self.state().waits.insert(key.clone(), waiting);
            tokio::spawn(wait(Arc::clone(self), key.clone(), number));
        }
    }

    /// Notes something of a wait, or gives it back if the wait was given up.
    fn of_wait<T>(&self, key: &Key, number: u64, what: T, note: impl FnOnce(&mut Waiting, T)) -> Option<T> {
        let mut state = self.state();
        match state.waits.get_mut(key).filter(|waiting| waiting.number == number) {
            Some(waiting) => {
                note(waiting, what);
                None
            }
            None => Some(what),
        }
    }

    /// Gives up those waits that nobody asks about any more.
    pub(crate) async fn give_up_waits(&self) {
        let now = Instant::now();
        let is_left = |waiting: &Waiting| now.duration_since(waiting.asked) >= ASKED_WITHIN;
        let left: Vec<Key> = {
            let state = self.state();
            state.waits.iter().filter(|(_, waiting)| is_left(waiting)).map(|(key, _)| key.clone()).collect()
        };
        for key in left {
            self.give_up_wait(&key, now + ANSWER_WITHIN).await;
        }
    }

    /// Ends a wait, in the server too.
    pub(crate) async fn give_up_wait(&self, key: &Key, until: Instant) {
        let Some(waiting) = self.state().waits.remove(key) else { return };
        match waiting {
            Waiting { got: Some((session, _)), .. } => self.let_go(session, until).await,
            Waiting { session: Some(session), .. } => {
                if let Err(failure) = self.end(&session, until).await {
                    // It ends by itself when its own time is over.
                    let error = failure.into_store();
                    report(move || tracing::debug!(%error, "a wait could not be ended in the server"));
                }
            }
            Waiting { .. } => {}
        }
    }

    /// Ends a session of ours, by name: a server that was restarted gives its numbers to others.
    async fn end(&self, session: &str, until: Instant) -> Result<(), Failure> {
        match self.connection_of(session, until).await? {
            Some(connection) => self.sides.end(connection, until).await,
            None => Ok(()),
        }
    }

    /// Makes the row of a key.
    pub(crate) async fn make_row(&self, key: &Key, until: Instant) -> Result<(), Failure> {
        match self.sides.write(crate::in_transaction::MAKE, (name(key), name(key)), until).await {
            // Somebody has made it, and has it.
            Err(failure) if failure.is_taken() => Ok(()),
            made => made,
        }
    }
}

/// Waits for the row until it is ours or nobody wants it any more.
async fn wait(desk: Arc<Desk>, key: Key, number: u64) {
    match wait_by_session(&desk, &key, number).await {
        Ok(Some(session)) => {
            if let Some(unwanted) = desk.of_wait(&key, number, session, |waiting, session| {
                waiting.got = Some((session, Instant::now()));
            }) {
                // The word to end it may be on its way, and is not to hit another lock: it is closed, and not used again.
                drop(unwanted);
                return;
            }
        }
        Ok(None) => {}
        Err(failure) => {
            let error = failure.into_store();
            let waited = key.clone();
            report(move || {
                tracing::debug!(%error, key = %waited, "the wait in the server has ended, whoever waits looks by itself");
            });
            let mut state = desk.state();
            if state.waits.get(&key).is_some_and(|waiting| waiting.number == number) {
                state.waits.remove(&key);
            }
        }
    }
    if let Some(pusher) = desk.pusher()
        && !pusher.wake(&Topic::of(Kind::Reentrant, &key))
    {
        // Whoever waited has given up, or does not listen yet and asks again when it does: others come first.
        desk.give_up_wait(&key, Instant::now() + ANSWER_WITHIN).await;
    }
}

async fn wait_by_session(desk: &Arc<Desk>, key: &Key, number: u64) -> Result<Option<Session>, Failure> {
    let name = name(key);
    let soon = || Instant::now() + ANSWER_WITHIN;
    let (mut session, mut rested) = desk.session(soon()).await?;
    loop {
        let name_of_it = Some(session.name.clone());
        if desk.of_wait(key, number, name_of_it, |waiting, session| waiting.session = session).is_some() {
            return Ok(None);
        }
        // It has no lease yet: one that is cut off is not to keep the row for as long as the last one might have.
        let locked = match session.lease(IDLE, soon()).await {
            Ok(()) => session.lock(&name, Wait::Yes, Instant::now() + BLOCKED_AT_MOST).await,
            Err(failure) => Err(failure),
        };
        match locked {
            Ok(Row::Ours) => return Ok(Some(session)),
            Ok(Row::Taken) => session.let_go(soon()).await?,
            Ok(Row::Missing) => {
                session.let_go(soon()).await?;
                desk.make_row(key, soon()).await?;
            }
            // It was ended while it rested.
            Err(failure) if failure.is_gone() && rested => (session, rested) = desk.session(soon()).await?,
            Err(failure) => return Err(failure),
        }
    }
}
