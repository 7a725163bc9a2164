//! The read-write lock, for threads.

use super::Lock;
use crate::Key;

/// A [read-write lock](crate::RwLock) for threads. Cheap to clone; holds nothing by itself.
///
/// A thread that reads and asks to write [goes on to write](super::Guard::upgrade) when no other reads; one that writes may
/// read as well.
///
/// ```
/// use tenure_core::{Client, Memory};
///
/// let catalogue = Client::new(Memory::new())?.blocking().rw_lock("catalogue")?;
/// let writer = catalogue.write().lock()?;
/// let reader = writer.downgrade()?;
/// reader.release()?;
/// # Ok::<(), tenure_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct RwLock {
    read: Lock,
    write: Lock,
}

impl RwLock {
    pub(super) fn new(lock: &crate::RwLock) -> Self {
        Self { read: Lock(lock.read().clone()), write: Lock(lock.write().clone()) }
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
