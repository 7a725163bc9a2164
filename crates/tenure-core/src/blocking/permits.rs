//! The semaphore whose permits have names, for threads.

use super::runtime::{wait_for, wait_unless};
use crate::{Error, Held, Key, Options, PermitId};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// [Permits with names](crate::Permits) for threads. Cheap to clone; holds nothing by itself.
///
/// ```
/// use std::time::Duration;
/// use tenure_core::{Client, Memory, PermitId};
///
/// let seats = Client::new(Memory::new())?.blocking().permits("seats")?.of(40)?;
/// let seat: PermitId = seats.acquire(Duration::from_secs(600))?;
/// seats.renew(&seat, Duration::from_secs(600))?;
/// seats.release(&seat)?;
/// assert_eq!(seats.available()?, 40);
/// # Ok::<(), tenure_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Permits(pub(super) crate::Permits);

impl Permits {
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
    /// As [`acquire_with`](Permits::acquire_with).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn acquire(&self, lease: Duration) -> Result<PermitId, Error> {
        wait_for(self.0.acquire(lease))
    }

    /// Waits for so many permits, and takes all of them at one moment.
    ///
    /// # Errors
    ///
    /// As [`acquire_with`](Permits::acquire_with).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn acquire_many(&self, permits: u32, lease: Duration) -> Result<Vec<PermitId>, Error> {
        wait_for(self.0.acquire_many(permits, lease))
    }

    /// Waits for a permit for so long at the most, everything included.
    ///
    /// # Errors
    ///
    /// As [`acquire_with`](Permits::acquire_with).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn acquire_timeout(&self, lease: Duration, wait: Duration) -> Result<PermitId, Error> {
        wait_for(self.0.acquire_timeout(lease, wait))
    }

    /// Waits for so many permits, with other options. Of these, lease, wait and retry have a meaning here.
    ///
    /// # Errors
    ///
    /// As [`Permits::acquire_with`](crate::Permits::acquire_with).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn acquire_with(&self, permits: u32, options: Options) -> Result<Vec<PermitId>, Error> {
        wait_for(self.0.acquire_with(permits, options))
    }

    /// Waits for a permit unless the token is cancelled first, by any thread: none then, and nothing is left behind.
    ///
    /// # Errors
    ///
    /// As [`acquire_with`](Permits::acquire_with).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn acquire_unless(&self, token: &CancellationToken, lease: Duration) -> Result<Option<PermitId>, Error> {
        wait_unless(token, self.0.acquire(lease))
    }

    /// Waits for so many permits with other options, unless the token is cancelled first.
    ///
    /// # Errors
    ///
    /// As [`acquire_with`](Permits::acquire_with).
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
    ) -> Result<Option<Vec<PermitId>>, Error> {
        wait_unless(token, self.0.acquire_with(permits, options))
    }

    /// One attempt: the permit, or none if there is none to be had now.
    ///
    /// # Errors
    ///
    /// As [`acquire_with`](Permits::acquire_with), but never a time-out.
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn try_acquire(&self, lease: Duration) -> Result<Option<PermitId>, Error> {
        wait_for(self.0.try_acquire(lease))
    }

    /// One attempt at so many permits.
    ///
    /// # Errors
    ///
    /// As [`try_acquire`](Permits::try_acquire).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn try_acquire_many(&self, permits: u32, lease: Duration) -> Result<Option<Vec<PermitId>>, Error> {
        wait_for(self.0.try_acquire_many(permits, lease))
    }

    /// Makes a permit last for so long from now on, if it would end before that.
    ///
    /// # Errors
    ///
    /// As [`Permits::renew`](crate::Permits::renew).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn renew(&self, id: &PermitId, lease: Duration) -> Result<(), Error> {
        wait_for(self.0.renew(id, lease))
    }

    /// Gives a permit back.
    ///
    /// # Errors
    ///
    /// As [`Permits::release_many`](crate::Permits::release_many).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn release(&self, id: &PermitId) -> Result<(), Error> {
        wait_for(self.0.release(id))
    }

    /// Gives permits back: all of them, or none if one of them has ended or was given back before.
    ///
    /// # Errors
    ///
    /// As [`Permits::release_many`](crate::Permits::release_many).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn release_many(&self, ids: &[PermitId]) -> Result<(), Error> {
        wait_for(self.0.release_many(ids))
    }

    /// How many permits are to be had now, as [`Permits::available`](crate::Permits::available).
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
    /// As [`available`](Permits::available).
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
    /// As [`Permits::try_set_permits`](crate::Permits::try_set_permits).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn try_set_permits(&self, permits: u32) -> Result<bool, Error> {
        wait_for(self.0.try_set_permits(permits))
    }

    /// Lets there be so many permits, as [`Permits::set_permits`](crate::Permits::set_permits).
    ///
    /// # Errors
    ///
    /// As [`try_set_permits`](Permits::try_set_permits).
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
    /// As [`try_set_permits`](Permits::try_set_permits).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn add_permits(&self, permits: i32) -> Result<(), Error> {
        wait_for(self.0.add_permits(permits))
    }

    /// Which permits are taken, and for how much longer; none if none is.
    ///
    /// # Errors
    ///
    /// As [`available`](Permits::available).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn inspect(&self) -> Result<Option<Held>, Error> {
        wait_for(self.0.inspect())
    }
}
