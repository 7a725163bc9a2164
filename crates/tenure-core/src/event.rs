//! What happens to a client's locks, as it happens, for whoever wants to know.

use crate::bell::Bell;
use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Waker;
use std::time::Duration;
use tenure_kernel::{Claim, Holder, Key, Kind, Token, Vote};

/// Something that happened to one lock of this client.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Event {
    /// What kind of lock.
    pub kind: Kind,
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
    /// Somebody else holds the lock, or comes first, or the store is silent; we wait.
    Waiting {
        /// Who holds it, if anybody does.
        holder: Option<Holder>,
        /// How many stand before us, if we stand in line.
        ahead: Option<u32>,
        /// What each server said, where a majority of several keeps the lock.
        votes: Vec<Vote>,
    },
    /// The wait is over, whether or not the lock was obtained. Every [`Waiting`](What::Waiting) is followed by one, of the same
    /// claim.
    Waited {
        /// How long it took.
        waited: Duration,
        /// How it ended.
        end: WaitEnd,
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

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WaitEnd {
    /// The lock was obtained.
    Obtained,
    /// Somebody else had it until the wait was over.
    TimedOut,
    /// Whoever waited gave up: the future was dropped.
    Cancelled,
    /// By an error: the store was silent, or the client was closed.
    Failed,
}

impl WaitEnd {
    pub(crate) fn of<T, C, E>(outcome: &Result<Result<T, C>, E>) -> Self {
        match outcome {
            Ok(Ok(_)) => Self::Obtained,
            Ok(Err(_)) => Self::TimedOut,
            Err(_) => Self::Failed,
        }
    }
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
    /// A thread of the client's died; nothing renews any more.
    WatchdogDied,
    /// This process is a fork of the one that took the lock. The lock is still that one's.
    Forked,
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
            Self::Forked => "it belongs to the process that this one was forked from",
        })
    }
}

/// A subscription to a client's events. A subscriber that falls behind by more than a thousand misses the oldest ones,
/// and can [tell how many](Events::missed).
#[derive(Debug)]
pub struct Events(Arc<Listener>);

impl Events {
    /// The next event; none once the client is gone.
    ///
    /// # Cancel safety
    ///
    /// No event is lost when the future is dropped.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            // It hears before the look, so that an event between look and sleep is not missed.
            let news = self.0.news.rung();
            {
                let mut heard = self.0.heard();
                if let Some(event) = heard.events.pop_front() {
                    return Some(event);
                }
                if heard.ended {
                    return None;
                }
            }
            news.await;
        }
    }

    /// How many events this subscriber has missed so far because it fell behind.
    pub fn missed(&self) -> u64 {
        self.0.heard().missed
    }
}

/// One subscriber, and what it has not fetched yet.
#[derive(Debug, Default)]
struct Listener {
    heard: Mutex<Heard>,
    news: Bell,
}

#[derive(Debug, Default)]
struct Heard {
    events: VecDeque<Event>,
    missed: u64,
    ended: bool,
}

impl Listener {
    /// So many events wait for a subscriber at the most.
    const MOST: usize = 1024;

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where events come from. To say one runs no code of a subscriber's.
#[derive(Debug, Default)]
pub(crate) struct Announcer {
    listeners: Mutex<Vec<Weak<Listener>>>,
    /// So that those who say something need not ask for the mutex while nobody listens.
    any: AtomicBool,
}

impl Announcer {
    fn listeners(&self) -> Vec<Arc<Listener>> {
        if !self.any.load(Ordering::Acquire) {
            return Vec::new();
        }
        let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.retain(|listener| listener.strong_count() > 0);
        self.any.store(!listeners.is_empty(), Ordering::Release);
        listeners.iter().filter_map(Weak::upgrade).collect()
    }

    pub(crate) fn subscribe(&self) -> Events {
        let listener = Arc::default();
        let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.push(Arc::downgrade(&listener));
        self.any.store(true, Ordering::Release);
        Events(listener)
    }

    /// Leaves an event for every subscriber, if there are any; what to say is only worked out then. Returns who is to be woken.
    pub(crate) fn say(&self, event: impl FnOnce() -> Event) -> Vec<Waker> {
        let listeners = self.listeners();
        if listeners.is_empty() {
            return Vec::new();
        }
        let event = event();
        let mut wakers = Vec::new();
        for listener in &listeners {
            let mut heard = listener.heard();
            if heard.events.len() == Listener::MOST {
                heard.events.pop_front();
                heard.missed += 1;
            }
            heard.events.push_back(event.clone());
            drop(heard);
            wakers.extend(listener.news.ring());
        }
        wakers
    }

    /// There will be no more. Returns who is to be woken.
    pub(crate) fn end(&self) -> Vec<Waker> {
        let end = |listener: Arc<Listener>| {
            listener.heard().ended = true;
            listener.news.ring()
        };
        self.listeners().into_iter().flat_map(end).collect()
    }
}
