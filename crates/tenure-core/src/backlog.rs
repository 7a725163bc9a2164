//! How far the store is behind with what it is to be told.

use crate::janitor::Chore;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tenure_kernel::Key;

/// So many acquires of one lock that were given up may wait until the store is told. A task that keeps giving up faster than the
/// store can be told must not fill the memory, and only those who want the same lock pay for it.
const MOST_GIVEN_UP: usize = 1024;

/// So much in all may wait, releases of dropped guards included. Then everybody waits, so that locks are not left faster than
/// they can be freed.
const MOST: usize = 16 * 1024;

/// How many acquires of each lock were given up of which the store is still to be told.
#[derive(Default)]
pub(crate) struct Backlog(Mutex<HashMap<Key, usize>>);

impl Backlog {
    fn lock(&self) -> MutexGuard<'_, HashMap<Key, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, chore: &Chore) {
        if let Chore::Cancel { key, .. } = chore {
            *self.lock().entry(key.clone()).or_default() += 1;
        }
    }

    pub(crate) fn remove(&self, chore: &Chore) {
        let Chore::Cancel { key, .. } = chore else { return };
        let mut given_up = self.lock();
        if let Some(count) = given_up.get_mut(key) {
            *count -= 1;
            if *count == 0 {
                given_up.remove(key);
            }
        }
    }

    /// Whether whoever wants this lock is to wait, if so much is open in all.
    pub(crate) fn is_full(&self, open: usize, key: &Key) -> bool {
        // Most of the time little is open, and nobody needs the mutex.
        open >= MOST || (open >= MOST_GIVEN_UP && self.lock().get(key).is_some_and(|count| *count >= MOST_GIVEN_UP))
    }
}
