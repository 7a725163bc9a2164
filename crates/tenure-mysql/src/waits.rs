//! Waiting for a row: one session for each lock that this client waits for, blocked in the server.

use crate::desk::Desk;
use crate::error::Failure;
use crate::name::name;
use crate::session::{IDLE, Row, Session, Wait};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tenure_core::{Key, Kind, Topic};
use tokio::time::Instant;

/// Whoever waits asks once a second; a wait that nobody has asked about for so long is given up.
const ASKED_WITHIN: Duration = Duration::from_millis(2500);
/// How long it may take to make a session to wait by, or to end it.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);
/// A blocked statement is answered after its own time-out at the latest, and then some.
const BLOCKED_AT_MOST: Duration = Duration::from_secs(15);

/// A wait for one row.
pub(crate) struct Waiting {
    /// Which one: another may have begun for the same row since.
    number: u64,
    /// When somebody last asked for the lock.
    asked: Instant,
    /// The server's number for the session that waits, once there is one.
    connection: Option<u64>,
    /// The session, once it has the row.
    got: Option<Session>,
}

impl Desk {
    /// The session that has waited for the row and got it, if there is one.
    pub(crate) fn got(&self, key: &Key) -> Option<Session> {
        let mut state = self.state();
        let session = state.waits.get_mut(key)?.got.take()?;
        state.waits.remove(key);
        Some(session)
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
            let waiting = Waiting { number, asked: Instant::now(), connection: None, got: None };
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
            Waiting { got: Some(session), .. } => self.let_go(session, until).await,
            Waiting { connection: Some(connection), .. } => {
                if let Err(failure) = self.sides.end(connection, until).await {
                    // It ends by itself when its own time is over.
                    tracing::debug!(error = %failure.into_store(), "a wait could not be ended in the server");
                }
            }
            Waiting { .. } => {}
        }
    }

    /// Makes the row of a key.
    pub(crate) async fn make_row(&self, key: &Key, until: Instant) -> Result<(), Failure> {
        loop {
            let mut side = self.sides.take(until).await?;
            let was_idle = side.was_idle;
            match side.run(crate::in_transaction::MAKE, (name(key), name(key))).await {
                Ok(_) => return side.commit().await,
                // Somebody has made it, and has it.
                Err(failure) if failure.is_taken() => return side.roll_back().await,
                Err(failure) if crate::sides::again(&failure, was_idle, &self.sides) && Instant::now() < until => {}
                Err(failure) => return Err(failure),
            }
        }
    }
}

/// Waits for the row until it is ours or nobody wants it any more.
async fn wait(desk: Arc<Desk>, key: Key, number: u64) {
    match wait_by_session(&desk, &key, number).await {
        Ok(Some(session)) => {
            if let Some(unwanted) = desk.of_wait(&key, number, session, |waiting, session| waiting.got = Some(session))
            {
                desk.let_go(unwanted, Instant::now() + ANSWER_WITHIN).await;
                return;
            }
        }
        Ok(None) => {}
        Err(failure) => {
            let error = failure.into_store();
            tracing::debug!(%error, %key, "the wait in the server has ended, whoever waits looks by itself");
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
    let mut session = fresh(desk, key).await?;
    loop {
        let connection = Some(session.connection().into());
        if desk.of_wait(key, number, connection, |waiting, connection| waiting.connection = connection).is_some() {
            return Ok(None);
        }
        match session.lock(&name, Wait::Yes, Instant::now() + BLOCKED_AT_MOST).await {
            Ok(Row::Ours) => return Ok(Some(session)),
            Ok(Row::Taken) => session.let_go(Instant::now() + ANSWER_WITHIN).await?,
            Ok(Row::Missing) => {
                session.let_go(Instant::now() + ANSWER_WITHIN).await?;
                desk.make_row(key, Instant::now() + ANSWER_WITHIN).await?;
            }
            Err(failure) => return Err(failure),
        }
    }
}

/// A session that is surely alive: one that is found dead only after it has waited would have waited in vain.
async fn fresh(desk: &Arc<Desk>, key: &Key) -> Result<Session, Failure> {
    let until = Instant::now() + ANSWER_WITHIN;
    loop {
        let (mut session, rested) = desk.session(until).await?;
        // It has no lease yet: one that is cut off is not to keep the row for as long as the last one might have.
        let set = session.lease(IDLE, until).await;
        if !rested || (set.is_ok() && session.beat(until).await.is_ok()) {
            return set.map(|()| session);
        }
        tracing::trace!(%key, "a session was ended while it rested");
    }
}
