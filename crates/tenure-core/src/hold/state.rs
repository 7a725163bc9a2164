//! What can change of a hold, and what follows from it at a moment.

use super::{GivenUp, Leaving};
use crate::Moment;
use crate::agenda::Slot;
use crate::entry::{Entry, deadline};
use crate::event::Loss;
use std::time::Duration;
use tenure_kernel::FIRST_ENTRY;
use tokio_util::sync::CancellationToken;

/// What can change of a hold.
#[derive(Debug)]
pub(super) struct State {
    /// Before this moment the store surely holds the claim.
    pub(super) deadline: Moment,
    pub(super) phase: Phase,
    pub(super) entries: Vec<Entry>,
    pub(super) next_entry: u32,
    /// How often the store was told of a new count.
    pub(super) changes: u32,
    /// When to renew next, and how often it has failed in a row.
    pub(super) next_renewal: Moment,
    pub(super) failures: u32,
    /// A renewal is under way; what comes of it sets the next.
    pub(super) renewing: bool,
    /// The store is to be asked whether it still knows the hold, whether or not it is to be renewed.
    pub(super) in_doubt: bool,
    /// How many requests that make the lock last were sent, by hand or to go in again, and not answered.
    pub(super) unanswered: u32,
    /// Until when the store is to keep the lock taken, as entries have asked that have left.
    pub(super) kept: Option<Moment>,
    /// A request for the claim is still unanswered and might arrive late: the last release leaves a tombstone.
    pub(super) ghost: bool,
    /// The tokens of entries that left when they were over.
    pub(super) untold: Vec<CancellationToken>,
    /// When each agenda has it down; kept here so that an agenda need not look it up.
    pub(super) scheduled: [Option<Moment>; Slot::ALL],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Held,
    Jeopardy,
    Lost(Loss),
    Released,
}

impl State {
    pub(super) fn entry(&self, number: u32) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.number == number)
    }

    pub(super) fn entry_mut(&mut self, number: u32) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.number == number)
    }

    pub(super) fn live(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.lost.is_none())
    }

    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.live().count()).unwrap_or(u32::MAX)
    }

    /// Why it is over by now: it need not have been looked at before its lease was over as well.
    pub(super) fn why_it_ends(&self, now: Moment) -> Loss {
        let too_long = self.live().all(|entry| entry.why_it_ends(now) == Loss::HeldTooLong);
        if too_long { Loss::HeldTooLong } else { Loss::LeaseEnded }
    }

    /// For how long those who are in want to be renewed, if any do.
    pub(super) fn renewal(&self, now: Moment) -> Option<Duration> {
        // An entry that would gain nothing by it, because it may not be held for longer, wants no renewal.
        let gains = |lease: &Duration| deadline(now, *lease) > self.deadline;
        let wanted = |entry: &Entry| entry.renewal(now).filter(|lease| entry.until.is_none() || gains(lease));
        self.live().filter_map(wanted).max()
    }

    /// The longest that any entry still needs.
    pub(super) fn need(&self, now: Moment) -> Duration {
        self.live().map(|entry| entry.need(now)).max().unwrap_or_default().max(Duration::from_millis(1))
    }

    /// A request sent at `sent` has made it last, as we hear now. An answer that comes after the deadline is too late: the
    /// holder may have been told that the lock is lost, and lost it stays. Says whether it was in time.
    pub(super) fn extend(&mut self, now: Moment, sent: Moment, lease: Duration) -> bool {
        let in_time = now < self.deadline;
        if in_time {
            self.deadline = self.deadline.max(deadline(sent, lease));
        }
        in_time
    }

    pub(super) fn recover(&mut self) {
        self.failures = 0;
        if self.phase == Phase::Jeopardy {
            self.phase = Phase::Held;
        }
    }

    pub(super) fn lose(&mut self, why: Loss) -> Loss {
        self.phase = Phase::Lost(why);
        for entry in &mut self.entries {
            entry.lost.get_or_insert(why);
        }
        why
    }

    /// The tokens of entries that are over, which are told by them only once.
    pub(super) fn tokens_of_lost(&mut self, now: Moment) -> Vec<CancellationToken> {
        let deadline = self.deadline;
        let over = self.entries.iter_mut().filter(|entry| entry.lost.is_some() || now >= entry.deadline(deadline));
        let tokens = over.flat_map(Entry::take_tokens);
        tokens.chain(self.untold.drain(..)).collect()
    }

    /// Until when the store is to keep the lock taken, whoever leaves before.
    fn keep_until(&self) -> Option<Moment> {
        self.entries.iter().map(|entry| entry.keep_until).fold(self.kept, Option::max)
    }

    /// What to tell the store of a hold that is lost to us: a request that went unanswered may have been done all the
    /// same, and would keep the lock for nobody; or it may yet arrive, and take it for nobody.
    pub(super) fn afterthought(&self) -> Option<Leaving> {
        let unsure = self.renewing || self.failures > 0 || self.unanswered > 0;
        (unsure || self.ghost).then(|| Leaving { keep_until: None, ..self.last_leaving() })
    }

    /// What to tell the store when nobody is in any more, whoever still has a guard.
    pub(super) fn last_leaving(&self) -> Leaving {
        let cancel = self.ghost.then_some(GivenUp { entry: FIRST_ENTRY, lease: Duration::ZERO });
        Leaving { left: 0, lease: Duration::from_millis(1), keep_until: self.keep_until(), cancel }
    }

    /// What to tell the store after an entry went; closes the hold if it was the last.
    pub(super) fn leaving(&mut self, now: Moment, cancel: Option<GivenUp>) -> Leaving {
        let left = self.count();
        if left == 0 {
            self.phase = Phase::Released;
        }
        // An acquire that may still be under way would take the freed lock for nobody.
        let ghost = (left == 0 && self.ghost).then_some(GivenUp { entry: FIRST_ENTRY, lease: Duration::ZERO });
        Leaving { left, lease: self.need(now), keep_until: self.keep_until(), cancel: cancel.or(ghost) }
    }

    pub(super) fn next_look(&self) -> Moment {
        let wanted = self.in_doubt || self.renewal(self.next_renewal).is_some();
        let renewal = (!self.renewing && wanted).then_some(self.next_renewal);
        self.live()
            .flat_map(|entry| [entry.ends, entry.warn_at])
            .flatten()
            .chain(renewal)
            .fold(self.deadline, Moment::min)
    }
}
