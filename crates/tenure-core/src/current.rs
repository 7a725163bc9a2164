//! The guard that the running code is under, as the code itself sees it.

use crate::event::Loss;
use crate::scope::Entered;
use crate::{Error, Standing};
use std::time::Duration;
use tenure_kernel::{Key, Token};
use tokio_util::sync::CancellationToken;

/// The innermost guard that the running code is under, as [`current`](crate::current) gives it: to look at, not to keep. The
/// lock is released when its section ends, whoever still has one of these.
#[derive(Clone)]
pub struct Current(Entered);

impl Current {
    pub(crate) fn new(entered: Entered) -> Self {
        Self(entered)
    }

    /// The lock's key.
    pub fn key(&self) -> &Key {
        &self.0.hold.key
    }

    /// The fencing token, as [`Guard::token`](crate::Guard::token).
    pub fn token(&self) -> Token {
        self.0.hold.token
    }

    /// How long the lease surely still runs; zero once it is over.
    pub fn remaining(&self) -> Duration {
        self.0.hold.remaining(self.0.entry, self.0.client.shared.clock.now())
    }

    /// Whether the lease surely still runs.
    pub fn is_held(&self) -> bool {
        !matches!(self.0.hold.standing(self.0.entry, self.0.client.shared.clock.now()), Standing::Lost(_))
    }

    /// To be asked before every step that must not be taken unlocked.
    ///
    /// # Errors
    ///
    /// [`Lost`](crate::ErrorKind::Lost) once the lease is over.
    pub fn check(&self) -> Result<(), Error> {
        self.0.hold.check(self.0.entry, self.0.client.shared.clock.now())
    }

    /// Resolves when the lock is lost, before the store can have given it to anybody else.
    ///
    /// # Panics
    ///
    /// On a tokio runtime without [timers](tokio::runtime::Builder::enable_time).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future has no effect.
    pub async fn lost(&self) -> Loss {
        self.0.hold.lost(self.0.entry, &self.0.client.shared).await
    }

    /// A token that is cancelled when the lock is lost, to hand to work that runs elsewhere.
    pub fn cancellation_token(&self) -> CancellationToken {
        self.0.hold.lost_token(self.0.entry, &self.0.client.shared)
    }
}

impl std::fmt::Debug for Current {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Current").field("key", self.key()).field("token", &self.token()).finish_non_exhaustive()
    }
}
