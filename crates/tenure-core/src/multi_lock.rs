//! The multi lock: several locks held together, of one client or of several, by one guard.

mod guard;
mod set;
mod take;

pub use guard::MultiGuard;

use self::take::{InTheWay, Taking};
use crate::acquire::Patience;
use crate::lock::Lock;
use crate::{Error, Options, Owner};
use std::borrow::Borrow;
use std::sync::Arc;
use std::time::Duration;
use tenure_kernel::Key;

/// Several locks that are held together: all or none. Cheap to clone; holds nothing by itself.
///
/// They may be of one client or of several, and so of several stores, and of any kinds. Everybody takes them in the same
/// order, whatever order they were named in, so that two who want the same keys never wait for each other. Keys of one
/// client are taken in one request if all of them are free.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tenure_core::Error> {
/// use tenure_core::{Client, Memory, MultiLock};
///
/// let client = Client::new(Memory::new())?;
/// let transfer = client.multi(["account:7", "account:3"])?;
/// let guard = transfer.lock().await?;
/// assert!(client.lock("account:3")?.try_lock().await?.is_none());
/// guard.run(async { /* move the money, fenced by both tokens */ }).await?;
/// guard.release().await?;
///
/// // Locks of other clients and of other kinds.
/// let elsewhere = Client::new(Memory::new())?;
/// let (stock, prices) = (client.lock("stock")?, elsewhere.rw_lock("prices")?);
/// let guard = MultiLock::new([&stock, prices.read()])?.lock().await?;
/// assert!(guard.token_of("prices").is_some());
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct MultiLock {
    /// In the order in which everybody takes them.
    locks: Arc<[Lock]>,
    options: Options,
}

impl MultiLock {
    /// Whether an owner holds one of them.
    pub(crate) fn is_held_by(&self, owner: &Owner) -> bool {
        self.locks.iter().any(|lock| lock.is_held_by(owner))
    }

    /// The locks of this set. One that is named twice is one; of the two sides of a read-write lock, the one that writes is
    /// enough. Without options of their own, they are taken with those of the client that is named first.
    ///
    /// # Errors
    ///
    /// [`Invalid`](crate::ErrorKind::Invalid) if the set is empty, or if a key of one client is named as two kinds of lock
    /// that exclude each other.
    pub fn new<L: Borrow<Lock>>(locks: impl IntoIterator<Item = L>) -> Result<Self, Error> {
        let locks: Vec<Lock> = locks.into_iter().map(|lock| lock.borrow().clone()).collect();
        let options = locks.first().map_or_else(Options::new, |lock| lock.client().options.clone());
        Ok(Self { locks: set::in_order(locks)?.into(), options })
    }

    /// The locks, in the order in which they are taken.
    pub fn locks(&self) -> &[Lock] {
        &self.locks
    }

    /// Their keys, in that order, with the prefixes of their clients.
    pub fn keys(&self) -> impl Iterator<Item = &Key> {
        self.locks.iter().map(Lock::key)
    }

    /// Those by which they are taken without any.
    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// Waits for all of them with the default options.
    ///
    /// # Errors
    ///
    /// As [`lock_with`](MultiLock::lock_with).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future gives up every place in line and every lock that was taken by then: the janitor gives them back.
    pub async fn lock(&self) -> Result<MultiGuard, Error> {
        self.lock_with(self.options.clone()).await
    }

    /// Waits for so long at the most, for all of them together.
    ///
    /// # Errors
    ///
    /// [`Timeout`](crate::ErrorKind::Timeout), naming the key that was not free and its holder; otherwise as
    /// [`lock_with`](MultiLock::lock_with).
    ///
    /// # Cancel safety
    ///
    /// As [`lock`](MultiLock::lock).
    pub async fn lock_timeout(&self, wait: Duration) -> Result<MultiGuard, Error> {
        self.lock_with(self.options.clone().wait(wait)).await
    }

    /// Waits for all of them.
    ///
    /// The wait is one for all. While it waits for one, those that it has are renewed; if one of them is lost meanwhile, it
    /// gives the others back and begins anew. [`no_renew`](Options::no_renew), [`max_hold`](Options::max_hold),
    /// [`at_least`](Options::at_least) and [`warn_after`](Options::warn_after) count from when all of them are held. A
    /// [`retry`](Options::retry) policy counts for each by itself.
    ///
    /// Whoever holds one of the locks already, as an [owner](Options::owner), and waits for another here, is outside the
    /// order: two who do so can wait for each other.
    ///
    /// # Errors
    ///
    /// As [`Lock::lock_with`], of the key that could not be had; none of the others is held then.
    /// [`Conflict`](crate::ErrorKind::Conflict) also if two clients lead to the same lock of a kind that is entered once.
    ///
    /// # Cancel safety
    ///
    /// As [`lock`](MultiLock::lock).
    pub async fn lock_with(&self, options: Options) -> Result<MultiGuard, Error> {
        match Taking::new(&self.locks, &options, |now| Patience::of(&options, now))?.run().await? {
            Ok(guards) => Ok(MultiGuard::new(guards)),
            // Boxed, as all that is rare.
            Err(InTheWay { at, contended }) => Err(Box::pin(self.locks[at].timed_out(contended)).await),
        }
    }

    /// One attempt: the guard, or none if somebody else holds one of the locks.
    ///
    /// # Errors
    ///
    /// As [`lock_with`](MultiLock::lock_with), but never a time-out: being contended is an answer.
    ///
    /// # Cancel safety
    ///
    /// As [`lock`](MultiLock::lock).
    pub async fn try_lock(&self) -> Result<Option<MultiGuard>, Error> {
        self.try_lock_with(self.options.clone()).await
    }

    /// One attempt with other options.
    ///
    /// # Errors
    ///
    /// As [`try_lock`](MultiLock::try_lock).
    ///
    /// # Cancel safety
    ///
    /// As [`lock`](MultiLock::lock).
    pub async fn try_lock_with(&self, options: Options) -> Result<Option<MultiGuard>, Error> {
        Ok(Taking::new(&self.locks, &options, |_| Patience::Once)?.run().await?.ok().map(MultiGuard::new))
    }
}
