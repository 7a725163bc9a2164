//! The lines in which this client stands.
//!
//! A lock that is waited for has a line of clients in the store, the longest waiting first, and a release calls the
//! first of them. It may come too late, for anybody may take a free lock; then it stands in line again, in its old place.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tenure_core::{Busy, Holder, Key, Kind, Outcome, Stay};

/// For each key this client waits for: since when, in server time.
#[derive(Default)]
pub(crate) struct Lines(Mutex<HashMap<Key, u64>>);

impl Lines {
    fn lock(&self) -> MutexGuard<'_, HashMap<Key, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What an acquire's answer, given at `now` by the server's time, means for where the client stands.
    pub(crate) fn heed(&self, kind: Kind, key: &Key, stay: Stay, outcome: &Outcome, now: Option<u64>) {
        match (stay, outcome) {
            // It got the lock, and stands in line again for those behind it. A token that tells nothing of time leaves it to
            // the server where that is.
            (Stay::Waited { more: true }, Outcome::Granted(grant)) if kind != Kind::Fenced => {
                self.lock().insert(key.clone(), grant.token);
            }
            (Stay::Waited { .. }, Outcome::Granted(_)) => self.leave(key),
            (Stay::Waits | Stay::Waited { .. }, Outcome::Busy(Busy { holder: Some(holder), .. })) => {
                self.stand(key, holder, now);
            }
            _ => {}
        }
    }

    /// The client was seen off by this holder and waits. Behind a holder that is no Tenure client nobody stands in
    /// line, for it would call nobody.
    fn stand(&self, key: &Key, holder: &Holder, now: Option<u64>) {
        let mut lines = self.lock();
        match (holder.token, now) {
            (Some(_), Some(now)) => drop(lines.entry(key.clone()).or_insert(now)),
            _ => drop(lines.remove(key)),
        }
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
