//! Several locks taken at one moment: what is asked of a store, and what it answers.

use crate::StoreError;
use std::time::Duration;
use tenure_kernel::{Claim, Grant, Key, Kind, Operation, Outcome, Stay};

/// One of several locks that are wanted together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// The lock's kind.
    pub kind: Kind,
    /// The lock. No two that are wanted together have the same key.
    pub key: Key,
    /// Who asks: a claim of its own for every lock.
    pub claim: Claim,
    /// The claims that the asker stands under, as in [`Operation::Acquire`].
    pub under: Vec<Claim>,
    /// For how long.
    pub lease: Duration,
}

impl Wanted {
    /// How many locks are taken at one moment at the most: a store does nothing else meanwhile.
    pub const MOST: usize = 420;

    /// The step that takes this one. Nobody stays who asks for several at once: it could stand in one line only.
    pub fn operation(&self) -> Operation {
        let (claim, under) = (self.claim.clone(), self.under.clone());
        Operation::Acquire { claim, under, lease: self.lease, stay: Stay::No }
    }
}

/// What becomes of several locks that are wanted together.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Joint {
    /// All are held now; the grants are in the order in which the locks were named.
    Granted(Vec<Grant>),
    /// None was taken: the one at this place could not be.
    InTheWay {
        /// Which, counted from zero.
        at: usize,
        /// What it answered, if that could be told.
        answer: Result<Outcome, StoreError>,
    },
    /// This store cannot take these at one moment, and has not tried: ask for one after the other.
    OneByOne,
}
