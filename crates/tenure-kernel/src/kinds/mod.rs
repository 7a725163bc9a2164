//! One file per kind of lock.

use std::fmt;
use std::str::FromStr;

pub mod fair;
pub mod fenced;
pub mod latch;
pub mod read_write;
pub mod reentrant;
pub mod semaphore;
pub mod simple;

/// How a lock behaves: what it lets its holder do, and what it costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Kind {
    /// One claim at a time is in, as often as it likes: [`reentrant`].
    Reentrant,
    /// One claim at a time is in, once: [`simple`].
    Simple,
    /// The re-entrant lock, first come, first served: [`fair`].
    Fair,
    /// To read: with others who do, and with nobody who writes: [`read_write`].
    Read,
    /// To write, alone: [`read_write`].
    Write,
    /// The re-entrant lock, with tokens from a counter of its own: [`fenced`].
    Fenced,
    /// So many at a time are in, first come, first served: [`semaphore`].
    Semaphore,
    /// So many at a time are in, under names that can be passed on: [`semaphore`].
    Permits,
    /// No lock: what is waited for until it was counted down: [`latch`].
    Latch,
}

impl Kind {
    /// Every kind.
    pub const ALL: &[Self] = &[
        Self::Reentrant,
        Self::Simple,
        Self::Fair,
        Self::Read,
        Self::Write,
        Self::Fenced,
        Self::Semaphore,
        Self::Permits,
        Self::Latch,
    ];

    /// What it is called.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reentrant => "reentrant",
            Self::Simple => "simple",
            Self::Fair => "fair",
            Self::Read => "read",
            Self::Write => "write",
            Self::Fenced => "fenced",
            Self::Semaphore => "semaphore",
            Self::Permits => "permits",
            Self::Latch => "latch",
        }
    }

    /// Whether those who want it wait in places of their own, in a line that the store keeps.
    pub const fn has_line(self) -> bool {
        matches!(self, Self::Fair | Self::Read | Self::Write | Self::Semaphore)
    }

    /// Whether one who holds may go in again.
    pub const fn is_reentrant(self) -> bool {
        matches!(self, Self::Reentrant | Self::Fair | Self::Read | Self::Write | Self::Fenced)
    }

    /// Whether it is taken in permits, of which there are several.
    pub const fn has_permits(self) -> bool {
        matches!(self, Self::Semaphore | Self::Permits)
    }

    /// Whether these are two sides of one lock: a key that is held as one may be wanted as the other.
    pub fn goes_with(self, other: Self) -> bool {
        self == other || (self.is_side() && other.is_side())
    }

    /// Whether this is a side of the read-write lock.
    pub const fn is_side(self) -> bool {
        matches!(self, Self::Read | Self::Write)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is no kind's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownKind(String);

impl fmt::Display for UnknownKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no such kind of lock, choose from")?;
        for (at, kind) in Kind::ALL.iter().enumerate() {
            write!(f, "{} {kind}", if at == 0 { "" } else { "," })?;
        }
        write!(f, ": kind=`{}`", self.0)
    }
}

impl std::error::Error for UnknownKind {}

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.iter().find(|kind| kind.name() == name);
        known.copied().ok_or_else(|| UnknownKind(name.to_owned()))
    }
}
