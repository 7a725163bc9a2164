//! What happens to a client's locks, as it happens, for whoever wants to know.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tenure_kernel::{Claim, Holder, Key, Token, Vote};
use tokio::sync::broadcast;

/// Something that happened to one lock of this client.
#[derive(Debug, Clone)]
pub struct Event {
    /// Which lock.
    pub key: Key,
    /// Which acquisition.
    pub claim: Claim,
    /// What.
    pub what: What,
}

/// What happened.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum What {
    /// A guard was handed over.
    Acquired {
        /// Its fencing token.
        token: Token,
    },
    /// Somebody else holds the lock, or comes first; we wait.
    Waiting {
        /// Who holds it, if anybody does.
        holder: Option<Holder>,
        /// How many stand before us, if we stand in line.
        ahead: Option<u32>,
        /// What each server said, where a majority of several keeps the lock.
        votes: Vec<Vote>,
    },
    /// The wait is over, whether or not the lock was obtained.
    Waited {
        /// How long it took.
        waited: Duration,
        /// Whether the lock was obtained.
        obtained: bool,
    },
    /// The lease was renewed.
    Renewed,
    /// A renewal failed; the lease still runs and the watchdog goes on trying.
    Jeopardy {
        /// Why it failed.
        cause: String,
        /// How long the lease still runs.
        remaining: Duration,
        /// What each server said, where a majority of several keeps the lock.
        votes: Vec<Vote>,
    },
    /// The lease ended, or the store no longer knows the hold, while a guard lived.
    Lost {
        /// Why.
        why: Loss,
    },
    /// One guard gave up its entry.
    Released {
        /// How long it had held.
        held: Duration,
        /// How often the claim is still in.
        left: u32,
    },
    /// This client freed the lock over its holder's head.
    Forced {
        /// Who was put out.
        holder: Holder,
    },
    /// A hint: a section took more than a third of its lease. One that is three to five times as long as the section takes
    /// leaves room for a renewal that fails.
    Long {
        /// How long it held.
        held: Duration,
        /// The lease it was given.
        lease: Duration,
    },
    /// The safety alarm: a section took longer than it should have.
    Alarm(Alarm),
}

/// The safety alarm: a section held its lock longer than the lease it had, or than it was expected to.
#[derive(Debug, Clone)]
pub struct Alarm {
    /// Whose section: the claim and the client's card.
    pub owner: Arc<str>,
    /// How long it has held so far, or held in all.
    pub held: Duration,
    /// The lease it was given.
    pub lease: Duration,
    /// Which bound it broke.
    pub reason: AlarmReason,
}

/// Which bound a section broke.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AlarmReason {
    /// It outlived its lease: another holder may have been in at the same time.
    OutlivedLease,
    /// It is still in after `warn_after`.
    HeldTooLong,
}

/// Why a lock was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Loss {
    /// The lease ran out before it could be renewed, or was not to be renewed.
    LeaseEnded,
    /// It was held for as long as its `max_hold` allows.
    HeldTooLong,
    /// The store does not know the hold any more: it was deleted, or the store restarted empty.
    Gone,
    /// Somebody freed the lock by force.
    Forced,
    /// The client was closed while the guard lived.
    Closed,
    /// The client's own thread died; nothing renews any more.
    WatchdogDied,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LeaseEnded => "its lease ended",
            Self::HeldTooLong => "it was held for as long as its max_hold allows",
            Self::Gone => "the store does not know it any more",
            Self::Forced => "somebody released it by force",
            Self::Closed => "its client was closed",
            Self::WatchdogDied => "the client's watchdog thread died",
        })
    }
}

/// A subscription to a client's events. A subscriber that falls behind by more than a thousand misses the oldest ones,
/// and can [tell how many](Events::missed).
#[derive(Debug)]
pub struct Events {
    receiver: broadcast::Receiver<Event>,
    missed: u64,
}

impl Events {
    /// The next event; none once the client is gone.
    ///
    /// # Cancel safety
    ///
    /// No event is lost when the future is dropped.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            match self.receiver.recv().await {
                Ok(event) => return Some(event),
                Err(broadcast::error::RecvError::Lagged(missed)) => self.missed += missed,
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }

    /// How many events this subscriber has missed so far because it fell behind.
    pub fn missed(&self) -> u64 {
        self.missed
    }
}

/// Where events come from.
#[derive(Debug)]
pub(crate) struct Announcer(broadcast::Sender<Event>);

impl Announcer {
    pub(crate) fn new() -> Self {
        Self(broadcast::Sender::new(1024))
    }

    pub(crate) fn subscribe(&self) -> Events {
        Events { receiver: self.0.subscribe(), missed: 0 }
    }

    /// Says it, if anybody listens; what to say is only worked out then.
    pub(crate) fn say(&self, event: impl FnOnce() -> Event) {
        if self.0.receiver_count() > 0 {
            // Fails only if the last listener left in this instant.
            let _ = self.0.send(event());
        }
    }
}
