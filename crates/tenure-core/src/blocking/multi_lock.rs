//! The multi lock, for threads.

use super::owner::for_this_thread;
use super::runtime::{wait_for, wait_unless};
use super::{Lock, MultiGuard};
use crate::{Error, Key, Options};
use std::borrow::Borrow;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// [Several locks](crate::MultiLock) that a thread holds together: all or none. Cheap to clone; holds nothing by itself.
///
/// ```
/// use tenure_core::blocking::MultiLock;
/// use tenure_core::{Client, Memory};
///
/// let (client, elsewhere) = (Client::new(Memory::new())?.blocking(), Client::new(Memory::new())?.blocking());
/// let guard = client.multi(["account:7", "account:3"])?.lock()?;
/// guard.release()?;
/// let (stock, prices) = (client.lock("stock")?, elsewhere.rw_lock("prices")?);
/// let guard = MultiLock::new([&stock, prices.read()])?.lock()?;
/// assert!(guard.token_of("prices").is_some());
/// # Ok::<(), tenure_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct MultiLock(pub(super) crate::MultiLock);

impl MultiLock {
    /// The locks of this set.
    ///
    /// # Errors
    ///
    /// As [`MultiLock::new`](crate::MultiLock::new).
    pub fn new<L: Borrow<Lock>>(locks: impl IntoIterator<Item = L>) -> Result<Self, Error> {
        crate::MultiLock::new(locks.into_iter().map(|lock| lock.borrow().0.clone())).map(Self)
    }

    /// The keys, in the order in which they are taken, with the prefixes of their clients.
    pub fn keys(&self) -> impl Iterator<Item = &Key> {
        self.0.keys()
    }

    /// Waits for all of them with the default options.
    ///
    /// # Errors
    ///
    /// As [`lock_with`](MultiLock::lock_with).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn lock(&self) -> Result<MultiGuard, Error> {
        self.lock_with(self.0.options().clone())
    }

    /// Waits for so long at the most, for all of them together.
    ///
    /// # Errors
    ///
    /// As [`MultiLock::lock_timeout`](crate::MultiLock::lock_timeout).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn lock_timeout(&self, wait: Duration) -> Result<MultiGuard, Error> {
        self.lock_with(self.0.options().clone().wait(wait))
    }

    /// Waits for all of them. A thread that holds one of them already is outside the order, as
    /// [`MultiLock::lock_with`](crate::MultiLock::lock_with) says.
    ///
    /// # Errors
    ///
    /// As there.
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn lock_with(&self, options: Options) -> Result<MultiGuard, Error> {
        wait_for(self.0.lock_with(for_this_thread(options, |thread| self.0.is_held_by(thread)))).map(MultiGuard::new)
    }

    /// Waits for all of them unless the token is cancelled first, by any thread: none then, and none of them is held.
    ///
    /// # Errors
    ///
    /// As [`lock_with`](MultiLock::lock_with).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn lock_unless(&self, token: &CancellationToken) -> Result<Option<MultiGuard>, Error> {
        self.lock_unless_with(token, self.0.options().clone())
    }

    /// Waits for all of them with other options, unless the token is cancelled first.
    ///
    /// # Errors
    ///
    /// As [`lock_with`](MultiLock::lock_with).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn lock_unless_with(&self, token: &CancellationToken, options: Options) -> Result<Option<MultiGuard>, Error> {
        Ok(wait_unless(token, self.0.lock_with(for_this_thread(options, |thread| self.0.is_held_by(thread))))?
            .map(MultiGuard::new))
    }

    /// One attempt: the guard, or none if somebody else holds one of the locks.
    ///
    /// # Errors
    ///
    /// As [`lock_with`](MultiLock::lock_with), but never a time-out.
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn try_lock(&self) -> Result<Option<MultiGuard>, Error> {
        self.try_lock_with(self.0.options().clone())
    }

    /// One attempt with other options.
    ///
    /// # Errors
    ///
    /// As [`try_lock`](MultiLock::try_lock).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn try_lock_with(&self, options: Options) -> Result<Option<MultiGuard>, Error> {
        Ok(wait_for(self.0.try_lock_with(for_this_thread(options, |thread| self.0.is_held_by(thread))))?
            .map(MultiGuard::new))
    }
}
