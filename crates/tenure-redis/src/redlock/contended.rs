//! Which locks several have wanted of late, and whose votes are in the way since when.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tenure_core::{Claim, Key};

/// For so long a lock is taken to be contended.
const OF_LATE: Duration = Duration::from_secs(1);

/// What was seen of each lock when it was last refused.
#[derive(Default)]
pub(super) struct Contended(Mutex<HashMap<Key, Seen>>);

struct Seen {
    last: Instant,
    /// Who was in the way, and since when as far as this client knows. What servers say of it goes by their clocks, and by
    /// tokens that may be ahead of them.
    rivals: Vec<(Claim, Instant)>,
}

impl Contended {
    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Seen>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It was refused because of these; for how long the youngest of them has been in the way.
    pub(super) fn saw<'a>(&self, key: &Key, claims: impl Iterator<Item = &'a Claim>) -> Duration {
        let (mut all, now) = (self.lock(), Instant::now());
        if all.len() == all.capacity() && !all.contains_key(key) {
            all.retain(|_, seen| now - seen.last < OF_LATE);
        }
        let seen = all.entry(key.clone()).or_insert_with(|| Seen { last: now, rivals: Vec::new() });
        let since =
            |claim: &Claim| seen.rivals.iter().find(|(known, _)| known == claim).map_or(now, |(_, since)| *since);
        seen.rivals = claims.map(|claim| (claim.clone(), since(claim))).collect();
        seen.last = now;
        seen.rivals.iter().map(|(_, since)| now - *since).min().unwrap_or_default()
    }

    /// Whether it was refused of late.
    pub(super) fn is(&self, key: &Key) -> bool {
        self.lock().get(key).is_some_and(|seen| seen.last.elapsed() < OF_LATE)
    }
}
