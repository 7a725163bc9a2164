//! The re-entrant lock: one claim at a time is in, as often as it likes, and with it those under it: claims that name it
//! among their ancestors, as a program does that another one runs while it holds the lock.
//!
//! What holds after every step, each with a property test of its name in `tests/reentrant.rs`:
//!
//! * `one_claim_at_a_time`: while a claim's lease runs, no other claim is granted, but for one under all that are in.
//! * `siblings_exclude_each_other`: of two claims under the same one, neither of them under the other, one is in.
//! * `tokens_only_grow`: a fresh grant's token exceeds every token granted before from the same watermark, and is
//!   not below the store's time.
//! * `asking_twice_is_asking_once`: an acquire repeated by a claim that holds returns the same token and count.
//! * `re_entry_keeps_the_token`: re-entry leaves the token alone, that of a claim under another too.
//! * `the_latest_change_counts`: the count is the one of the latest change, in whatever order changes arrive.
//! * `nothing_shortens_a_lease`: re-entry, renewal and partial release never bring the end of a lease nearer.
//! * `only_the_claim_may`: renew, re-enter and release by any other claim change nothing.
//! * `cancelled_stays_cancelled`: an entry that was cancelled is refused for as long as that is remembered.
//! * `a_lease_ends_by_itself`: from its end on, a hold is gone for every operation.
//! * `leaving_for_good_frees`: a release that leaves none in takes the claim out whatever the count was, and when the
//!   last is out, the lock is free.
//! * `a_lock_that_is_kept_is_free_when_its_time_is_over`: a release that keeps the lock keeps it just as long.
//! * `looking_changes_nothing`: inspect returns the record it was given, less what has expired.

use crate::{Claim, Grant, Holder, Kind, Operation, Outcome, Sight, Time, Token};
use std::time::Duration;

/// All that a store remembers of one lock. An empty record need not be kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Record {
    /// Who is in.
    pub hold: Option<Hold>,
    /// Entries given up before their answers were known.
    pub tombstones: Vec<Tombstone>,
}

/// A lock that is held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// As what.
    pub kind: Kind,
    /// The fencing token of everyone who is in.
    pub token: Token,
    /// Since when.
    pub since: Time,
    /// When the lease ends.
    pub ends: Time,
    /// Who is in: the one that took the lock, if it is still in, and those under it, outermost first.
    pub claims: Vec<Entered>,
}

/// A claim that is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entered {
    /// Which.
    pub claim: Claim,
    /// How often.
    pub count: u32,
    /// The claim's change that set the count.
    pub change: u32,
    /// When it is taken to be gone although the lock is held on, if it [stands under others](Claim::is_nested): they go
    /// on renewing the lock, which says nothing of whether it lives. Another is in for as long as the lock is held.
    pub ends: Option<Time>,
}

/// A cancelled entry, remembered until `forget`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tombstone {
    /// Whose entry.
    pub claim: Claim,
    /// Which entry of the claim's.
    pub entry: u32,
    /// When it may be forgotten.
    pub forget: Time,
}

/// What a step leaves behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stepped {
    /// The record to keep.
    pub record: Record,
    /// The largest token handed out so far by this store, to keep beside all records.
    pub watermark: Token,
    /// The answer.
    pub outcome: Outcome,
}

impl Record {
    /// Whether there is nothing to keep.
    pub fn is_empty(&self) -> bool {
        self.hold.is_none() && self.tombstones.is_empty()
    }

    /// When the last of it may be forgotten.
    pub fn forget_at(&self) -> Time {
        let hold = self.hold.iter().map(|hold| hold.ends);
        hold.chain(self.tombstones.iter().map(|tombstone| tombstone.forget)).max().unwrap_or_default()
    }

    fn forget_what_ended(&mut self, now: Time) {
        if let Some(hold) = &mut self.hold {
            hold.claims.retain(|entered| entered.ends.is_none_or(|ends| ends > now));
        }
        self.hold.take_if(|hold| hold.ends <= now || hold.claims.is_empty());
        self.tombstones.retain(|tombstone| tombstone.forget > now);
    }

    fn held_by(&mut self, claim: &Claim) -> Option<&mut Hold> {
        self.hold.as_mut().filter(|hold| hold.has(claim))
    }

    fn is_cancelled(&self, claim: &Claim, entry: u32) -> bool {
        self.tombstones.iter().any(|tombstone| tombstone.claim == *claim && tombstone.entry == entry)
    }

    /// The lock as others see it.
    fn sight(&self, now: Time) -> Option<Sight> {
        self.hold.as_ref().map(|hold| hold.sight(now))
    }
}

impl Entered {
    fn new(claim: &Claim, end: Time) -> Self {
        Self { claim: claim.clone(), count: 1, change: 0, ends: claim.is_nested().then_some(end) }
    }
}

impl Hold {
    fn has(&self, claim: &Claim) -> bool {
        self.claims.iter().any(|entered| entered.claim == *claim)
    }

    fn entered(&mut self, claim: &Claim) -> Option<&mut Entered> {
        self.claims.iter_mut().find(|entered| entered.claim == *claim)
    }

    fn grant(&self, claim: &Claim) -> Grant {
        let entered = self.claims.iter().find(|entered| entered.claim == *claim);
        Grant { token: self.token, count: entered.map_or(0, |entered| entered.count) }
    }

