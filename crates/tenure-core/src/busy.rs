//! Which locks somebody else was seen to have, and when: a wait that ends without an answer of its own is one for a busy lock only
//! if somebody of this client was told so.

use crate::Moment;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tenure_kernel::Key;

/// When each lock was last seen to be busy.
#[derive(Default)]
pub(crate) struct Busy(Mutex<HashMap<Key, Moment>>);

/// Who waits asks at least once a second.
const KEPT: Duration = Duration::from_secs(60);

impl Busy {
    /// The store has said that somebody else has the lock, or comes first.
    pub(crate) fn saw(&self, key: &Key, now: Moment) {
        let mut seen = self.lock();
        if let Some(last) = seen.get_mut(key) {
            *last = now;
            return;
        }
        if seen.len() == seen.capacity() {
            seen.retain(|_, last| now.since(*last) < KEPT);
        }
        seen.insert(key.clone(), now);
    }

    /// Whether it has since then.
    pub(crate) fn was_seen_since(&self, key: &Key, then: Moment) -> bool {
        self.lock().get(key).is_some_and(|last| *last >= then)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Moment>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
