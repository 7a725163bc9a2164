//! Keys that may be free while it is somebody else's turn.

use std::collections::HashMap;
use std::time::Duration;
use tenure_kernel::Key;
use tokio::time::Instant;

/// A release calls the client that has waited longest; others hold back for this long, in case it is not there.
const HOLD_BACK: Duration = Duration::from_millis(5);

/// Keys whose release a backend heard of while it may have been another client's turn.
#[derive(Debug, Default)]
pub struct HeldBack(HashMap<Key, Instant>);

impl HeldBack {
    /// Holds a key back, unless it is already.
    pub fn put(&mut self, key: &Key) {
        self.0.entry(key.clone()).or_insert_with(|| Instant::now() + HOLD_BACK);
    }

    /// It is our turn: the key need not be held back.
    pub fn remove(&mut self, key: &Key) {
        self.0.remove(key);
    }

    /// The next key that was held back for long enough; pending while there is none.
    ///
    /// # Cancel safety
    ///
    /// No key is lost when the future is dropped.
    pub async fn next(&mut self) -> Key {
        let Some((key, at)) = self.0.iter().min_by_key(|(_, at)| **at).map(|(key, at)| (key.clone(), *at)) else {
            return std::future::pending().await;
        };
        tokio::time::sleep_until(at).await;
        self.0.remove(&key);
        key
    }
}
