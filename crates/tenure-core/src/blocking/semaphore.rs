//! The semaphore, for threads.

use super::Guard;
use super::owner::for_this_thread;
use super::runtime::{wait_for, wait_unless};
use crate::{Error, Held, Key, Options};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// A [semaphore](crate::Semaphore) for threads. Cheap to clone; holds nothing by itself.
///
/// ```
/// use tenure_core::{Client, Memory};
///
/// let calls = Client::new(Memory::new())?.blocking().semaphore("partner-api")?.of(3)?;
/// let one = calls.acquire()?;
/// let two = calls.acquire_many(2)?;
/// assert!(calls.try_acquire()?.is_none());                         // also for a thread that has some
/// two.release()?;
/// assert_eq!(calls.available()?, 2);
/// # drop(one);
/// # Ok::<(), tenure_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Semaphore(pub(super) crate::Semaphore);

impl Semaphore {
    /// The key, with the client's prefix.
    pub fn key(&self) -> &Key {
        self.0.key()
    }

    /// How many permits there are, should nobody have said so yet.
    ///
    /// # Errors
    ///
    /// [`Invalid`](crate::ErrorKind::Invalid) for more than a semaphore can have.
    pub fn of(self, permits: u32) -> Result<Self, Error> {
        self.0.of(permits).map(Self)
    }

    /// Waits for a permit.
    ///
    /// # Errors
    ///
    /// As [`acquire_with`](Semaphore::acquire_with).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn acquire(&self) -> Result<Guard, Error> {
        self.acquire_many(1)
    }

    /// Waits for so many permits, all of which the guard then has.
    ///
    /// # Errors
    ///
    /// As [`acquire_with`](Semaphore::acquire_with).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn acquire_many(&self, permits: u32) -> Result<Guard, Error> {
        self.acquire_with(permits, self.0.options().clone())
    }

    /// Waits for a permit for so long at the most, everything included.
    ///
    /// # Errors
    ///
    /// As [`acquire_with`](Semaphore::acquire_with).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn acquire_timeout(&self, wait: Duration) -> Result<Guard, Error> {
        self.acquire_many_timeout(1, wait)
    }

    /// Waits for so many permits for so long at the most, everything included.
    ///
    /// # Errors
    ///
    /// As [`acquire_with`](Semaphore::acquire_with).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn acquire_many_timeout(&self, permits: u32, wait: Duration) -> Result<Guard, Error> {
        self.acquire_with(permits, self.0.options().clone().wait(wait))
    }

    /// Waits for so many permits, with other options.
    ///
    /// # Errors
    ///
    /// As [`Semaphore::acquire_with`](crate::Semaphore::acquire_with).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn acquire_with(&self, permits: u32, options: Options) -> Result<Guard, Error> {
        wait_for(self.0.acquire_with(permits, for_this_thread(options, |_| false))).map(Guard::new)
    }

    /// Waits for a permit unless the token is cancelled first, by any thread: none then, and nothing is left behind.
    ///
    /// # Errors
    ///
    /// As [`acquire_with`](Semaphore::acquire_with).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn acquire_unless(&self, token: &CancellationToken) -> Result<Option<Guard>, Error> {
        self.acquire_unless_with(token, 1, self.0.options().clone())
    }

    /// Waits for so many permits with other options, unless the token is cancelled first.
    ///
    /// # Errors
    ///
    /// As [`acquire_with`](Semaphore::acquire_with).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn acquire_unless_with(
        &self,
        token: &CancellationToken,
        permits: u32,
        options: Options,
    ) -> Result<Option<Guard>, Error> {
        Ok(wait_unless(token, self.0.acquire_with(permits, for_this_thread(options, |_| false)))?.map(Guard::new))
    }

    /// One attempt: the guard, or none if there is no permit to be had now.
    ///
    /// # Errors
    ///
    /// As [`acquire_with`](Semaphore::acquire_with), but never a time-out.
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn try_acquire(&self) -> Result<Option<Guard>, Error> {
        self.try_acquire_many(1)
    }

    /// One attempt at so many permits.
    ///
    /// # Errors
    ///
    /// As [`try_acquire`](Semaphore::try_acquire).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn try_acquire_many(&self, permits: u32) -> Result<Option<Guard>, Error> {
        self.try_acquire_with(permits, self.0.options().clone())
    }

    /// One attempt at so many permits, with other options.
    ///
    /// # Errors
    ///
    /// As [`try_acquire`](Semaphore::try_acquire).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn try_acquire_with(&self, permits: u32, options: Options) -> Result<Option<Guard>, Error> {
        Ok(wait_for(self.0.try_acquire_with(permits, for_this_thread(options, |_| false)))?.map(Guard::new))
    }

    /// How many permits are to be had now, as [`Semaphore::available`](crate::Semaphore::available).
    ///
    /// # Errors
    ///
    /// As there.
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn available(&self) -> Result<i64, Error> {
        wait_for(self.0.available())
    }

    /// How many permits there are, with those that are taken; none if nobody has said yet.
    ///
    /// # Errors
    ///
    /// As [`available`](Semaphore::available).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn permits(&self) -> Result<Option<i64>, Error> {
        wait_for(self.0.permits())
    }

    /// Lets there be so many permits, unless somebody said so before; whether this was the first.
    ///
    /// # Errors
    ///
    /// As [`Semaphore::try_set_permits`](crate::Semaphore::try_set_permits).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn try_set_permits(&self, permits: u32) -> Result<bool, Error> {
        wait_for(self.0.try_set_permits(permits))
    }

    /// Lets there be so many permits, as [`Semaphore::set_permits`](crate::Semaphore::set_permits).
    ///
    /// # Errors
    ///
    /// As [`try_set_permits`](Semaphore::try_set_permits).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn set_permits(&self, permits: u32) -> Result<(), Error> {
        wait_for(self.0.set_permits(permits))
    }

    /// So many permits more, or fewer.
    ///
    /// # Errors
    ///
    /// As [`try_set_permits`](Semaphore::try_set_permits).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn add_permits(&self, permits: i32) -> Result<(), Error> {
        wait_for(self.0.add_permits(permits))
    }

    /// Away with all permits that nobody has, until others are added; how many those were.
    ///
    /// # Errors
    ///
    /// As [`try_set_permits`](Semaphore::try_set_permits).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn drain(&self) -> Result<u32, Error> {
        wait_for(self.0.drain())
    }

    /// Who has permits, and who waits for some; none if nobody has any.
    ///
    /// # Errors
    ///
    /// As [`available`](Semaphore::available).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn inspect(&self) -> Result<Option<Held>, Error> {
        wait_for(self.0.inspect())
    }

    /// Takes all permits from those who have them.
    ///
    /// # Errors
    ///
    /// As [`Lock::force_release`](crate::Lock::force_release).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn force_release(&self) -> Result<Option<Held>, Error> {
        wait_for(self.0.force_release())
    }
}
