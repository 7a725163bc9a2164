//! Two methods under one lock, one of which calls the other.

use tenure::{Client, Error};

pub(crate) struct ReentrantService {
    pub(crate) locks: Client,
}

impl ReentrantService {
    /// How often it is in, as the store counts, when both methods are: two.
    #[tenure::locked(client = self.locks, prefix = "", key = "reentrant_lock_test", wait = "5s")]
    pub(crate) async fn method_a(&self) -> Result<u32, Error> {
        self.method_b().await
    }

    #[tenure::locked(client = self.locks, prefix = "", key = "reentrant_lock_test", wait = "5s")]
    pub(crate) async fn method_b(&self) -> Result<u32, Error> {
        let held = self.locks.lock("reentrant_lock_test")?.inspect().await?;
        Ok(held.map_or(0, |held| held.holder().count))
    }

    /// The same for threads.
    #[tenure::locked(client = self.locks, prefix = "", key = "reentrant_lock_test", wait = "5s")]
    pub(crate) fn method_a_blocking(&self) -> Result<u32, Error> {
        self.method_b_blocking()
    }

    #[tenure::locked(client = self.locks, prefix = "", key = "reentrant_lock_test", wait = "5s")]
    pub(crate) fn method_b_blocking(&self) -> Result<u32, Error> {
        let held = self.locks.blocking().lock("reentrant_lock_test")?.inspect()?;
        Ok(held.map_or(0, |held| held.holder().count))
    }
}
