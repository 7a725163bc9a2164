//! The process that something was made in.
//!
//! `fork` copies memory but only the calling thread. In the child there is no thread that renews, the locks of this library
//! may be stuck, and the sockets are the parent's. Whatever has threads or sockets therefore remembers where it was made.

use std::process;

/// The process that something was made in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Origin(u32);

impl Origin {
    /// The calling process.
    pub(crate) fn here() -> Self {
        Self(process::id())
    }

    /// Whether the calling process is the one.
    pub(crate) fn is_here(self) -> bool {
        self == Self::here()
    }

    /// Its process id.
    pub(crate) fn pid(self) -> u32 {
        self.0
    }
}
