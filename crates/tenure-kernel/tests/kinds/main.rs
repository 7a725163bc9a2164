//! Each kind's invariants, over random histories.

mod fenced;
mod latch;
mod semaphore;
mod support;
