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
//! * `only_what_was_cancelled_is_refused`: nothing else is, whatever else of the same client was cancelled.
//! * `what_is_over_takes_no_more_room_the_more_it_is`: as many tombstones are kept of a client as it has said stretches that
//!   have nothing in common.
//! * `a_lease_ends_by_itself`: from its end on, a hold is gone for every operation.
//! * `leaving_for_good_frees`: a release that leaves none in takes the claim out whatever the count was, and when the
//!   last is out, the lock is free.
//! * `a_lock_that_is_kept_is_free_when_its_time_is_over`: a release that keeps the lock keeps it just as long.
//! * `looking_changes_nothing`: inspect returns the record it was given, less what has expired.

use crate::record::count_up;
use crate::{Busy, Claim, Grant, Holder, Kind, Operation, Outcome, Record, Time, Token};
use std::time::Duration;

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

impl Record {
    fn held_by(&mut self, claim: &Claim) -> Option<&mut Hold> {
        self.hold.as_mut().filter(|hold| hold.has(claim))
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

    /// Whether one who stands under these may go in beside those who are in.
    pub(crate) fn lets_in(&self, under: &[Claim]) -> bool {
        self.claims.iter().all(|entered| under.contains(&entered.claim))
    }

    /// Who is in, as others see it.
    pub(crate) fn holders(&self, now: Time) -> Vec<Holder> {
        let holder = |entered: &Entered| Holder {
            claim: entered.claim.clone(),
            count: entered.count,
            token: Some(self.token),
            remaining: Some(entered.ends.unwrap_or(self.ends).since(now)),
            held_for: Some(now.since(self.since)),
        };
        self.claims.iter().map(holder).collect()
    }
}

/// Applies one operation that is about a claim.
pub(crate) fn apply(
    kind: Kind,
    record: &mut Record,
    operation: &Operation,
    now: Time,
    watermark: &mut Token,
) -> Outcome {
    match operation {
        Operation::Acquire { claim, under, lease, .. } => {
            acquire(kind, record, (claim, under), now.plus(*lease), now, watermark)
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
                0 => leave(record, claim, *keep, now),
                _ => stay(record, claim, (*left, *change), now.plus(*lease)),
            };
            record.remember(claim, cancel.as_ref(), now);
            outcome
        }
        // About no claim, and done already; or nothing for a lock.
        _ => Outcome::NotHeld,
    }
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
    if let Some(held) = record.in_use_for().filter(|held| *held != kind) {
        return Outcome::Conflict(held);
    }
    let Some(hold) = &mut record.hold else {
        let (token, entered) = (count_up(watermark, now), Entered::new(claim, end));
        let hold = Hold { kind, token, since: now, ends: end, claims: vec![entered] };
        let grant = hold.grant(claim);
        record.hold = Some(hold);
        return Outcome::Granted(grant);
    };
    if !hold.has(claim) {
        if !hold.lets_in(under) {
            return Outcome::Busy(Busy::behind(hold.holders(now).swap_remove(0)));
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
            // If all who are left stand under others, nobody's renewals speak for all any more: it ends with the last of them.
            let ends: Option<Vec<Time>> = hold.claims.iter().map(|entered| entered.ends).collect();
            hold.ends = ends.and_then(|ends| ends.into_iter().max()).unwrap_or(hold.ends);
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
