//! The fenced lock: the re-entrant lock, with tokens from a counter of its own that is kept for ever.
//!
//! For those who share the counter with another library. All that holds of the [re-entrant lock](super::reentrant) after
//! every step holds here, and besides (with a property test of its name in `tests/kinds/fenced.rs`):
//!
//! * `tokens_rise_over_those_of_every_kind`: a fresh grant's token is larger than each that was granted before, of this kind
//!   or of another, whatever became of the lock in between.

use super::reentrant;
use crate::{Kind, Operation, Outcome, Record, Time, Token};

/// Applies one operation that is about a claim.
pub(crate) fn apply(record: &mut Record, operation: &Operation, now: Time, watermark: &mut Token) -> Outcome {
    let was_free = record.hold.is_none();
    // The counter may have been counted on by others, who know of no watermark.
    let mut above = record.fence.max(*watermark);
    let outcome = reentrant::apply(Kind::Fenced, record, operation, now, &mut above);
    if let (true, Outcome::Granted(grant)) = (was_free, &outcome) {
        (record.fence, *watermark) = (grant.token, grant.token);
    }
    outcome
}
