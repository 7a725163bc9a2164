//! What of a client's is over, as stretches of what it ever asked for, so that it takes no more room the more is given up.

use crate::Claim;
use std::fmt;
use std::str::FromStr;

/// One thing that a client asks for: an entry of one of its claims. The numbers of both rise, so that all of them stand in one
/// order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spot {
    /// The number of the claim.
    pub claim: u64,
    /// The number of the entry; [`FIRST_ENTRY`](crate::FIRST_ENTRY) is the acquire itself.
    pub entry: u32,
}

/// Things that one client will not ask for any more: given up, left, or never to be asked for where this is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The first.
    pub since: Spot,
    /// The last, which is over as well.
    pub until: Spot,
}

impl Spot {
    /// An entry of a claim. None if the claim has no number, and was made by another library.
    ///
    /// ```
    /// use tenure_kernel::{Claim, Spot};
    ///
    /// assert_eq!(Spot::of(&Claim::nested("a0b1", 7), 2), Some(Spot { claim: 7, entry: 2 }));
    /// assert_eq!(Spot::of(&Claim::found("a thread of Redisson's"), 0), None);
    /// ```
    pub fn of(claim: &Claim, entry: u32) -> Option<Self> {
        claim.number().map(|claim| Self { claim, entry })
    }
}

impl Span {
    /// This alone.
    pub fn one(spot: Spot) -> Self {
        Self { since: spot, until: spot }
    }

    /// Whether this is over.
    pub fn has(&self, spot: Spot) -> bool {
        self.since <= spot && spot <= self.until
    }

    /// The two as one, if they have something in common.
    pub(crate) fn joined(self, other: Self) -> Option<Self> {
        let meets = self.since <= other.until && other.since <= self.until;
        meets.then(|| Self { since: self.since.min(other.since), until: self.until.max(other.until) })
    }
}

impl fmt::Display for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.claim, self.entry)
    }
}

impl FromStr for Spot {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (claim, entry) = text.split_once('/').ok_or(())?;
        Ok(Self { claim: claim.parse().map_err(drop)?, entry: entry.parse().map_err(drop)? })
    }
}