    /// The hold, and the claim's part of it, last until `end` at least.
    fn last_until(&mut self, claim: &Claim, end: Time) {
        self.ends = self.ends.max(end);
        if let Some(ends) = self.entered(claim).and_then(|entered| entered.ends.as_mut()) {
            *ends = (*ends).max(end);
        }
    }

    /// Counts the claim's entries, unless a later change has.
    fn set_count(&mut self, claim: &Claim, count: u32, change: u32) {
        if let Some(entered) = self.entered(claim)
            && change >= entered.change
        {
            (entered.count, entered.change) = (count, change);
        }
    }

    fn sight(&self, now: Time) -> Sight {
        let holder = |entered: &Entered| Holder {
            claim: entered.claim.clone(),
            count: entered.count,
            token: Some(self.token),
            remaining: Some(entered.ends.unwrap_or(self.ends).since(now)),
            held_for: Some(now.since(self.since)),
        };
        Sight { kind: self.kind, holders: self.claims.iter().map(holder).collect(), waiters: None }
    }
}

/// Applies one operation at one moment of the store's clock. `watermark` is the largest token the store has handed
/// out, for any key; zero if it does not remember.
pub fn step(record: Record, operation: &Operation, now: Time, watermark: Token) -> Stepped {
    step_as(Kind::Reentrant, record, operation, now, watermark)
}

pub(super) fn step_as(
    kind: Kind,
    mut record: Record,
    operation: &Operation,
    now: Time,
    mut watermark: Token,
) -> Stepped {
    record.forget_what_ended(now);
    let outcome = match operation {
        Operation::Acquire { claim, under, lease, .. } => {
            acquire(kind, &mut record, (claim, under), now.plus(*lease), now, &mut watermark)
        }
        Operation::Reenter { claim, entry, count, change, lease } => {
            if record.is_cancelled(claim, *entry) {
                Outcome::Refused
            } else if let Some(hold) = record.held_by(claim) {
                hold.set_count(claim, *count, *change);
                hold.last_until(claim, now.plus(*lease));
                Outcome::Granted(hold.grant(claim))
            } else {
                Outcome::NotHeld
            }
        }
        Operation::Renew { claim, lease } => match record.held_by(claim) {
            Some(hold) => {
                hold.last_until(claim, now.plus(*lease));
                Outcome::Renewed
            }
            None => Outcome::NotHeld,
        },
        Operation::Release { claim, left, change, lease, keep, cancel } => {
            let outcome = match left {
                0 => leave(&mut record, claim, *keep, now),
                _ => stay(&mut record, claim, (*left, *change), now.plus(*lease)),
            };
            if let Some(cancel) = cancel {
                record.tombstones.push(Tombstone {
                    claim: claim.clone(),
                    entry: cancel.entry,
                    forget: now.plus(cancel.remember),
                });
            }
            outcome
        }
        Operation::ForceRelease => {
            let sight = record.sight(now);
            record.hold = None;
            Outcome::Forced(sight)
        }
        Operation::Inspect => Outcome::Seen(record.sight(now)),
    };
    Stepped { record, watermark, outcome }
}

fn acquire(
    kind: Kind,
    record: &mut Record,
    (claim, under): (&Claim, &[Claim]),
    end: Time,
    now: Time,
    watermark: &mut Token,
) -> Outcome {
    if record.is_cancelled(claim, crate::FIRST_ENTRY) {
        return Outcome::Refused;
    }
    let Some(hold) = &mut record.hold else {
        *watermark = watermark.saturating_add(1).max(now.as_micros());
        let entered = Entered::new(claim, end);
        let hold = Hold { kind, token: *watermark, since: now, ends: end, claims: vec![entered] };
        let grant = hold.grant(claim);
        record.hold = Some(hold);
        return Outcome::Granted(grant);
    };
    if hold.kind != kind {
        return Outcome::Conflict(hold.kind);
    }
    if !hold.has(claim) {
        if hold.claims.iter().any(|entered| !under.contains(&entered.claim)) {
            return Outcome::Busy(hold.sight(now).holders.swap_remove(0));
        }
        hold.claims.push(Entered::new(claim, end));
    }
    // A claim is fresh for every acquisition, so one that is in asks the same once more, and does not re-enter.
    hold.last_until(claim, end);
    Outcome::Granted(hold.grant(claim))
}

/// A claim goes on, in fewer entries.
fn stay(record: &mut Record, claim: &Claim, (left, change): (u32, u32), end: Time) -> Outcome {
    match record.held_by(claim) {
        None => Outcome::NotHeld,
        Some(hold) => {
            hold.set_count(claim, left, change);
            hold.last_until(claim, end);
            Outcome::StillHeld(hold.grant(claim).count)
        }
    }
}

/// A claim leaves for good. The last one may leave the lock taken for a while.
fn leave(record: &mut Record, claim: &Claim, keep: Duration, now: Time) -> Outcome {
    match record.held_by(claim) {
        None => Outcome::NotHeld,
        Some(hold) if hold.claims.len() > 1 => {
            hold.claims.retain(|entered| entered.claim != *claim);
            Outcome::Left
        }
        Some(hold) if !keep.is_zero() => {
            hold.ends = now.plus(keep);
            hold.claims[0].ends = claim.is_nested().then_some(hold.ends);
            Outcome::Kept
        }
        Some(_) => {
            record.hold = None;
            Outcome::Released
        }
    }
}
