//! The read-write lock: its two sides, and changing from one to the other.

use crate::acquire::{Contended, Patience, obtain};
use crate::guard::Guard;
use crate::lock::Lock;
use crate::{Error, ErrorKind, Options};
use tenure_kernel::{Key, Kind};

/// A lock that many can have to read, or one to write, on one key. Cheap to clone; holds nothing by itself.
///
/// Readers and writers take turns: while a writer waits, new readers wait behind it, and when a writer leaves, all who have
/// waited to read go in before the next. Every guard has a lease of its own.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tenure_core::Error> {
/// use tenure_core::{Client, Memory};
///
/// let client = Client::new(Memory::new())?;
/// let catalogue = client.rw_lock("catalogue")?;
/// let (one, other) = (catalogue.read().lock().await?, catalogue.read().lock().await?);
/// assert!(catalogue.write().try_lock().await?.is_none());
/// drop(one);
/// other.release().await?;
///
/// let writer = catalogue.write().lock().await?;
/// let reader = writer.downgrade().await?;
/// assert!(catalogue.read().try_lock().await?.is_some());
/// # drop(reader);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct RwLock {
    read: Lock,
    write: Lock,
}

impl RwLock {
    pub(crate) fn new(read: Lock, write: Lock) -> Self {
        Self { read, write }
    }

    /// The key, with the client's prefix.
    pub fn key(&self) -> &Key {
        self.read.key()
    }

    /// The side of those who read.
    pub fn read(&self) -> &Lock {
        &self.read
    }

    /// The side of those who write.
    pub fn write(&self) -> &Lock {
        &self.write
    }
}

impl Guard {
    /// Goes on to write, beside the own reading: at once if nobody else reads, otherwise when they have left. New readers
    /// wait meanwhile. When the guard that this returns is released, this one still reads. It has the lease of this one.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tenure_core::Error> {
    /// # use tenure_core::{Client, ErrorKind, Memory};
    /// # let client = Client::new(Memory::new())?;
    /// let reader = client.rw_lock("catalogue")?.read().lock().await?;
    /// let writer = reader.upgrade().await?;
    /// assert!(writer.token() > reader.token());
    /// writer.release().await?;
    /// assert!(reader.is_held());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Lock::lock_with`], and [`ErrorKind::Conflict`] at once if another reader is waiting to write: both would wait
    /// for each other. [`ErrorKind::Lost`] if the lock is not ours any more, [`ErrorKind::Unsupported`] if it is not held
    /// to read.
    ///
    /// # Cancel safety
    ///
    /// As [`Lock::lock`]; this guard is not touched.
    pub async fn upgrade(&self) -> Result<Self, Error> {
        self.upgrade_with(self.own_terms()).await
    }

    /// Goes on to write, with other options.
    ///
    /// # Errors
    ///
    /// As [`upgrade`](Guard::upgrade), and [`ErrorKind::Timeout`] if the others have not left in time.
    ///
    /// # Cancel safety
    ///
    /// As [`upgrade`](Guard::upgrade).
    pub async fn upgrade_with(&self, options: Options) -> Result<Self, Error> {
        let patience = Patience::of(&options, self.now());
        match self.change_to(Kind::Write, &options, patience).await? {
            Ok(guard) => Ok(guard),
            Err(contended) => Err(self.as_lock(Kind::Write).timed_out(contended).await),
        }
    }

    /// Goes on to write if nobody else reads.
    ///
    /// # Errors
    ///
    /// As [`upgrade`](Guard::upgrade), but others who read are an answer.
    ///
    /// # Cancel safety
    ///
    /// As [`upgrade`](Guard::upgrade).
    pub async fn try_upgrade(&self) -> Result<Option<Self>, Error> {
        Ok(self.change_to(Kind::Write, &self.own_terms(), Patience::Once).await?.ok())
    }

    /// Stops writing and goes on to read, with the same lease and without a moment in between in which another could write.
    /// Those who wait to read are let in. A writer that went in again by [`reenter`](Guard::reenter) writes until its other
    /// guards are released as well.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Lost`] if the lock is not ours any more, [`ErrorKind::Unavailable`] if the store does not answer; the
    /// lock is then released. [`ErrorKind::Unsupported`] if it is not held to write.
    ///
    /// # Cancel safety
    ///
    /// A downgrade that was cancelled releases the lock.
    pub async fn downgrade(self) -> Result<Self, Error> {
        let options = self.own_terms();
        let Ok(reader) = self.change_to(Kind::Read, &options, Patience::Once).await? else {
            // Only somebody who writes keeps a reader out, and that is not us any more.
            return Err(Error::lost(self.key(), crate::Loss::Gone));
        };
        match self.release().await {
            // It is tried again in the background.
            Ok(_) => Ok(reader),
            Err(error) if error.kind() == ErrorKind::Unknown => Ok(reader),
            Err(error) => Err(error),
        }
    }

    /// Goes in on the other side, under the own claim.
    async fn change_to(
        &self,
        kind: Kind,
        options: &Options,
        patience: Patience,
    ) -> Result<Result<Self, Contended>, Error> {
        options.check()?;
        if !self.kind().is_side() || self.kind() == kind {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!("only a read lock is upgraded, and only a write lock downgraded: kind={}", self.kind()),
            )
            .about(self.key()));
        }
        self.check()?;
        let _attempt = self.client().shared.attempt()?;
        obtain(self.client(), (kind, self.key()), options, patience, self.next_of_kin()).await
    }
}
