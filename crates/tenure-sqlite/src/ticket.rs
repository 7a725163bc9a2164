//! Whether a piece of work was begun, and whether anybody still wants it.

use std::sync::atomic::{AtomicU8, Ordering};

const WAITING: u8 = 0;
const BEGUN: u8 = 1;
const GIVEN_UP: u8 = 2;

/// Shared by the one who asks and the thread that does the work.
#[derive(Debug, Default)]
pub(crate) struct Ticket(AtomicU8);

impl Ticket {
    /// Whether the work is still wanted; from here on it may have been done.
    pub(crate) fn begin(&self) -> bool {
        self.0.compare_exchange(WAITING, BEGUN, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Nobody wants the answer any more. Whether the work was begun; if it was not, it never will be.
    pub(crate) fn give_up(&self) -> bool {
        self.0.swap(GIVEN_UP, Ordering::AcqRel) == BEGUN
    }

    pub(crate) fn is_given_up(&self) -> bool {
        self.0.load(Ordering::Acquire) == GIVEN_UP
    }
}
