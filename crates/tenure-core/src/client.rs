//! The client: one per process and store is enough.

use crate::event::Events;
use crate::inner::{Inner, Within};
use crate::keeper::Keeper;
use crate::latch::Latch;
use crate::length::Length;
use crate::lock::{Cards, Held, Lock};
use crate::multi_lock::MultiLock;
use crate::permits::Permits;
use crate::rw_lock::RwLock;
use crate::semaphore::Semaphore;
use crate::shared::Shared;
use crate::wakeups::Hub;
use crate::{Card, Error, ErrorKind, Guarantee, Label, Options, Store, watchdog};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tenure_kernel::{Key, Kind, Pattern};
use tokio::sync::mpsc;

/// A client of one store. Cheap to clone; all clones are one client.
///
/// It has two threads of its own: one renews leases and finishes what dropped guards leave behind, the other hears wake-ups and
/// tells the application's tasks. Locks are taken and released on the runtime of whoever does so.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tenure_core::Error> {
/// use std::time::Duration;
/// use tenure_core::{Client, Memory};
///
/// let client = Client::new(Memory::new())?;
/// let guard = client.lock("nightly-backup")?.lock().await?;
/// assert_eq!(client.list("nightly-*").await?.len(), 1);
/// drop(guard);
/// client.close(Duration::from_secs(5)).await?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Client(Arc<Inner>);

/// How a client is set up.
#[derive(Debug, Clone)]
pub struct Builder {
    label: String,
    prefix: String,
    options: Options,
    answer_within: Duration,
    connect_within: Duration,
    flush_within: Duration,
    required: Vec<Guarantee>,
}

impl Builder {
    /// The most bytes that a label may have.
    pub const MAX_LABEL: usize = 256;

    /// What people call this client, where they meet its locks: [`MAX_LABEL`](Self::MAX_LABEL) bytes at most.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// What all keys of this client begin with: nothing unless said.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// The options of every lock that is taken without any.
    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// How long one answer of the store is waited for: 1 s unless said. What is unanswered then is asked again.
    #[must_use]
    pub fn answer_within(mut self, within: Duration) -> Self {
        self.answer_within = within;
        self
    }

    /// How long to try to reach the store at first: 5 s unless said.
    #[must_use]
    pub fn connect_within(mut self, within: Duration) -> Self {
        self.connect_within = within;
        self
    }

    /// How long the last handle of the client (client, lock or guard) waits, when it is dropped, for releases that dropped
    /// guards have left: 500 ms unless said, 10 s at the most. It does not wait if there are none. This is what lets a process
    /// that returns from `main` leave no lock behind; see [`Client::close`] for more. The thread that builds the client waits as
    /// well, when it ends, if there are handles then: one in a `static` is never dropped. With zero they never wait.
    #[must_use]
    pub fn flush_within(mut self, within: Duration) -> Self {
        self.flush_within = within;
        self
    }

    /// Refuses a store that does not promise this.
    #[must_use]
    pub fn require(mut self, guarantee: Guarantee) -> Self {
        self.required.push(guarantee);
        self
    }

