//! The fenced lock: the re-entrant lock, with tokens from a counter of its own that is kept for ever.
//!
//! For those who share tokens with another library that counts them so. All that holds of the
//! [re-entrant lock](super::reentrant) after every step holds here, but that tokens are counted from one instead of from
//! the store's time, and besides (with a property test of its name in `tests/kinds/fenced.rs`):
//!
//! * `tokens_are_counted`: each fresh grant's token is one more than the last, whatever became of the lock in between.

use super::reentrant;
use crate::{Kind, Operation, Outcome, Record, Time};

/// Applies one operation that is about a claim.
pub(crate) fn apply(record: &mut Record, operation: &Operation, now: Time) -> Outcome {
    let was_free = record.hold.is_none();
    let outcome = reentrant::apply(Kind::Fenced, record, operation, now, &mut 0);
    match (&mut record.hold, outcome) {
        (Some(hold), Outcome::Granted(mut grant)) if was_free => {
            record.fence += 1;
            (hold.token, grant.token) = (record.fence, record.fence);
            Outcome::Granted(grant)
        }
        (_, outcome) => outcome,
    }
}
