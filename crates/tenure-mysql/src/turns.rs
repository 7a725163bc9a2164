//! The order of what one client asks about one lock: each request is done before the next one begins.
//!
//! A release that overtook the end of its own acquire would find nothing to let go of, and the row would stay locked.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tenure_core::Key;
use tokio::sync::OwnedMutexGuard;

/// A turn for each lock that is being asked about.
#[derive(Default)]
pub(crate) struct Turns(Mutex<HashMap<Key, Arc<tokio::sync::Mutex<()>>>>);

/// To be kept for as long as the request lasts.
pub(crate) struct Turn {
    turns: Arc<Turns>,
    key: Key,
    guard: Option<OwnedMutexGuard<()>>,
}

impl Turns {
    /// Waits for one's turn.
    pub(crate) async fn take(self: &Arc<Self>, key: &Key) -> Turn {
        let turn = {
            let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(turns.entry(key.clone()).or_default())
        };
        Turn { guard: Some(turn.lock_owned().await), turns: Arc::clone(self), key: key.clone() }
    }

    /// The turns of several locks, in an order that is everybody's.
    pub(crate) async fn take_all<'a>(self: &Arc<Self>, keys: impl Iterator<Item = &'a Key>) -> Vec<Turn> {
        let mut keys: Vec<&Key> = keys.collect();
        keys.sort();
        let mut turns = Vec::with_capacity(keys.len());
        for key in keys {
            turns.push(self.take(key).await);
        }
        turns
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        drop(self.guard.take());
        let mut turns = self.turns.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever waits for it has a handle as well.
        if turns.get(&self.key).is_some_and(|turn| Arc::strong_count(turn) == 1) {
            turns.remove(&self.key);
        }
    }
}
