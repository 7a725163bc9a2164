//! Who is to be told of what a step has done: the one place where that is decided, for every store of records.

use crate::wakeups::{Pusher, Topic};
use tenure_kernel::{Claim, Key, Kind, Outcome};

/// Who is to be told of what has been done.
///
/// | the step | who is told |
/// |---|---|
/// | frees the lock | one who waits without a place in the queue |
/// | lets a claim leave beside others | all who wait without a place in the queue: any of them may stand under the others |
/// | gives permits back, adds permits, or moves a latch | all who wait for that kind |
/// | frees by force | each holder that was put out, and who waits, as above |
/// | lets a claim in the queue go in | that claim |
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Notices {
    /// Who waits for these is to look again.
    pub freed: Vec<Freed>,
    /// These claims, which stand in the queue, would be let in if they asked.
    pub called: Vec<Claim>,
    /// These claims were put out by force.
    pub forced: Vec<Claim>,
}

/// A lock that somebody who waits may have now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Freed {
    /// What those who wait for it listen to.
    pub topic: Topic,
    /// How many of them may go on.
    pub to: FreeTo,
}

/// How many of those who wait for a lock may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FreeTo {
    /// One of them. A store may tell all the same, or only the first.
    One,
    /// Those who stand under the claims that are still in. A store does not know who does.
    Nested,
    /// As many as there is room for.
    All,
}

impl Notices {
    /// Adds what one step has done. Says whether anybody who waits for the lock is concerned.
    pub(super) fn add(&mut self, kind: Kind, key: &Key, outcome: &Outcome, called: Vec<Claim>) -> bool {
        let calls = !called.is_empty();
        self.called.extend(called);
        let (kind, to) = match outcome {
            Outcome::Released => (kind, FreeTo::One),
            Outcome::Left => (kind, FreeTo::Nested),
            Outcome::Forced(Some(sight)) => {
                self.forced.extend(sight.holders.iter().map(|holder| holder.claim.clone()));
                (sight.kind, if sight.kind.has_permits() { FreeTo::All } else { FreeTo::One })
            }
            outcome if outcome.concerns_all() => (kind, FreeTo::All),
            _ => return calls,
        };
        // Who waits for a lock waits for whoever has it, as whatever kind.
        let kind = if matches!(kind, Kind::Permits | Kind::Latch) { kind } else { Kind::Reentrant };
        self.freed.push(Freed { topic: Topic::of(kind, key), to });
        true
    }

    /// Whether nobody is to be told anything.
    pub fn is_empty(&self) -> bool {
        self.freed.is_empty() && self.called.is_empty() && self.forced.is_empty()
    }

    /// Tells a client all of it.
    pub fn tell(&self, pusher: &Pusher) {
        for freed in &self.freed {
            pusher.wake(&freed.topic);
        }
        for claim in &self.called {
            pusher.call(claim);
        }
        for claim in &self.forced {
            pusher.forced(claim);
        }
    }
}
