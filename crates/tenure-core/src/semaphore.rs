//! The semaphore: so many at a time are in.

use crate::acquire::{Asker, Contended, Demand, Patience, Whose, obtain};
use crate::guard::Guard;
use crate::inner::Inner;
use crate::lock::{Held, Lock};
use crate::supply::{checked, supply};
use crate::{Error, Options};
use std::sync::Arc;
use std::time::Duration;
use tenure_kernel::{Key, Kind, Supplying, Want};

/// So many permits, shared by all who can reach the store. Cheap to clone; holds nothing by itself.
///
/// A [`Guard`] has its permits for as long as it lives and is renewed, like a lock: those of a process that died come back
/// with its lease. Permits are given out first come, first served, also to one who wants many.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tenure_core::Error> {
/// use tenure_core::{Client, Memory};
///
/// let client = Client::new(Memory::new())?;
/// let calls = client.semaphore("partner-api")?.of(3)?;
/// let one = calls.acquire().await?;
/// let two = calls.acquire_many(2).await?;
/// assert!(calls.try_acquire().await?.is_none());
/// two.release().await?;
/// assert_eq!(calls.available().await?, 2);
/// # drop(one);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Semaphore {
    client: Arc<Inner>,
    key: Key,
    of: Option<u32>,
}

impl Semaphore {
    pub(crate) fn new(client: &Arc<Inner>, key: Key) -> Self {
        Self { client: Arc::clone(client), key, of: None }
    }

    /// Those by which permits are taken without any.
    pub(crate) fn options(&self) -> &Options {
        &self.client.options
    }

    /// The key, with the client's prefix.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// How many permits there are, should nobody have said so yet: the first to ask makes them. Whoever does not say waits
    /// until somebody has.
    ///
    /// # Errors
    ///
    /// [`Invalid`](crate::ErrorKind::Invalid) for more than a semaphore can have.
    pub fn of(mut self, permits: u32) -> Result<Self, Error> {
        self.of = Some(checked("permits", permits, 0)?);
        Ok(self)
    }

    /// Waits for a permit.
    ///
    /// # Errors
    ///
    /// As [`acquire_with`](Semaphore::acquire_with).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future gives up the place in line and leaves nothing behind in the store.
    pub async fn acquire(&self) -> Result<Guard, Error> {
        self.acquire_many(1).await
    }

    /// Waits for so many permits, all of which the guard then has.
    ///
    /// # Errors
    ///
    /// As [`acquire_with`](Semaphore::acquire_with).
    ///
    /// # Cancel safety
    ///
    /// As [`acquire`](Semaphore::acquire).
    pub async fn acquire_many(&self, permits: u32) -> Result<Guard, Error> {
        self.acquire_with(permits, self.client.options.clone()).await
    }

    /// Waits for a permit for so long at the most, everything included.
    ///
    /// # Errors
    ///
    /// As [`acquire_with`](Semaphore::acquire_with).
    ///
    /// # Cancel safety
    ///
    /// As [`acquire`](Semaphore::acquire).
    pub async fn acquire_timeout(&self, wait: Duration) -> Result<Guard, Error> {
        self.acquire_many_timeout(1, wait).await
    }

    /// Waits for so many permits for so long at the most, everything included.
    ///
    /// # Errors
    ///
    /// As [`acquire_with`](Semaphore::acquire_with).
    ///
    /// # Cancel safety
    ///
    /// As [`acquire`](Semaphore::acquire).
    pub async fn acquire_many_timeout(&self, permits: u32, wait: Duration) -> Result<Guard, Error> {
        self.acquire_with(permits, self.client.options.clone().wait(wait)).await
    }

    /// Waits for so many permits, with other options.
    ///
    /// # Errors
    ///
    /// As [`Lock::lock_with`], and [`Conflict`](crate::ErrorKind::Conflict) at once for more permits than there are.
    ///
    /// # Cancel safety
    ///
    /// As [`acquire`](Semaphore::acquire).
    pub async fn acquire_with(&self, permits: u32, options: Options) -> Result<Guard, Error> {
        let patience = Patience::of(&options, self.client.shared.clock.now());
        match self.take(permits, &options, patience).await? {
            Ok(guard) => Ok(guard),
            Err(contended) => Err(Box::pin(self.as_lock().timed_out(contended)).await),
        }
    }

    /// One attempt: the guard, or none if there is no permit to be had now.
    ///
    /// # Errors
    ///
    /// As [`acquire_with`](Semaphore::acquire_with), but never a time-out.
    ///
    /// # Cancel safety
    ///
    /// As [`acquire`](Semaphore::acquire).
    pub async fn try_acquire(&self) -> Result<Option<Guard>, Error> {
        self.try_acquire_many(1).await
    }

