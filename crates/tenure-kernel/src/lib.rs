//! The pure part of Tenure: what a lock *is*, with no I/O, no clock, no randomness and no dependencies.
//!
//! Each kind of lock is a step function from a record, an operation and the store's time to a new record and an
//! outcome. The function is the specification. It runs as it stands wherever a store can swap a record atomically,
//! and it is the oracle against which stores that run the same steps in a language of their own are replayed.
//!
//! ```
//! use std::time::Duration;
//! use tenure_kernel::{Claim, Kind, Operation, Outcome, Record, Stay, Time, step};
//!
//! let claim = Claim::new("billing-7", 1);
//! let acquire = Operation::Acquire { claim, lease: Duration::from_secs(30), under: Vec::new(), stay: Stay::No };
//! let stepped = step(Kind::Reentrant, Record::default(), &acquire, Time::from_micros(1_000), 0);
//! assert!(matches!(stepped.outcome, Outcome::Granted(grant) if grant.token == 1_000));
//! ```

mod claim;
mod key;
pub mod kinds;
mod line;
mod operation;
mod pattern;
mod record;
mod span;
mod text;
mod time;
mod vote;

pub use claim::Claim;
pub use key::{InvalidKey, Key};
pub use kinds::latch::Countdown;
pub use kinds::read_write::Share;
pub use kinds::{Kind, UnknownKind, fair, fenced, latch, read_write, reentrant, semaphore, simple};
pub use line::Waiter;
pub use operation::{
    Busy, Cancelled, Counting, FIRST_ENTRY, Grant, Holder, Latch, Operation, Outcome, Sight, Stay, Supply, Supplying,
    Token, Waiting, Want,
};
pub use pattern::{Pattern, Piece};
pub use record::{Record, Stepped, Tombstone, step};
pub use span::{Span, Spot};
pub use text::Unreadable;
pub use time::Time;
pub use vote::{Said, Vote};
