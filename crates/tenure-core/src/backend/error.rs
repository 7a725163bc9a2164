//! What went wrong in a store, and what a caller can make of it.

use std::fmt;
use tenure_kernel::Vote;

/// Why a store did not do as it was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreError {
    /// What a caller can make of it.
    pub kind: StoreErrorKind,
    /// What happened, without secrets.
    pub message: String,
    /// What each server said, where a majority of several keeps the lock. The message says it too.
    pub votes: Vec<Vote>,
}

/// What a caller can make of a [`StoreError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// Nothing was sent, or the store said that it cannot now: try again later.
    Unreachable,
    /// It was sent and no answer came: it may have been done. Ask again.
    Unanswered,
    /// The store does not let us.
    Denied,
    /// The key is in use for something else.
    Conflict,
    /// The store cannot do this at all.
    Unsupported,
    /// An answer that makes no sense.
    Unexpected,
}

impl StoreError {
    /// An error of this kind.
    pub fn new(kind: StoreErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), votes: Vec::new() }
    }

    /// With what each server said, which becomes part of the message.
    #[must_use]
    pub fn with_votes(self, votes: Vec<Vote>) -> Self {
        Self { message: format!("{}: {}", self.message, Vote::told(&votes)), votes, ..self }
    }

    /// Whether the same request may succeed later.
    pub fn is_transient(&self) -> bool {
        matches!(self.kind, StoreErrorKind::Unreachable | StoreErrorKind::Unanswered)
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for StoreError {}
