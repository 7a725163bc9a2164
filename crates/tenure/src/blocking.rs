//! The same locks for threads: the same names, without `.await`.
//!
//! ```
//! # fn main() -> Result<(), tenure::Error> {
//! let tenure = tenure::blocking::connect("memory:")?;       // or redis://127.0.0.1
//!
//! let lock = tenure.lock("order:pay")?;
//! let guard = lock.lock()?;                                 // waits; a watchdog renews the 30 s lease
//! let again = lock.lock()?;                                 // the same thread goes in again
//! assert_eq!(again.token(), guard.token());
//! drop(again);                                              // released in the background
//! guard.release()?;
//! # Ok(()) }
//! ```
//!
//! Who holds what, what happens in async code, and how a wait is called off: see [`tenure_core::blocking`].

pub use tenure_core::blocking::*;

use crate::Error;

/// Connects to the store at a URL, as [`connect`](crate::connect) does. Other settings: [`Client::connect`] with
/// [`store`](crate::store).
///
/// # Errors
///
/// As [`connect`](crate::connect).
///
/// # Panics
///
/// In [async code](tenure_core::blocking#async-code).
#[track_caller]
pub fn connect(url: &str) -> Result<Client, Error> {
    Client::connect(crate::Client::builder(), crate::store(url)?)
}
