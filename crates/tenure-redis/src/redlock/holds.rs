//! What this client holds on a majority, as a server must know it that has forgotten.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tenure_core::{Claim, Key, Token};

/// What this client holds.
#[derive(Default)]
pub(super) struct Holds(Mutex<HashMap<(Key, Claim), Held>>);

/// A hold.
#[derive(Clone)]
pub(super) struct Held {
    pub(super) token: Token,
    /// The claims it stands under.
    pub(super) under: Vec<Claim>,
    pub(super) count: u32,
    pub(super) change: u32,
    /// From then on it is over, whatever the servers say.
    pub(super) ends: Instant,
    /// On which servers it may be.
    pub(super) on: Vec<bool>,
    /// Whether the request for it may still be on its way to some server, and must not arrive after the release.
    pub(super) on_its_way: bool,
}

impl Held {
    pub(super) fn new(token: Token, under: &[Claim], ends: Instant, on: Vec<bool>) -> Self {
        Self { token, under: under.to_vec(), count: 1, change: 0, ends, on, on_its_way: true }
    }
}

impl Holds {
    fn lock(&self) -> MutexGuard<'_, HashMap<(Key, Claim), Held>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn put(&self, key: &Key, claim: &Claim, held: Held) {
        self.lock().insert((key.clone(), claim.clone()), held);
    }

    /// Every server has answered.
    pub(super) fn arrived(&self, key: &Key, claim: &Claim) {
        self.change(key, claim, |held| held.on_its_way = false);
    }

    /// A server did not let it in.
    pub(super) fn is_not_on(&self, key: &Key, claim: &Claim, at: usize) {
        self.change(key, claim, |held| held.on[at] = false);
    }

    pub(super) fn get(&self, key: &Key, claim: &Claim) -> Option<Held> {
        self.lock().get(&(key.clone(), claim.clone())).cloned()
    }

    pub(super) fn change(&self, key: &Key, claim: &Claim, change: impl FnOnce(&mut Held)) {
        if let Some(held) = self.lock().get_mut(&(key.clone(), claim.clone())) {
            change(held);
        }
    }

    pub(super) fn remove(&self, key: &Key, claim: &Claim) {
        self.lock().remove(&(key.clone(), claim.clone()));
    }
}
