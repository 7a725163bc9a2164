//! Stores that know who is dead, and have no clock that everybody can ask: nothing in their records ends by a time.
//!
//! What is held ends with its holder's session, or when the client that has it says so. Times are hints there: for how long a
//! lock has been held, until when one is kept that nobody holds, and when tombstones are forgotten.

use super::Liveness;
use std::time::Duration;
use tenure_kernel::{Claim, Holder, Operation, Outcome, Record, Stay, Time};

/// A length that no clock gets to the end of.
const FOR_EVER: Duration = Duration::MAX;

/// Takes the dead out of a record. A lock that is kept for a while after its holder has left belongs to nobody's session.
pub(super) fn strike(record: &mut Record, dead: &[Claim], liveness: Liveness) {
    if dead.is_empty() {
        return;
    }
    let is_kept = |ends: Time| liveness == Liveness::Sessions && ends != Time::MAX;
    if let Some(hold) = record.hold.as_mut().filter(|hold| !is_kept(hold.ends)) {
        hold.claims.retain(|entered| !dead.contains(&entered.claim));
    }
    record.hold.take_if(|hold| hold.claims.is_empty());
    record.shares.retain(|share| is_kept(share.ends) || !dead.contains(&share.claim));
    record.line.retain(|waiter| !dead.contains(&waiter.claim));
}

/// The operation, for what it takes to be held until somebody says otherwise.
pub(super) fn without_end(operation: &Operation) -> Operation {
    let mut operation = operation.clone();
    match &mut operation {
        Operation::Acquire { lease, stay, .. } | Operation::Take { lease, stay, .. } => {
            *lease = FOR_EVER;
            if let Stay::InLine { place } = stay {
                *place = FOR_EVER;
            }
        }
        Operation::Reenter { lease, .. } | Operation::Renew { lease, .. } | Operation::Release { lease, .. } => {
            *lease = FOR_EVER;
        }
        _ => {}
    }
    operation
}

/// Says of nothing when it ends that does not end by a time.
pub(super) fn forget_ends(outcome: &mut Outcome) {
    let forget = |left: &mut Option<Duration>| *left = left.filter(|left| *left < FAR);
    let of = |holders: &mut [Holder]| holders.iter_mut().for_each(|holder| forget(&mut holder.remaining));
    match outcome {
        Outcome::Busy(busy) => {
            of(busy.holder.as_mut_slice());
            forget(&mut busy.again);
        }
        Outcome::Seen(Some(sight)) | Outcome::Forced(Some(sight)) => of(&mut sight.holders),
        _ => {}
    }
}

/// No lock is kept for that long.
const FAR: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
