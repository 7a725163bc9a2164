//! A lock's handle, for threads.

use super::Guard;
use super::owner::for_this_thread;
use super::runtime::{wait_for, wait_unless};
use crate::{Error, Held, Key, Kind, Options, Vote};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// A [lock](crate::Lock) for threads: one of them at a time has it, and may go in again. Cheap to clone; holds nothing by
/// itself.
///
/// ```
/// use std::thread;
/// use tenure_core::{Client, Memory};
///
/// let lock = Client::new(Memory::new())?.blocking().lock("order:pay")?;
/// let guard = lock.lock()?;
/// assert!(lock.try_lock()?.is_some());                             // the same thread goes in again
/// let other = || lock.try_lock().map(|guard| guard.is_some());
/// assert!(!thread::scope(|threads| threads.spawn(other).join().expect("it does not panic"))?);
/// guard.release()?;
/// # Ok::<(), tenure_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Lock(pub(super) crate::Lock);

impl Lock {
    /// The key, with the client's prefix.
    pub fn key(&self) -> &Key {
        self.0.key()
    }

    /// The kind.
    pub fn kind(&self) -> Kind {
        self.0.kind()
    }

    /// Waits for the lock with the client's default options.
    ///
    /// # Errors
    ///
    /// As [`lock_with`](Lock::lock_with).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn lock(&self) -> Result<Guard, Error> {
        self.lock_with(self.defaults())
    }

    /// Waits for the lock for so long at the most, everything included.
    ///
    /// # Errors
    ///
    /// As [`Lock::lock_timeout`](crate::Lock::lock_timeout): a time-out names the holder.
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn lock_timeout(&self, wait: Duration) -> Result<Guard, Error> {
        self.lock_with(self.defaults().wait(wait))
    }

    /// Waits for the lock.
    ///
    /// # Errors
    ///
    /// As [`Lock::lock_with`](crate::Lock::lock_with).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn lock_with(&self, options: Options) -> Result<Guard, Error> {
        wait_for(self.0.lock_with(for_this_thread(options, |thread| self.0.is_held_by(thread)))).map(Guard::new)
    }

    /// Waits for the lock unless the token is cancelled first, by any thread: none then, and nothing is left behind.
    ///
    /// # Errors
    ///
    /// As [`lock_with`](Lock::lock_with).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn lock_unless(&self, token: &CancellationToken) -> Result<Option<Guard>, Error> {
        self.lock_unless_with(token, self.defaults())
    }

    /// Waits for the lock with other options, unless the token is cancelled first.
    ///
    /// # Errors
    ///
    /// As [`lock_with`](Lock::lock_with).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn lock_unless_with(&self, token: &CancellationToken, options: Options) -> Result<Option<Guard>, Error> {
        Ok(wait_unless(token, self.0.lock_with(for_this_thread(options, |thread| self.0.is_held_by(thread))))?
            .map(Guard::new))
    }

    /// One attempt: the guard, or none if somebody else holds the lock.
    ///
    /// # Errors
    ///
    /// As [`lock_with`](Lock::lock_with), but never a time-out.
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn try_lock(&self) -> Result<Option<Guard>, Error> {
        self.try_lock_with(self.defaults())
    }

    /// One attempt with other options.
    ///
    /// # Errors
    ///
    /// As [`try_lock`](Lock::try_lock).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn try_lock_with(&self, options: Options) -> Result<Option<Guard>, Error> {
        Ok(wait_for(self.0.try_lock_with(for_this_thread(options, |thread| self.0.is_held_by(thread))))?
            .map(Guard::new))
    }

    /// Whether anybody holds the lock.
    ///
    /// # Errors
    ///
    /// As [`inspect`](Lock::inspect).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn is_locked(&self) -> Result<bool, Error> {
        wait_for(self.0.is_locked())
    }

    /// Who holds the lock.
    ///
    /// # Errors
    ///
    /// As [`Lock::inspect`](crate::Lock::inspect).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn inspect(&self) -> Result<Option<Held>, Error> {
        wait_for(self.0.inspect())
    }

    /// What each server says of the lock, as [`Lock::votes`](crate::Lock::votes).
    ///
    /// # Errors
    ///
    /// As there.
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn votes(&self) -> Result<Vec<Vote>, Error> {
        wait_for(self.0.votes())
    }

    /// Frees the lock over its holders' heads, as [`Lock::force_release`](crate::Lock::force_release).
    ///
    /// # Errors
    ///
    /// As there.
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn force_release(&self) -> Result<Option<Held>, Error> {
        wait_for(self.0.force_release())
    }

    pub(super) fn defaults(&self) -> Options {
        self.0.client().options.clone()
    }
}
