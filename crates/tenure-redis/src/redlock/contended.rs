//! Which locks several have wanted of late.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tenure_core::Key;

/// For so long a lock is taken to be contended.
const OF_LATE: Duration = Duration::from_secs(1);
/// So many are remembered before those that are over are looked for.
const MANY: usize = 1024;

/// When each lock was last refused.
#[derive(Default)]
pub(super) struct Contended(Mutex<HashMap<Key, Instant>>);

impl Contended {
    pub(super) fn saw(&self, key: &Key) {
        let (mut all, now) = (self.0.lock().unwrap_or_else(PoisonError::into_inner), Instant::now());
        if all.len() >= MANY {
            all.retain(|_, last| now - *last < OF_LATE);
        }
        all.insert(key.clone(), now);
    }

    pub(super) fn is(&self, key: &Key) -> bool {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(key).is_some_and(|last| last.elapsed() < OF_LATE)
    }
}
