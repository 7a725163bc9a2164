//! The client, for threads.

use super::runtime::wait_for;
use super::{Latch, Lock, MultiLock, Permits, RwLock, Semaphore};
use crate::{Builder, Error, Held, Kind, Label, Store};
use std::time::Duration;

/// A [client](crate::Client) for threads. It is the async client: both can be used side by side, and all clones are one.
///
/// ```
/// use std::time::Duration;
/// use tenure_core::{Client, Memory, blocking};
///
/// let client: blocking::Client = Client::builder().label("billing").build(Memory::new())?.blocking();
/// let guard = client.lock("nightly-backup")?.lock()?;
/// assert_eq!(client.list("nightly-*")?.len(), 1);
/// drop(guard);
/// client.close(Duration::from_secs(5))?;
/// # Ok::<(), tenure_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Client(crate::Client);

impl From<crate::Client> for Client {
    fn from(client: crate::Client) -> Self {
        Self(client)
    }
}

impl crate::Client {
    /// This client, for threads.
    pub fn blocking(&self) -> Client {
        Client(self.clone())
    }
}

impl Client {
    /// As [`Client::new`](crate::Client::new), which sends nothing.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn new(store: impl Into<Store>) -> Result<Self, Error> {
        crate::Client::new(store).map(Self)
    }

    /// A client with these settings that has reached its store, as by [`Builder::connect`].
    ///
    /// ```
    /// use tenure_core::{Client, Memory, blocking};
    ///
    /// let client = blocking::Client::connect(Client::builder().prefix("billing:"), Memory::new())?;
    /// assert_eq!(client.lock("a")?.key().as_str(), "billing:a");
    /// # Ok::<(), tenure_core::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Builder::connect`].
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn connect(builder: Builder, store: impl Into<Store>) -> Result<Self, Error> {
        wait_for(builder.connect(store)).map(Self)
    }

    /// The same client, for tasks.
    pub fn as_async(&self) -> &crate::Client {
        &self.0
    }

    /// The re-entrant lock on a key.
    ///
    /// # Errors
    ///
    /// [`Invalid`](crate::ErrorKind::Invalid) if the key is empty or too long.
    pub fn lock(&self, key: &str) -> Result<Lock, Error> {
        self.0.lock(key).map(Lock)
    }

    /// The simple lock on a key, as [`Client::simple`](crate::Client::simple): a thread that holds it and asks for it again is
    /// refused.
    ///
    /// # Errors
    ///
    /// As [`lock`](Client::lock).
    pub fn simple(&self, key: &str) -> Result<Lock, Error> {
        self.0.simple(key).map(Lock)
    }

    /// The fair lock on a key, as [`Client::fair`](crate::Client::fair).
    ///
    /// # Errors
    ///
    /// As [`lock`](Client::lock).
    pub fn fair(&self, key: &str) -> Result<Lock, Error> {
        self.0.fair(key).map(Lock)
    }

    /// The fenced lock on a key, as [`Client::fenced`](crate::Client::fenced).
    ///
    /// # Errors
    ///
    /// As [`lock`](Client::lock).
    pub fn fenced(&self, key: &str) -> Result<Lock, Error> {
        self.0.fenced(key).map(Lock)
    }

    /// The lock of a kind on a key, as [`Client::lock_of`](crate::Client::lock_of).
    ///
    /// # Errors
    ///
    /// As there.
    pub fn lock_of(&self, kind: Kind, key: &str) -> Result<Lock, Error> {
        self.0.lock_of(kind, key).map(Lock)
    }

    /// The read-write lock on a key.
    ///
    /// # Errors
    ///
    /// As [`lock`](Client::lock).
    pub fn rw_lock(&self, key: &str) -> Result<RwLock, Error> {
        self.0.rw_lock(key).map(|lock| RwLock::new(&lock))
    }

    /// The re-entrant locks on several keys, held together.
    ///
    /// # Errors
    ///
    /// As [`lock`](Client::lock), and if no key is named.
    pub fn multi<K: AsRef<str>>(&self, keys: impl IntoIterator<Item = K>) -> Result<MultiLock, Error> {
        self.0.multi(keys).map(MultiLock)
    }

    /// The semaphore on a key.
    ///
    /// # Errors
    ///
    /// As [`lock`](Client::lock).
    pub fn semaphore(&self, key: &str) -> Result<Semaphore, Error> {
        self.0.semaphore(key).map(Semaphore)
    }

    /// The semaphore on a key whose permits have names.
    ///
    /// # Errors
    ///
    /// As [`lock`](Client::lock).
    pub fn permits(&self, key: &str) -> Result<Permits, Error> {
        self.0.permits(key).map(Permits)
    }

    /// The latch on a key.
    ///
    /// # Errors
    ///
    /// As [`lock`](Client::lock).
    pub fn latch(&self, key: &str) -> Result<Latch, Error> {
        self.0.latch(key).map(Latch)
    }

    /// All held locks whose keys match a pattern, as [`Client::list`](crate::Client::list) says.
    ///
    /// # Errors
    ///
    /// As there.
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn list(&self, pattern: &str) -> Result<Vec<Held>, Error> {
        wait_for(self.0.list(pattern))
    }

    /// What the store promises.
    pub fn label(&self) -> Label {
        self.0.label()
    }

    /// The id under which the store knows this client.
    pub fn id(&self) -> &str {
        self.0.id()
    }

    /// Takes no new locks, and waits until all guards are gone and all releases are done.
    ///
    /// # Errors
    ///
    /// As [`Client::close`](crate::Client::close).
    ///
    /// # Panics
    ///
    /// In [async code](super#async-code).
    #[track_caller]
    pub fn close(&self, within: Duration) -> Result<(), Error> {
        wait_for(self.0.close(within))
    }
}
