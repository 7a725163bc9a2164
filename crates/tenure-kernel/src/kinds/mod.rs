//! One file per kind of lock.

use std::fmt;
use std::str::FromStr;

pub mod reentrant;
pub mod simple;

/// How a lock behaves: what it lets its holder do, and what it costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Kind {
    /// One claim at a time is in, as often as it likes: [`reentrant`].
    Reentrant,
    /// One claim at a time is in, once: [`simple`].
    Simple,
}

impl Kind {
    /// Every kind.
    pub const ALL: &[Self] = &[Self::Reentrant, Self::Simple];

    /// What it is called.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reentrant => "reentrant",
            Self::Simple => "simple",
        }
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