    /// One attempt at so many permits.
    ///
    /// # Errors
    ///
    /// As [`try_acquire`](Semaphore::try_acquire).
    ///
    /// # Cancel safety
    ///
    /// As [`acquire`](Semaphore::acquire).
    pub async fn try_acquire_many(&self, permits: u32) -> Result<Option<Guard>, Error> {
        self.try_acquire_with(permits, self.client.options.clone()).await
    }

    /// One attempt at so many permits, with other options.
    ///
    /// # Errors
    ///
    /// As [`try_acquire`](Semaphore::try_acquire).
    ///
    /// # Cancel safety
    ///
    /// As [`acquire`](Semaphore::acquire).
    pub async fn try_acquire_with(&self, permits: u32, options: Options) -> Result<Option<Guard>, Error> {
        Ok(self.take(permits, &options, Patience::Once).await?.ok())
    }

    async fn take(
        &self,
        permits: u32,
        options: &Options,
        patience: Patience,
    ) -> Result<Result<Guard, Contended>, Error> {
        options.check()?;
        options.refuse_lineage()?;
        let demand = Some(Demand { want: Want::Some(checked("permits", permits, 1)?), of: self.of });
        let asker = Asker { whose: Whose::of(options)?, under: Vec::new(), demand };
        let _attempt = self.client.shared.attempt()?;
        obtain(&self.client, (Kind::Semaphore, &self.key), options, patience, asker).await
    }

    /// How many permits are to be had now; fewer than none, if there were made to be fewer than are taken.
    ///
    /// # Errors
    ///
    /// [`Unavailable`](crate::ErrorKind::Unavailable), [`Denied`](crate::ErrorKind::Denied), or
    /// [`Conflict`](crate::ErrorKind::Conflict) if the key is in use for something else.
    pub async fn available(&self) -> Result<i64, Error> {
        Ok(self.supply(Supplying::Look).await?.available)
    }

    /// How many permits there are, with those that are taken. None if nobody has said yet, or if that was not Tenure.
    ///
    /// # Errors
    ///
    /// As [`available`](Semaphore::available).
    pub async fn permits(&self) -> Result<Option<i64>, Error> {
        Ok(self.supply(Supplying::Look).await?.total)
    }

    /// Lets there be so many permits, unless somebody said so before; whether this was the first.
    ///
    /// # Errors
    ///
    /// As [`available`](Semaphore::available), and [`Unknown`](crate::ErrorKind::Unknown) if the store did not answer.
    pub async fn try_set_permits(&self, permits: u32) -> Result<bool, Error> {
        let permits = checked("permits", permits, 0)?;
        Ok(self.supply(Supplying::Begin(permits)).await?.was.is_none())
    }

    /// Lets there be so many permits. Those that are taken stay taken: if there are then too few, the next ones to be given
    /// back go to nobody.
    ///
    /// # Errors
    ///
    /// As [`try_set_permits`](Semaphore::try_set_permits).
    pub async fn set_permits(&self, permits: u32) -> Result<(), Error> {
        let permits = checked("permits", permits, 0)?;
        self.supply(Supplying::Set(permits)).await.map(drop)
    }

    /// So many permits more, or fewer.
    ///
    /// # Errors
    ///
    /// As [`try_set_permits`](Semaphore::try_set_permits).
    pub async fn add_permits(&self, permits: i32) -> Result<(), Error> {
        self.supply(Supplying::Add(i64::from(permits))).await.map(drop)
    }

    /// Away with all permits that nobody has, until others are added; how many those were.
    ///
    /// # Errors
    ///
    /// As [`try_set_permits`](Semaphore::try_set_permits).
    pub async fn drain(&self) -> Result<u32, Error> {
        let was = self.supply(Supplying::Drain).await?.was.unwrap_or(0);
        Ok(u32::try_from(was.max(0)).unwrap_or(u32::MAX))
    }

    async fn supply(&self, supplying: Supplying) -> Result<tenure_kernel::Supply, Error> {
        supply(&self.client, (Kind::Semaphore, &self.key), supplying).await
    }

    /// Who has permits, and who waits for some; none if nobody has any.
    ///
    /// # Errors
    ///
    /// As [`available`](Semaphore::available).
    pub async fn inspect(&self) -> Result<Option<Held>, Error> {
        self.as_lock().inspect().await
    }

    /// Takes all permits from those who have them, as [`Lock::force_release`] does.
    ///
    /// # Errors
    ///
    /// As [`Lock::force_release`].
    pub async fn force_release(&self) -> Result<Option<Held>, Error> {
        self.as_lock().force_release().await
    }

    fn as_lock(&self) -> Lock {
        Lock::new(&self.client, Kind::Semaphore, self.key.clone())
    }
}

impl std::fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Semaphore").field("key", &self.key).field("of", &self.of).finish_non_exhaustive()
    }
}
