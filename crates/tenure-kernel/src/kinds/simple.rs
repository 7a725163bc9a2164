//! The simple lock: one claim at a time is in, once. The cheapest kind, for those who never need to go in again.
//!
//! It is the [re-entrant lock](super::reentrant) less re-entry, so all that holds there after every step holds here, and
//! besides (each with a property test of its name in `tests/simple.rs`):
//!
//! * `nobody_goes_in_twice`: neither a holder nor those under it are let in again.
//! * `kinds_do_not_mix`: while a claim holds as one kind, the key is refused as another, and nothing is changed.

use super::reentrant::{self, Record, Stepped};
use crate::{Kind, Operation, Outcome, Time, Token};

/// Applies one operation, as [`reentrant::step`] does.
pub fn step(record: Record, operation: &Operation, now: Time, watermark: Token) -> Stepped {
    match operation {
        Operation::Acquire { claim, lease, stay, .. } => {
            let alone = Operation::Acquire { claim: claim.clone(), under: Vec::new(), lease: *lease, stay: *stay };
            reentrant::step_as(Kind::Simple, record, &alone, now, watermark)
        }
        // It is not left in part either.
        Operation::Reenter { .. } | Operation::Release { left: 1.., .. } => {
            let looked = reentrant::step_as(Kind::Simple, record, &Operation::Inspect, now, watermark);
            Stepped { outcome: Outcome::NotHeld, ..looked }
        }
        other => reentrant::step_as(Kind::Simple, record, other, now, watermark),
    }
}
