//! The semaphore: there are so many permits, and whoever takes some has a lease of its own on them.
//!
//! Taken as [`Kind::Semaphore`], permits belong to a claim, which renews them and leaves with all of them; those who wait
//! stand in line, so that one who wants many is not passed over for ever by those who want few. Taken as [`Kind::Permits`],
//! each permit has a name, by which anybody can renew it or give it back, and nobody stands in line.
//!
//! What holds after every step, each with a property test of its name in `tests/kinds/semaphore.rs`:
//!
//! * `never_over_granted`: no grant makes more permits be taken than there are.
//! * `a_lease_ends_by_itself`: its permits are to be had from then on, whatever becomes of the others.
//! * `asking_twice_is_asking_once`: a claim that has its permits is given the same ones again.
//! * `who_came_first_is_served_first`: nobody takes permits that one who came before needs.
//! * `who_can_be_served_is_called`: whoever can be served by a step is called by that step, and nobody twice.
//! * `one_who_wants_more_than_there_are_is_told`: instead of standing in everyone's way.
//! * `given_back_all_or_none`: if one of several names is not taken, none of them is given back.
//! * `cancelled_stays_cancelled`: a request that was cancelled is refused for as long as that is remembered.

use super::read_write::{Share, in_the_way, share};
use crate::record::count_up;
use crate::{
    Busy, Claim, FIRST_ENTRY, Grant, Kind, Operation, Outcome, Record, Stay, Supply, Supplying, Time, Token, Waiter,
    Want,
};
use std::time::Duration;

/// How many permits are to be had.
pub(crate) fn available(record: &Record) -> i64 {
    let taken: i64 = record.shares.iter().map(|share| i64::from(share.count)).sum();
    record.supply.map_or(0, |(_, total)| total - taken)
}

/// How many there are, if never so many can be had at once. Of none at all, some may still come.
pub(crate) fn falls_short(record: &Record, want: u32) -> Option<i64> {
    record.supply.map(|(_, total)| total).filter(|total| (1..i64::from(want)).contains(total))
}

/// Applies one operation.
pub(crate) fn apply(
    kind: Kind,
    record: &mut Record,
    operation: &Operation,
    now: Time,
    watermark: &mut Token,
) -> Outcome {
    let other = record.in_use_for().filter(|other| *other != kind);
    match operation {
        Operation::Take { claim, .. } if record.is_cancelled(claim, FIRST_ENTRY) => Outcome::Refused,
        Operation::Take { .. } | Operation::Supply(_) if other.is_some() => Outcome::Conflict(other.unwrap_or(kind)),
        Operation::Take { claim, want, of, lease, stay } => {
            if let (None, Some(of)) = (record.supply, of) {
                record.supply = Some((kind, i64::from(*of)));
            }
            take(kind, record, (claim, want), now.plus(*lease), *stay, now, watermark)
        }
        Operation::Supply(supplying) => Outcome::Supply(supply(kind, record, *supplying)),
        Operation::Renew { claim, lease } => match share(record, claim) {
            Some(share) => {
                share.ends = share.ends.max(now.plus(*lease));
                Outcome::Renewed
            }
            None => Outcome::NotHeld,
        },
        Operation::Release { claim, left: 0, keep, cancel, .. } => {
            record.leave_line(claim);
            let outcome = leave(record, claim, *keep, now);
            record.remember(claim, cancel.as_ref(), now);
            outcome
        }
        Operation::GiveBack { ids, all, cancel } => {
            let outcome = give_back(record, ids, *all);
            if let Some((claim, cancel)) = cancel {
                record.remember(claim, Some(cancel), now);
            }
            outcome
        }
        // Nobody goes in twice, or leaves in part.
        _ => Outcome::NotHeld,
    }
}

fn take(
    kind: Kind,
    record: &mut Record,
    (claim, want): (&Claim, &Want),
    ends: Time,
    stay: Stay,
    now: Time,
    watermark: &mut Token,
) -> Outcome {
    let own = match want {
        Want::Some(_) => std::slice::from_ref(claim),
        Want::Named(ids) => ids,
    };
    let mut taken = record.shares.iter_mut().filter(|share| own.contains(&share.claim)).peekable();
    if let Some(first) = taken.peek() {
        let token = first.token;
        let count = taken.map(|share| {
            share.ends = share.ends.max(ends);
            share.count
        });
        return Outcome::Granted(Grant { token, count: count.sum() });
    }
    if let Some(total) = falls_short(record, want.count()) {
        record.leave_line(claim);
        return Outcome::Short(total);
    }
    let before = |waiter: &&Waiter| waiter.claim != *claim;
    let stays = |waiter: &&Waiter| falls_short(record, waiter.want).is_none();
    let first: i64 = record.line.iter().take_while(before).filter(stays).map(|waiter| i64::from(waiter.want)).sum();
    if record.supply.is_some() && available(record) - first >= i64::from(want.count()) {
        record.leave_line(claim);
        let token = if kind == Kind::Permits { 0 } else { count_up(watermark, now) };
        let each = if let Want::Some(count) = want { *count } else { 1 };
        let shares = own.iter().map(|claim| Share {
            claim: claim.clone(),
            kind,
            token,
            since: now,
            ends,
            count: each,
            change: 0,
        });
        record.shares.extend(shares);
        return Outcome::Granted(Grant { token, count: want.count() });
    }
    let holder = in_the_way(record, &[], now);
    let again = record.shares.iter().map(|share| share.ends.since(now)).min();
    if kind == Kind::Permits {
        return Outcome::Busy(Busy { holder, ahead: None, again, votes: Vec::new() });
    }
    let busy = record.turn_away((claim, &[], kind), false, holder, stay, now);
    if let Some(waiter) = record.line.iter_mut().find(|waiter| waiter.claim == *claim) {
        waiter.want = want.count();
    }
    Outcome::Busy(Busy { again, ..busy })
}

/// A claim leaves with all its permits, or keeps them taken for a while.
fn leave(record: &mut Record, claim: &Claim, keep: Duration, now: Time) -> Outcome {
    match share(record, claim) {
        None => Outcome::NotHeld,
        Some(share) if !keep.is_zero() => {
            share.ends = now.plus(keep);
            Outcome::Kept
        }
        Some(_) => {
            record.shares.retain(|share| share.claim != *claim);
            if record.shares.is_empty() { Outcome::Released } else { Outcome::Left }
        }
    }
}

fn give_back(record: &mut Record, ids: &[Claim], all: bool) -> Outcome {
    let is_taken = |id: &Claim| record.shares.iter().any(|share| share.claim == *id);
    if all && !ids.iter().all(is_taken) {
        return Outcome::NotHeld;
    }
    let before = record.shares.len();
    record.shares.retain(|share| !ids.contains(&share.claim));
    Outcome::GivenBack(u32::try_from(before - record.shares.len()).unwrap_or(u32::MAX))
}

fn supply(kind: Kind, record: &mut Record, supplying: Supplying) -> Supply {
    let was = record.supply.map(|_| available(record));
    let total = record.supply.map(|(_, total)| total);
    let changed = match supplying {
        Supplying::Look => None,
        Supplying::Begin(permits) => total.is_none().then_some(i64::from(permits)),
        Supplying::Set(permits) => Some(i64::from(permits)),
        Supplying::Add(more) => Some(total.unwrap_or(0).saturating_add(more)),
        Supplying::Drain => total.map(|total| total - was.unwrap_or(0).max(0)),
    };
    if let Some(total) = changed {
        record.supply = Some((kind, total));
    }
    Supply { was, available: available(record), total: record.supply.map(|(_, total)| total) }
}
