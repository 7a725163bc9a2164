//! The fair lock: the re-entrant lock, first come, first served.
//!
//! All that holds of the [re-entrant lock](super::reentrant) after every step holds here, and besides (each with a property
//! test of its name in `tests/fair.rs`):
//!
//! * `who_came_first_is_served_first`: a free lock goes to nobody but the one who has stood in line for longest.
//! * `a_place_is_kept_for_who_asks_again`: one who asks again in time stands where it stood, however long it waits.
//! * `who_does_not_ask_again_is_passed_over`: a place ends with its time, and the next one comes first.
//! * `who_waits_is_told_when_the_last_holder_ends`: it is free then, and no sooner, unless somebody renews or leaves.
//! * `who_gives_up_leaves_the_line`: a release by one who waits takes it out of line.
//! * `who_comes_first_is_called`: whoever comes first to a free lock by a step is called by that step, and nobody twice.
//! * `one_attempt_takes_no_place`: one who does not stay leaves the line as it was, and does not push in.
//! * `re_entry_does_not_wait_in_line`: a holder, and those under it, go in whoever waits.

use super::reentrant;
use crate::{Kind, Operation, Outcome, Record, Time, Token};

/// Applies one operation that is about a claim.
pub(crate) fn apply(record: &mut Record, operation: &Operation, now: Time, watermark: &mut Token) -> Outcome {
    if let Operation::Release { claim, left: 0, .. } = operation {
        record.leave_line(claim);
    }
    let Operation::Acquire { claim, under, stay, .. } = operation else {
        return reentrant::apply(Kind::Fair, record, operation, now, watermark);
    };
    let is_free = record.kind().is_none();
    let is_next = record.first(Kind::Fair).is_none_or(|first| first.claim == *claim);
    if is_free && !is_next && !record.is_cancelled(claim, crate::FIRST_ENTRY) {
        return Outcome::Busy(record.turn_away((claim, under, Kind::Fair), false, None, *stay, now));
    }
    match reentrant::apply(Kind::Fair, record, operation, now, watermark) {
        Outcome::Busy(busy) => {
            Outcome::Busy(record.turn_away((claim, under, Kind::Fair), false, busy.holder, *stay, now))
        }
        outcome => {
            if matches!(outcome, Outcome::Granted(_)) {
                record.leave_line(claim);
            }
            outcome
        }
    }
}
