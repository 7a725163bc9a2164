//! The re-entrant lock: one claim at a time is in, as often as it likes.
//!
//! What holds after every step, each with a property test of its name in `tests/reentrant.rs`:
//!
//! * `one_claim_at_a_time`: while a claim's lease runs, no other claim is granted.
//! * `tokens_only_grow`: a fresh grant's token exceeds every token granted before from the same watermark, and is
//!   not below the store's time.
//! * `asking_twice_is_asking_once`: an acquire repeated by the claim that holds returns the same token and count.
//! * `re_entry_keeps_the_token`: re-entry leaves the token alone.
//! * `the_latest_change_counts`: the count is the one of the latest change, in whatever order changes arrive.
//! * `nothing_shortens_a_lease`: re-entry, renewal and partial release never bring the end of a lease nearer.
//! * `only_the_claim_may`: renew, re-enter and release by any other claim change nothing.
//! * `cancelled_stays_cancelled`: an entry that was cancelled is refused for as long as that is remembered.
//! * `a_lease_ends_by_itself`: from its end on, a hold is gone for every operation.
//! * `leaving_for_good_frees`: a release that leaves none in frees the lock whatever the count was.
//! * `looking_changes_nothing`: inspect returns the record it was given, less what has expired.

use crate::{Claim, Grant, Holder, Operation, Outcome, Time, Token};

/// All that a store remembers of one re-entrant lock. An empty record need not be kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Record {
    /// Who is in.
    pub hold: Option<Hold>,
    /// Entries given up before their answers were known.
    pub tombstones: Vec<Tombstone>,
}

/// A claim that is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// Which.
    pub claim: Claim,
    /// How often.
    pub count: u32,
    /// The claim's change that set the count.
    pub change: u32,
    /// Its fencing token.
    pub token: Token,
    /// When its lease ends.
    pub ends: Time,
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

    fn forget_what_ended(&mut self, now: Time) {
        self.hold.take_if(|hold| hold.ends <= now);
        self.tombstones.retain(|tombstone| tombstone.forget > now);
    }

    fn held_by(&mut self, claim: &Claim) -> Option<&mut Hold> {
        self.hold.as_mut().filter(|hold| hold.claim == *claim)
    }

    fn is_cancelled(&self, claim: &Claim, entry: u32) -> bool {
        self.tombstones.iter().any(|tombstone| tombstone.claim == *claim && tombstone.entry == entry)
    }

    fn holder(&self, now: Time) -> Option<Holder> {
        self.hold.as_ref().map(|hold| Holder {
            claim: hold.claim.clone(),
            count: hold.count,
            token: Some(hold.token),
            remaining: Some(hold.ends.since(now)),
            held_for: Some(Holder::held_since(hold.token, now)),
        })
    }
}

impl Hold {
    fn grant(&self) -> Grant {
        Grant { token: self.token, count: self.count }
    }

    /// Counts the claim's entries, unless a later change has.
    fn set_count(&mut self, count: u32, change: u32) {
        if change >= self.change {
            (self.count, self.change) = (count, change);
        }
    }

    /// Lasts until `end` at least.
    fn last_until(&mut self, end: Time) {
        self.ends = self.ends.max(end);
    }
}

/// Applies one operation at one moment of the store's clock. `watermark` is the largest token the store has handed
/// out, for any key; zero if it does not remember.
pub fn step(mut record: Record, operation: &Operation, now: Time, mut watermark: Token) -> Stepped {
    record.forget_what_ended(now);
    let outcome = match operation {
        Operation::Acquire { claim, lease, .. } => acquire(&mut record, claim, now.plus(*lease), now, &mut watermark),
        Operation::Reenter { claim, entry, count, change, lease } => {
            if record.is_cancelled(claim, *entry) {
                Outcome::Refused
            } else if let Some(hold) = record.held_by(claim) {
                hold.set_count(*count, *change);
                hold.last_until(now.plus(*lease));
                Outcome::Granted(hold.grant())
            } else {
                Outcome::NotHeld
            }
        }
        Operation::Renew { claim, lease } => match record.held_by(claim) {
            Some(hold) => {
                hold.last_until(now.plus(*lease));
                Outcome::Renewed
            }
            None => Outcome::NotHeld,
        },
        Operation::Release { claim, left, change, lease, cancel } => {
            let outcome = release(&mut record, claim, (*left, *change), now.plus(*lease));
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
            let holder = record.holder(now);
            record.hold = None;
            Outcome::Forced(holder)
        }
        Operation::Inspect => Outcome::Seen(record.holder(now)),
    };
    Stepped { record, watermark, outcome }
}

fn acquire(record: &mut Record, claim: &Claim, end: Time, now: Time, watermark: &mut Token) -> Outcome {
    if record.is_cancelled(claim, crate::FIRST_ENTRY) {
        return Outcome::Refused;
    }
    if let Some(hold) = record.held_by(claim) {
        // The claim is fresh for every acquisition, so this is the same request once more, not a re-entry.
        hold.last_until(end);
        return Outcome::Granted(hold.grant());
    }
    if let Some(holder) = record.holder(now) {
        return Outcome::Busy(holder);
    }
    *watermark = watermark.saturating_add(1).max(now.as_micros());
    let hold = Hold { claim: claim.clone(), count: 1, change: 0, token: *watermark, ends: end };
    let grant = hold.grant();
    record.hold = Some(hold);
    Outcome::Granted(grant)
}

fn release(record: &mut Record, claim: &Claim, (left, change): (u32, u32), end: Time) -> Outcome {
    match record.held_by(claim) {
        None => Outcome::NotHeld,
        Some(hold) if left > 0 => {
            hold.set_count(left, change);
            hold.last_until(end);
            Outcome::StillHeld(hold.count)
        }
        Some(_) => {
            record.hold = None;
            Outcome::Released
        }
    }
}
