//! The guard, for threads.

use super::in_place::InPlace;
use super::owner::OnItsThread;
use super::runtime::{wait_for, wait_unless};
use crate::{Error, Key, Options, Release, Standing, Token};
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// A [held lock](crate::Guard) of a thread. Dropping it releases it and waits for that, for
/// [half a second](crate::Builder::flush_within) at the most; what is not done then is done in the background, as it is in
/// [async code](super#async-code). [`release`](Guard::release) says what happened.
///
/// ```
/// use std::thread;
/// use tenure_core::{Client, Memory, Release};
///
/// let lock = Client::new(Memory::new())?.blocking().lock("order:pay")?;
/// let guard = lock.lock()?;
/// thread::scope(|threads| threads.spawn(|| guard.check()).join().expect("it does not panic"))?;
/// assert_eq!(guard.release()?, Release::Released);
/// # Ok::<(), tenure_core::Error>(())
/// ```
///
/// It stays on its thread, for the thread is who holds the lock: given away, it would leave a thread that can go in without
/// having a guard.
///
/// ```compile_fail,E0277
/// # use std::thread;
/// # use tenure_core::{Client, Memory};
/// # let lock = Client::new(Memory::new())?.blocking().lock("order:pay")?;
/// let guard = lock.lock()?;
/// thread::spawn(move || guard.release());
/// # Ok::<(), tenure_core::Error>(())
/// ```
#[must_use = "a guard that is not kept releases its lock at once"]
#[clippy::has_significant_drop]
pub struct Guard {
    guard: InPlace<crate::Guard>,
    thread: OnItsThread,
}

impl Guard {
    pub(super) fn new(guard: crate::Guard) -> Self {
        Self { guard: InPlace::new(guard), thread: PhantomData }
    }

    /// The guard as tasks have it. An entry that is made [from it](crate::Guard::reenter) can go to another thread, or to a task.
    pub fn as_async(&self) -> &crate::Guard {
        &self.guard
    }

    /// The fencing token, as [`Guard::token`](crate::Guard::token).
    pub fn token(&self) -> Token {
        self.guard.token()
    }

    /// The lock's key.
    pub fn key(&self) -> &Key {
        self.guard.key()
    }

    /// How long the lease surely still runs; zero once it is over.
    pub fn remaining(&self) -> Duration {
        self.guard.remaining()
    }

    /// How the guard stands now: held, in jeopardy or lost.
    pub fn standing(&self) -> Standing {
        self.guard.standing()
    }

    /// Whether the lease surely still runs.
    pub fn is_held(&self) -> bool {
        self.guard.is_held()
    }

    /// To be asked before every step that must not be taken unlocked.
    ///
    /// # Errors
    ///
    /// [`Lost`](crate::ErrorKind::Lost) once the lease is over.
    pub fn check(&self) -> Result<(), Error> {
        self.guard.check()
    }

    /// A token that is cancelled when the lock is lost, to hand to work that runs elsewhere.
    pub fn cancellation_token(&self) -> CancellationToken {
        self.guard.cancellation_token()
    }

    /// Makes the lease last its full length from now on.
    ///
    /// # Errors
    ///
    /// As [`Guard::renew`](crate::Guard::renew).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn renew(&self) -> Result<(), Error> {
        wait_for(self.guard.renew())
    }

    /// Goes in once more. The lock is free when every guard of it is gone.
    ///
    /// # Errors
    ///
    /// As [`Guard::reenter`](crate::Guard::reenter).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn reenter(&self) -> Result<Self, Error> {
        wait_for(self.guard.reenter()).map(Self::new)
    }

    /// Goes in once more with other options; those about waiting and owners have no meaning here.
    ///
    /// # Errors
    ///
    /// As [`Guard::reenter_with`](crate::Guard::reenter_with).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn reenter_with(&self, options: Options) -> Result<Self, Error> {
        wait_for(self.guard.reenter_with(options)).map(Self::new)
    }

    /// Goes on to write, beside the own reading, as [`Guard::upgrade`](crate::Guard::upgrade).
    ///
    /// # Errors
    ///
    /// As there.
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn upgrade(&self) -> Result<Self, Error> {
        wait_for(self.guard.upgrade()).map(Self::new)
    }

    /// Goes on to write, with other options.
    ///
    /// # Errors
    ///
    /// As [`Guard::upgrade_with`](crate::Guard::upgrade_with).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn upgrade_with(&self, options: Options) -> Result<Self, Error> {
        wait_for(self.guard.upgrade_with(options)).map(Self::new)
    }

    /// Goes on to write unless the token is cancelled before the others have left: none then, and this guard still reads.
    ///
    /// # Errors
    ///
    /// As [`upgrade`](Guard::upgrade).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn upgrade_unless(&self, token: &CancellationToken) -> Result<Option<Self>, Error> {
        Ok(wait_unless(token, self.guard.upgrade())?.map(Self::new))
    }

    /// Goes on to write if nobody else reads.
    ///
    /// # Errors
    ///
    /// As [`Guard::try_upgrade`](crate::Guard::try_upgrade).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn try_upgrade(&self) -> Result<Option<Self>, Error> {
        Ok(wait_for(self.guard.try_upgrade())?.map(Self::new))
    }

    /// Stops writing and goes on to read, as [`Guard::downgrade`](crate::Guard::downgrade).
    ///
    /// # Errors
    ///
    /// As there.
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn downgrade(self) -> Result<Self, Error> {
        wait_for(self.guard.take().downgrade()).map(Self::new)
    }

    /// Takes back what [`at_least`](crate::Options::at_least) has asked for, as [its namesake](crate::Guard::waive_at_least) does.
    pub fn waive_at_least(&self) {
        self.guard.waive_at_least();
    }

    /// Gives the lock back and says what happened.
    ///
    /// # Errors
    ///
    /// As [`Guard::release`](crate::Guard::release).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code); the lock is then released in the background.
    #[track_caller]
    pub fn release(self) -> Result<Release, Error> {
        wait_for(self.guard.take().release())
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.guard.fmt(f)
    }
}
