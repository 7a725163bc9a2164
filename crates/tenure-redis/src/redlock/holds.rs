//! What this client holds on a majority, as a server must know it that has forgotten.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tenure_core::{Claim, Key, Token};

/// How long a hold that is over is still known.
const FORGOTTEN: Duration = Duration::from_secs(60);

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
    /// The longest lease that was asked for.
    pub(super) lease: Duration,
    /// From then on it is over, whatever the servers say.
    pub(super) ends: Instant,
    /// It is being given back, and is put into no server any more.
    pub(super) leaves: bool,
    /// On which servers it may be.
    pub(super) on: Vec<bool>,
    /// Whether the request for it may still be on its way to some server, and must not arrive after the release.
    pub(super) on_its_way: bool,
}

impl Held {
    pub(super) fn new(token: Token, under: &[Claim], (lease, ends): (Duration, Instant), on: Vec<bool>) -> Self {
        let under = under.to_vec();
        Self { token, under, count: 1, change: 0, lease, ends, leaves: false, on, on_its_way: true }
    }

    /// It lasts longer.
    pub(super) fn last(&mut self, lease: Duration, ends: Instant) {
        (self.lease, self.ends) = (self.lease.max(lease), self.ends.max(ends));
    }
}

impl Holds {
    fn lock(&self) -> MutexGuard<'_, HashMap<(Key, Claim), Held>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn put(&self, key: &Key, claim: &Claim, held: Held) {
        let mut all = self.lock();
        if all.len() == all.capacity() {
            // Nobody says so of one that was lost. It has been over for long when nothing can come of it any more.
            let now = Instant::now();
            all.retain(|_, held| now < held.ends + FORGOTTEN);
        }
        all.insert((key.clone(), claim.clone()), held);
    }

    /// It is being given back.
    pub(super) fn leave(&self, key: &Key, claim: &Claim) -> Option<Held> {
        self.change(key, claim, |held| held.leaves = true);
        self.get(key, claim)
    }

    /// One that is to last on, and may be put into a server.
    pub(super) fn lasting(&self, key: &Key, claim: &Claim) -> Option<Held> {
        self.get(key, claim).filter(|held| !held.leaves)
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