    /// A client that reaches for its store when it is first used. If the store is down then, that call fails with
    /// [`Unavailable`](ErrorKind::Unavailable) or rides it out, as [`Lock::lock_with`] says.
    ///
    /// # Errors
    ///
    /// [`Invalid`](ErrorKind::Invalid) for settings that make no sense, [`Unsupported`](ErrorKind::Unsupported) if the
    /// backend does not promise what is required.
    pub fn build(self, store: impl Into<Store>) -> Result<Client, Error> {
        self.options.check()?;
        for (what, value) in [("answer_within", self.answer_within), ("connect_within", self.connect_within)] {
            if value < Duration::from_millis(10) || value > Duration::from_secs(600) {
                return Err(Error::invalid(format!("choose {what} from 10ms to 10m: {what}={}", Length(value))));
            }
        }
        if self.flush_within > Duration::from_secs(10) {
            let length = Length(self.flush_within);
            return Err(Error::invalid(format!("choose flush_within from 0s to 10s: flush_within={length}")));
        }
        if self.prefix.len() >= Key::MAX_BYTES {
            return Err(Error::invalid(format!("choose a shorter prefix: it has {} bytes", self.prefix.len())));
        }
        if self.label.len() > Self::MAX_LABEL {
            return Err(Error::invalid(format!(
                "choose a label of {} bytes at most: it has {}",
                Self::MAX_LABEL,
                self.label.len()
            )));
        }
        let Store { backend, origin } = store.into();
        if !origin.is_here() {
            std::mem::forget(backend);
            return Err(Error::forked(origin));
        }
        let label = backend.label();
        if let Some(missing) = self.required.iter().find(|guarantee| !label.has(**guarantee)) {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!("this store does not promise {missing}, choose another or do without: store=`{}`", label.name),
            ));
        }
        let id = uuid::Uuid::new_v4().to_string();
        let (chores, undone) = mpsc::unbounded_channel();
        let card = Card::of_this_process(&self.label);
        let shared = Arc::new(Shared::new(backend, id, card, chores));
        let heeding: Weak<Shared> = Arc::downgrade(&shared);
        let (hub, port) = Hub::new(&shared.id, shared.clock.clone(), &shared.signals.voices, move |notice| {
            if let Some(shared) = heeding.upgrade() {
                watchdog::heed(&shared, &notice);
            }
        });
        if !label.has(Guarantee::PushedWakeups) {
            shared.tell_of_own_releases(port.pusher());
        }
        let keeper = Keeper::start(&shared, port, undone)?;
        let within = Within { answer: self.answer_within, first_answer: self.connect_within, flush: self.flush_within };
        Ok(Client(Arc::new(Inner::new(shared, hub, keeper, self.options, self.prefix, within))))
    }

    /// A client that has reached its store.
    ///
    /// # Errors
    ///
    /// As [`build`](Builder::build), and [`Unavailable`](ErrorKind::Unavailable) if the store cannot be reached within
    /// `connect_within`, [`Denied`](ErrorKind::Denied) if it does not let us in.
    pub async fn connect(self, store: impl Into<Store>) -> Result<Client, Error> {
        let within = self.connect_within;
        let client = self.build(store)?;
        let reached = client.0.shared.backend.reach(within).await;
        reached.map_err(|error| Error::from_store(None, error))?;
        client.0.shared.heard_from_store();
        Ok(client)
    }
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            label: String::new(),
            prefix: String::new(),
            options: Options::new(),
            answer_within: Duration::from_secs(1),
            connect_within: Duration::from_secs(5),
            flush_within: Duration::from_millis(500),
            required: Vec::new(),
        }
    }
}

impl Client {
    /// A client with the default settings, which reaches for its store when it is first used.
    ///
    /// # Errors
    ///
    /// As [`Builder::build`].
    pub fn new(store: impl Into<Store>) -> Result<Self, Error> {
        Self::builder().build(store)
    }

    /// A client with other settings.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The re-entrant lock on a key.
    ///
    /// # Errors
    ///
    /// [`Invalid`](ErrorKind::Invalid) if the key is empty or too long, or the name of something that the store itself keeps.
    pub fn lock(&self, key: &str) -> Result<Lock, Error> {
        self.lock_of(Kind::Reentrant, key)
    }

    /// The simple lock on a key: cheaper than the re-entrant one, and entered once. Who asks for it again while
    /// holding it, under the same [owner](crate::Owner), is refused instead of waiting for itself.
    ///
    /// # Errors
    ///
    /// As [`lock`](Client::lock).
    pub fn simple(&self, key: &str) -> Result<Lock, Error> {
        self.lock_of(Kind::Simple, key)
    }

    /// The fair lock on a key: the re-entrant lock, first come, first served, across processes.
    ///
    /// # Errors
    ///
    /// As [`lock`](Client::lock).
    pub fn fair(&self, key: &str) -> Result<Lock, Error> {
        self.lock_of(Kind::Fair, key)
    }

    /// The read-write lock on a key: many who read, or one who writes.
    ///
    /// # Errors
    ///
    /// As [`lock`](Client::lock).
    pub fn rw_lock(&self, key: &str) -> Result<RwLock, Error> {
        Ok(RwLock::new(self.lock_of(Kind::Read, key)?, self.lock_of(Kind::Write, key)?))
    }

    /// The re-entrant locks on several keys, held together: all or none. For locks of other kinds, or of other clients, see
    /// [`MultiLock::new`].
    ///
    /// # Errors
    ///
    /// As [`lock`](Client::lock), and if no key is named.
    pub fn multi<K: AsRef<str>>(&self, keys: impl IntoIterator<Item = K>) -> Result<MultiLock, Error> {
        let locks: Vec<Lock> = keys.into_iter().map(|key| self.lock(key.as_ref())).collect::<Result<_, _>>()?;
        MultiLock::new(locks)
    }

