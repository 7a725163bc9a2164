//! The simple lock: one claim at a time is in, once. The cheapest kind, for those who never need to go in again.
//!
//! It is the [re-entrant lock](super::reentrant) less re-entry, so all that holds there after every step holds here, and
//! besides (each with a property test of its name in `tests/simple.rs`):
//!
//! * `nobody_goes_in_twice`: neither a holder nor those under it are let in again.
//! * `kinds_do_not_mix`: while a claim holds as one kind, the key is refused as another, and nothing is changed.

use super::reentrant;
use crate::{Kind, Operation, Outcome, Record, Time, Token};

/// Applies one operation that is about a claim.
pub(crate) fn apply(record: &mut Record, operation: &Operation, now: Time, watermark: &mut Token) -> Outcome {
    match operation {
        Operation::Acquire { claim, lease, stay, .. } => {
            let alone = Operation::Acquire { claim: claim.clone(), under: Vec::new(), lease: *lease, stay: *stay };
            reentrant::apply(Kind::Simple, record, &alone, now, watermark)
        }
        // It is not left in part either.
        Operation::Reenter { .. } | Operation::Release { left: 1.., .. } => Outcome::NotHeld,
        other => reentrant::apply(Kind::Simple, record, other, now, watermark),
    }
}
