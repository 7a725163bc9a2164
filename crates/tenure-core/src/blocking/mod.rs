//! The same locks for threads: the same names, without `.await`.
//!
//! ```
//! use tenure_core::{Client, Error, Memory, Release, blocking};
//!
//! fn deduct(stock: &blocking::Lock) -> Result<(), Error> {
//!     let guard = stock.lock()?;                                  // waits; a watchdog renews the 30 s lease
//!     count(stock)?;
//!     assert_eq!(guard.release()?, Release::Released);            // or drop it: released in place
//!     Ok(())
//! }
//!
//! fn count(stock: &blocking::Lock) -> Result<(), Error> {
//!     let guard = stock.lock()?;                                  // the same thread: goes in again
//!     assert_eq!(guard.release()?, Release::StillHeld(1));
//!     Ok(())
//! }
//!
//! let stock = Client::new(Memory::new())?.blocking().lock("stock:7")?;
//! std::thread::scope(|threads| {
//!     let workers = [threads.spawn(|| deduct(&stock)), threads.spawn(|| deduct(&stock))];     // one after the other
//!     workers.into_iter().try_for_each(|worker| worker.join().expect("no worker panics"))
//! })?;
//! assert!(!stock.is_locked()?);
//! # Ok::<(), Error>(())
//! ```
//!
//! What a method does, and how it fails, is as its async namesake says.
//!
//! # The thread is the owner
//!
//! Every lock is taken for the calling thread, unless [`Options::owner`](crate::Options::owner) names somebody else or the thread
//! runs in somebody's [scope](crate::Owner::scope) or section, that of a task for instance: a thread that holds it goes in again, past all waiters, and threads exclude each other, also those that share a handle.
//! [`Options::reentrant`](crate::Options::reentrant) means the thread here too. Every outermost hold has a claim and a token of
//! its own. A second client in the same process is somebody else, and so is every async task. Semaphores have no owner:
//! whoever has a permit and asks for another gets another.
//!
//! A guard therefore stays on its thread, as the standard library's do. One that is leaked (`std::mem::forget`) is renewed for
//! as long as the process lives, and its thread goes in again; on a pool, so does whatever is run on that thread next.
//! [`no_renew`](crate::Options::no_renew) and [`max_hold`](crate::Options::max_hold) bound that. Nothing else is passed from
//! one piece of work to the next.
//!
//! # Async code
//!
//! A thread that drives async tasks must not block. There, every method that waits for anything panics and says so, before
//! it does anything. Inside `tokio::task::spawn_blocking` and `block_in_place`, and on any thread that drives no tasks, it works.
//! In a task that tokio never tells to yield, such as one in `tokio::task::unconstrained`, a panic hook hears of a panic of
//! tokio's first, and where panics abort the process, dropping a guard there does so.
//!
//! # Ending a wait
//!
//! Whoever waits can be called off by another thread, through a [`CancellationToken`]: every method that waits for others has a
//! twin that ends in `_unless`.
//!
//! ```
//! use std::thread;
//! use tenure_core::blocking::CancellationToken;
//! use tenure_core::{Client, Memory};
//!
//! let lock = Client::new(Memory::new())?.blocking().lock("report")?;
//! let held = lock.lock()?;
//! let shutdown = CancellationToken::new();
//! let waited = thread::scope(|threads| {
//!     let waiter = threads.spawn(|| lock.lock_unless(&shutdown).map(|guard| guard.is_some()));
//!     shutdown.cancel();
//!     waiter.join().expect("it does not panic")
//! })?;
//! assert!(!waited);
//! # drop(held);
//! # Ok::<(), tenure_core::Error>(())
//! ```
//!
//! # What runs where
//!
//! The first call of a process starts one thread, `tenure-blocking`, which hears the network and the timers for all of them;
//! the calls themselves run on their callers' threads. Renewing, and what dropped guards leave behind, is done by the client's
//! own thread, as ever.

mod client;
mod guard;
mod in_place;
mod latch;
mod lock;
mod multi_guard;
mod multi_lock;
mod owner;
mod permits;
mod runtime;
mod rw_lock;
mod section;
mod semaphore;

pub(crate) use in_place::InPlace;
pub(crate) use owner::for_this_thread;
pub(crate) use runtime::wait_for;

pub use client::Client;
pub use guard::Guard;
pub use latch::Latch;
pub use lock::Lock;
pub use multi_guard::MultiGuard;
pub use multi_lock::MultiLock;
pub use permits::Permits;
pub use rw_lock::RwLock;
pub use semaphore::Semaphore;
pub use tokio_util::sync::CancellationToken;