    /// The fenced lock on a key: the re-entrant lock, with tokens from a counter of its own, for those who
    /// share tokens with Redisson's. The counter is kept for ever; every other kind has tokens without one. Each of its tokens is
    /// larger than all that this store has handed out before, for whatever kind.
    ///
    /// # Errors
    ///
    /// As [`lock`](Client::lock).
    pub fn fenced(&self, key: &str) -> Result<Lock, Error> {
        self.lock_of(Kind::Fenced, key)
    }

    /// The semaphore on a key: so many at a time are in.
    ///
    /// # Errors
    ///
    /// As [`lock`](Client::lock).
    pub fn semaphore(&self, key: &str) -> Result<Semaphore, Error> {
        Ok(Semaphore::new(&self.0, self.key_of(Kind::Semaphore, key)?))
    }

    /// The semaphore on a key whose permits have names, by which they can be passed on, renewed and given back by anybody.
    ///
    /// # Errors
    ///
    /// As [`lock`](Client::lock).
    pub fn permits(&self, key: &str) -> Result<Permits, Error> {
        Ok(Permits::new(&self.0, self.key_of(Kind::Permits, key)?))
    }

    /// The latch on a key: shut until it was counted down so often.
    ///
    /// # Errors
    ///
    /// As [`lock`](Client::lock).
    pub fn latch(&self, key: &str) -> Result<Latch, Error> {
        Ok(Latch::new(&self.0, self.key_of(Kind::Latch, key)?))
    }

    /// The lock of a kind on a key.
    ///
    /// # Errors
    ///
    /// As [`lock`](Client::lock), and [`Unsupported`](ErrorKind::Unsupported) for a kind that is none: a semaphore has
    /// permits, and a latch is waited for.
    pub fn lock_of(&self, kind: Kind, key: &str) -> Result<Lock, Error> {
        let key = self.key_of(kind, key)?;
        if kind.has_permits() || kind == Kind::Latch {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!("this is no lock, use `client.{kind}` for it: kind={kind}"),
            )
            .about(&key));
        }
        Ok(Lock::new(&self.0, kind, key))
    }

    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.0
    }

    fn key_of(&self, kind: Kind, key: &str) -> Result<Key, Error> {
        let key = self.key(key)?;
        match self.0.shared.backend.refuses(kind) {
            Some(why) => Err(Error::new(ErrorKind::Unsupported, format!("{why}: kind={kind}")).about(&key)),
            None => Ok(key),
        }
    }

    pub(crate) fn key(&self, key: &str) -> Result<Key, Error> {
        // An empty name is a mistake even where a prefix would make a key of it.
        let key = Key::new(key)?;
        let key = if self.0.prefix.is_empty() { key } else { Key::new(&format!("{}{key}", self.0.prefix))? };
        match self.0.shared.backend.refuses_key(&key) {
            Some(why) => Err(Error::invalid(why).about(&key)),
            None => Ok(key),
        }
    }

    /// All held locks whose keys match a pattern (`*` any run, `?` any one character), those of others included.
    /// The client's prefix goes before it and is taken literally.
    ///
    /// # Errors
    ///
    /// [`Unavailable`](ErrorKind::Unavailable) or [`Denied`](ErrorKind::Denied).
    pub async fn list(&self, pattern: &str) -> Result<Vec<Held>, Error> {
        self.0.shared.begin()?;
        let pattern = Pattern::behind(&self.0.prefix, pattern);
        let backend = &self.0.shared.backend;
        let found = backend.list(&pattern, self.0.first_answer_within).await;
        let mut found = found.map_err(|error| Error::from_store(None, error))?;
        found.sort_by(|(one, _), (other, _)| one.cmp(other));
        let mut cards = Cards::default();
        let mut all = Vec::with_capacity(found.len());
        for (key, sight) in found {
            all.extend(Held::of(&self.0, key, sight, &mut cards).await);
        }
        Ok(all)
    }

    /// What happens to this client's locks from now on.
    pub fn events(&self) -> Events {
        self.0.shared.signals.subscribe()
    }

    /// What the store promises.
    pub fn label(&self) -> Label {
        self.0.shared.backend.label()
    }

    /// The id under which the store knows this client: its claims begin with it.
    pub fn id(&self) -> &str {
        &self.0.shared.id
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("id", &self.0.shared.id)
            .field("store", &self.0.shared.backend.label().name)
            .finish_non_exhaustive()
    }
}
