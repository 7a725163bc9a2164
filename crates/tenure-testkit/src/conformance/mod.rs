//! What every backend has to get right, as cases that a backend runs by one line.
//!
//! A backend's `tests/conformance.rs`, built with `harness = false`, is its [`Fixture`] and this:
//!
//! ```no_run
//! use std::process::ExitCode;
//! use tenure_core::{Backend, Memory, Pattern};
//! use tenure_testkit::conformance::{Fixture, run};
//!
//! struct InMemory(Memory);
//!
//! impl Fixture for InMemory {
//!     type Backend = Memory;
//!
//!     fn backend(&self) -> Memory {
//!         self.0.clone()
//!     }
//!
//!     async fn keys_left(&self, part: &str) -> Vec<String> {
//!         let all = self.0.list(&Pattern::new(&format!("*{part}*")), std::time::Duration::from_secs(1)).await;
//!         all.unwrap().into_iter().map(|(key, _)| key.to_string()).collect()
//!     }
//! }
//!
//! fn main() -> ExitCode {
//!     run("memory", || InMemory(Memory::new()))
//! }
//! ```
//!
//! A case that needs a [`Guarantee`](tenure_core::Guarantee) which the backend's label does not give is shown as
//! ignored.

mod bench;
mod case;
mod runner;
mod tap;
mod waiting;

mod alarms;
mod basics;
mod bounds;
mod branches;
mod cancelling;
mod closing;
mod crowds;
mod dropping;
mod entries;
mod events;
mod fair;
mod fenced;
mod forcing;
mod input;
mod latch;
mod late;
mod leases;
mod lines;
mod looking;
mod losses;
mod multi;
mod nested;
mod owners;
mod permits;
mod read_write;
mod retrying;
mod sections;
mod semaphore;
mod sides;
mod simple;
mod tokens;
mod wakers;
mod watchdog;

pub use self::runner::run;

use std::future::Future;
use tenure_core::Backend;

/// A store to run the cases on.
///
/// A fixture is made for every case. It may lead to a store that others use too: every case has keys of its own.
pub trait Fixture: Send + Sync + 'static {
    /// What is tested.
    type Backend: Backend;

    /// Another way to the same store, as another process would have it.
    fn backend(&self) -> Self::Backend;

    /// What the store still keeps under keys that contain `part`, those included that are not locks.
    fn keys_left(&self, part: &str) -> impl Future<Output = Vec<String>> + Send;
}
