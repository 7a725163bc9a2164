//! The lines in which this client stands.
//!
//! A lock that is waited for has a line of clients in the store, the longest waiting first, and a release calls the
//! first of them. It may come too late, for anybody may take a free lock; then it stands in line again, in its old place.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tenure_core::{Holder, Key};

/// For each key this client waits for: since when, in server time.
#[derive(Default)]
pub(crate) struct Lines(Mutex<HashMap<Key, u64>>);

impl Lines {
    fn lock(&self) -> MutexGuard<'_, HashMap<Key, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The client was seen off by this holder and waits. Behind a holder that is no Tenure client nobody stands in
    /// line, for it would call nobody.
    pub(crate) fn stand(&self, key: &Key, holder: &Holder) {
        let mut lines = self.lock();
        match (holder.token, holder.held_for) {
            (Some(token), Some(held)) => {
                if !lines.contains_key(key) {
                    let now = token.saturating_add(u64::try_from(held.as_micros()).unwrap_or(u64::MAX));
                    lines.insert(key.clone(), now);
                }
            }
            _ => drop(lines.remove(key)),
        }
    }

    /// The client got the lock and stands in line again for those behind, since this moment of server time.
    pub(crate) fn stand_since(&self, key: &Key, since: u64) {
        self.lock().insert(key.clone(), since);
    }

    /// Since when the client stands in this line, if it does.
    pub(crate) fn since(&self, key: &Key) -> Option<u64> {
        self.lock().get(key).copied()
    }

    /// The client waits no longer.
    pub(crate) fn leave(&self, key: &Key) {
        self.lock().remove(key);
    }
}
