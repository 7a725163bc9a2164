//! The one error, with a few kinds that a caller would react to differently.

use crate::length::Spoken;
use crate::origin::Origin;
use crate::{Card, StoreError, StoreErrorKind};
use std::fmt;
use std::time::Duration;
use tenure_kernel::{Holder, InvalidKey, Key, Kind, Vote};

/// What went wrong, for a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Another holder kept the lock for as long as we were willing to wait.
    Timeout,
    /// The lock was held and is not any more.
    Lost,
    /// Whether it was done could not be learned; it is being cleaned up.
    Unknown,
    /// The store cannot be reached, this client was closed, or it belongs to the process that this one was forked from.
    Unavailable,
    /// The store cannot do this, or does not promise it.
    Unsupported,
    /// The request makes no sense; nothing was sent.
    Invalid,
    /// The store does not let us.
    Denied,
    /// The key is in use for something else.
    Conflict,
    /// A fault in the store or in this library.
    Unexpected,
}

/// Why a lock operation failed. The message says what to do.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tenure_core::Error> {
/// use std::time::Duration;
/// use tenure_core::{Client, ErrorKind, Memory};
///
/// let client = Client::new(Memory::new())?;
/// let lock = client.lock("deploy")?;
/// let _held = lock.lock().await?;
/// let error = lock.lock_timeout(Duration::from_millis(20)).await.unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Timeout);
/// assert!(error.to_string().contains("deploy"));
/// assert!(error.holder().is_some());
/// # Ok(()) }
/// ```
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    message: String,
    key: Option<Key>,
    holder: Option<Holder>,
    card: Option<Card>,
    votes: Vec<Vote>,
    source: Option<StoreError>,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let (key, holder, card, votes, source) = (None, None, None, Vec::new(), None);
        Self(Box::new(Inner { kind, message: message.into(), key, holder, card, votes, source }))
    }

    /// A request that makes no sense: what is wrong with which value, and what to do.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, message)
    }

    pub(crate) fn closed() -> Self {
        Self::new(ErrorKind::Unavailable, "this client was closed: connect a new one")
    }

    pub(crate) fn forked(origin: Origin) -> Self {
        Self::new(
            ErrorKind::Unavailable,
            format!(
                "this client belongs to the process that this one was forked from: connect a new client after the fork: \
                 its process={} this process={}",
                origin.pid(),
                std::process::id()
            ),
        )
    }

    pub(crate) fn lost(key: &Key, why: impl fmt::Display) -> Self {
        Self::new(ErrorKind::Lost, format!("the lock was lost, stop what it protects: {why}")).about(key)
    }

    pub(crate) fn timeout(
        (kind, key): (Kind, &Key),
        waited: Duration,
        (holder, card): (Option<Holder>, Option<Card>),
        votes: Vec<Vote>,
    ) -> Self {
        let what = match (kind.has_permits(), &holder) {
            (false, _) => "the lock was not free in time, try again later or wait longer",
            (true, Some(_)) => "there were too few permits in time, try again later or wait longer",
            (true, None) => "there were too few permits in time although nobody has any, check how many there are",
        };
        let mut error = Self::new(ErrorKind::Timeout, format!("{what}: waited={}", Spoken(waited))).about(key);
        error.0.holder = holder;
        error.0.card = card;
        error.0.votes = votes;
        error
    }

    pub(crate) fn from_store(key: Option<&Key>, error: StoreError) -> Self {
        let kind = match error.kind {
            StoreErrorKind::Unreachable | StoreErrorKind::Unanswered => ErrorKind::Unavailable,
            StoreErrorKind::Denied => ErrorKind::Denied,
            StoreErrorKind::Conflict => ErrorKind::Conflict,
            StoreErrorKind::Unsupported => ErrorKind::Unsupported,
            StoreErrorKind::Unexpected => ErrorKind::Unexpected,
        };
        let mut made = Self::new(kind, error.message.clone());
        made.0.key = key.cloned();
        made.0.votes.clone_from(&error.votes);
        made.0.source = Some(error);
        made
    }

    pub(crate) fn about(mut self, key: &Key) -> Self {
        self.0.key = Some(key.clone());
        self
    }

    /// What a caller can make of it.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The lock it is about.
    pub fn key(&self) -> Option<&Key> {
        self.0.key.as_ref()
    }

    /// Who holds the lock, as far as it is known.
    pub fn holder(&self) -> Option<&Holder> {
        self.0.holder.as_ref()
    }

    /// What each server said, in the order of the URL, where a majority of several keeps the lock; nothing elsewhere.
    pub fn votes(&self) -> &[Vote] {
        &self.0.votes
    }

    /// Where the holder lives, as far as it is known.
    pub fn holder_card(&self) -> Option<&Card> {
        self.0.card.as_ref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        if let Some(key) = &self.0.key {
            write!(f, " key=`{key}`")?;
        }
        if let Some(holder) = &self.0.holder {
            match &self.0.card {
                Some(card) => write!(f, " holder=`{card}`")?,
                None => write!(f, " holder=`{}`", holder.claim)?,
            }
            if let Some(held) = holder.held_for {
                write!(f, " held_for={}", Spoken(held))?;
            }
        }
        // What came from the store says so itself.
        if self.0.source.is_none() && !self.0.votes.is_empty() {
            write!(f, " servers=`{}`", Vote::told(&self.0.votes))?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.0.kind)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|source| source as _)
    }
}

impl From<InvalidKey> for Error {
    fn from(error: InvalidKey) -> Self {
        Self::invalid(error.to_string())
    }
}
