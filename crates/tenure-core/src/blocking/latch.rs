//! The latch, for threads.

use super::runtime::{wait_for, wait_unless};
use crate::{Error, Key};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// A [latch](crate::Latch) for threads. Cheap to clone; holds nothing by itself.
///
/// ```
/// use std::thread;
/// use tenure_core::{Client, Memory};
///
/// let warmed_up = Client::new(Memory::new())?.blocking().latch("warmed-up")?;
/// warmed_up.try_set(1)?;
/// thread::scope(|threads| {
///     let waiter = threads.spawn(|| warmed_up.wait());
///     warmed_up.down_once("shard-1")?;
///     waiter.join().expect("it does not panic")
/// })?;
/// # Ok::<(), tenure_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Latch(pub(super) crate::Latch);

impl Latch {
    /// The key, with the client's prefix.
    pub fn key(&self) -> &Key {
        self.0.key()
    }

    /// Shuts the latch, to be counted down so often, unless it is shut; whether it did.
    ///
    /// # Errors
    ///
    /// As [`down`](Latch::down).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn try_set(&self, count: u32) -> Result<bool, Error> {
        wait_for(self.0.try_set(count))
    }

    /// Shuts the latch, to be counted down so often, whatever it was before. Those who wait go on waiting.
    ///
    /// # Errors
    ///
    /// As [`down`](Latch::down).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn set(&self, count: u32) -> Result<(), Error> {
        wait_for(self.0.set(count))
    }

    /// Counts down by one; how often it is still to be counted down.
    ///
    /// # Errors
    ///
    /// As [`Latch::down`](crate::Latch::down).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn down(&self) -> Result<u32, Error> {
        wait_for(self.0.down())
    }

    /// Counts down by one, unless it was with this id since it was set.
    ///
    /// # Errors
    ///
    /// As [`Latch::down_once`](crate::Latch::down_once).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn down_once(&self, id: &str) -> Result<u32, Error> {
        wait_for(self.0.down_once(id))
    }

    /// How often the latch is still to be counted down: not at all, if it is open.
    ///
    /// # Errors
    ///
    /// As [`Latch::count`](crate::Latch::count).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn count(&self) -> Result<u32, Error> {
        wait_for(self.0.count())
    }

    /// Away with the latch: nobody waits for it any more. Whether it was shut.
    ///
    /// # Errors
    ///
    /// As [`down`](Latch::down).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn delete(&self) -> Result<bool, Error> {
        wait_for(self.0.delete())
    }

    /// Waits until the latch is open.
    ///
    /// # Errors
    ///
    /// As [`Latch::wait`](crate::Latch::wait).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn wait(&self) -> Result<(), Error> {
        wait_for(self.0.wait())
    }

    /// Waits until the latch is open, for so long at the most.
    ///
    /// # Errors
    ///
    /// As [`Latch::wait_timeout`](crate::Latch::wait_timeout).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn wait_timeout(&self, wait: Duration) -> Result<(), Error> {
        wait_for(self.0.wait_timeout(wait))
    }

    /// Waits until the latch is open or the token is cancelled, by any thread; whether it is open.
    ///
    /// # Errors
    ///
    /// As [`wait`](Latch::wait).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn wait_unless(&self, token: &CancellationToken) -> Result<bool, Error> {
        Ok(wait_unless(token, self.0.wait())?.is_some())
    }
}
