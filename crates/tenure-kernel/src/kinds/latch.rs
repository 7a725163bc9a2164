//! The latch: shut until it was counted down so often. Nobody holds it; whoever waits for it looks until it is open.
//!
//! A latch that is not there is open. One that was shut again after it had been open is in another round, by which those
//! who waited for the last one know that they need wait no longer.
//!
//! What holds after every step, each with a property test of its name in `tests/kinds/latch.rs`:
//!
//! * `it_opens_when_it_was_counted_down`: as often as was said, and not before.
//! * `an_id_counts_once`: to count down twice with one id is to count down once.
//! * `it_is_not_counted_below_zero`: an open latch stays open, and nothing is left of it.
//! * `to_begin_changes_no_latch_that_is_shut`.
//! * `once_open_the_round_is_another`: and to set one that is shut to another count is the same round.

use crate::record::count_up;
use crate::{Claim, Counting, Latch, Operation, Outcome, Record, Time, Token};

/// A latch that is shut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Countdown {
    /// How often it is still to be counted down; at least once.
    pub count: u32,
    /// Which time it is shut: larger than that of any time before.
    pub round: Token,
    /// The ids that it was counted down with.
    pub ids: Vec<Claim>,
}

/// Applies one operation.
pub(crate) fn apply(record: &mut Record, operation: &Operation, now: Time, watermark: &mut Token) -> Outcome {
    let Operation::Count(counting) = operation else { return Outcome::NotHeld };
    if let Some(other) = record.in_use_for().filter(|_| record.latch.is_none()) {
        return Outcome::Conflict(other);
    }
    let was = record.latch.as_ref().map_or(0, |latch| latch.count);
    match counting {
        Counting::Look | Counting::Wait(_) => {}
        Counting::Begin(_) if was > 0 => {}
        Counting::Begin(0) | Counting::Set(0) | Counting::Delete => record.latch = None,
        Counting::Begin(count) | Counting::Set(count) => {
            let round = record.latch.as_ref().map_or_else(|| count_up(watermark, now), |latch| latch.round);
            record.latch = Some(Countdown { count: *count, round, ids: Vec::new() });
        }
        Counting::Down(id) => {
            if let Some(latch) = &mut record.latch
                && !id.as_ref().is_some_and(|id| latch.ids.contains(id))
            {
                latch.count -= 1;
                latch.ids.extend(id.clone());
            }
            record.latch.take_if(|latch| latch.count == 0);
        }
    }
    let count = record.latch.as_ref().map_or(0, |latch| latch.count);
    Outcome::Latch(Latch { was, count, round: record.latch.as_ref().map(|latch| latch.round) })
}
