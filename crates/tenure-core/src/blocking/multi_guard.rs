//! The guard of a set, for threads.

use super::in_place::InPlace;
use super::owner::OnItsThread;
use super::runtime::wait_for;
use crate::{Error, Key, Release, Standing, Token};
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// [Several held locks](crate::MultiGuard) of a thread, on which it stays, as a [`Guard`](super::Guard) does.
///
/// ```
/// use tenure_core::{Client, Memory, Release};
///
/// let client = Client::new(Memory::new())?.blocking();
/// let guard = client.multi(["from", "to"])?.lock()?;
/// guard.check()?;
/// assert_eq!(guard.tokens().count(), 2);
/// assert_eq!(guard.release()?, Release::Released);
/// # Ok::<(), tenure_core::Error>(())
/// ```
#[must_use = "a guard that is not kept releases its locks at once"]
#[clippy::has_significant_drop]
pub struct MultiGuard {
    guard: InPlace<crate::MultiGuard>,
    thread: OnItsThread,
}

impl MultiGuard {
    pub(super) fn new(guard: crate::MultiGuard) -> Self {
        Self { guard: InPlace::new(guard), thread: PhantomData }
    }

    /// The guard as tasks have it, with the [guard of each lock](crate::MultiGuard::guards).
    pub fn as_async(&self) -> &crate::MultiGuard {
        &self.guard
    }

    /// The keys, in order.
    pub fn keys(&self) -> impl Iterator<Item = &Key> {
        self.guard.keys()
    }

    /// Every key with its fencing token, in the order of the keys.
    pub fn tokens(&self) -> impl Iterator<Item = (&Key, Token)> {
        self.guard.tokens()
    }

    /// The fencing token of a key, as [`MultiGuard::token_of`](crate::MultiGuard::token_of).
    pub fn token_of(&self, key: &str) -> Option<Token> {
        self.guard.token_of(key)
    }

    /// How long all leases surely still run: the least of them; zero once one is over.
    pub fn remaining(&self) -> Duration {
        self.guard.remaining()
    }

    /// How the guard stands now: as the one of its locks that stands worst.
    pub fn standing(&self) -> Standing {
        self.guard.standing()
    }

    /// Whether all leases surely still run.
    pub fn is_held(&self) -> bool {
        self.guard.is_held()
    }

    /// To be asked before every step that must not be taken unlocked.
    ///
    /// # Errors
    ///
    /// [`Lost`](crate::ErrorKind::Lost) once one of the leases is over; it names the key.
    pub fn check(&self) -> Result<(), Error> {
        self.guard.check()
    }

    /// A token that is cancelled when one of the locks is lost, to hand to work that runs elsewhere.
    pub fn cancellation_token(&self) -> CancellationToken {
        self.guard.cancellation_token()
    }

    /// Makes all leases last their full length from now on.
    ///
    /// # Errors
    ///
    /// As [`MultiGuard::renew`](crate::MultiGuard::renew).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn renew(&self) -> Result<(), Error> {
        wait_for(self.guard.renew())
    }

    /// Takes back what [`at_least`](crate::Options::at_least) has asked for, as [its namesake](crate::MultiGuard::waive_at_least) does.
    pub fn waive_at_least(&self) {
        self.guard.waive_at_least();
    }

    /// Gives all locks back and says what happened.
    ///
    /// # Errors
    ///
    /// As [`MultiGuard::release`](crate::MultiGuard::release).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code); the locks are then released in the background.
    #[track_caller]
    pub fn release(self) -> Result<Release, Error> {
        wait_for(self.guard.take().release())
    }
}

impl fmt::Debug for MultiGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.guard.fmt(f)
    }
}
