//! What servers are still to be told that did not answer when a lock was given back.
//!
//! A server that hangs, or that cannot be reached, would keep a lock for nobody until its lease ends. It is told as soon as it
//! answers again, by the client's own thread, for as long as the lease may run there.

use super::Node;
use super::given_up::GivenUp;
use futures_util::stream::StreamExt;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tenure_core::{Backend, Claim, Key, Kind, StoreError};
use tokio::sync::Notify;

/// How often it is tried, and how long each attempt may take.
const PAUSE: Duration = Duration::from_millis(500);

/// So many are remembered for one server; what is beyond them ends with its lease.
const MOST: usize = 10_000;

/// What one server is still to be told.
#[derive(Default)]
pub(super) struct Stragglers {
    owed: Mutex<HashMap<(Key, Claim), Owed>>,
    /// Rung when there is something for the first time.
    some: Notify,
}

/// A claim that has left.
#[derive(Clone)]
struct Owed {
    kind: Kind,
    lease: Duration,
    /// Until then it is being told.
    due: Instant,
    /// From then on the lease has ended there.
    until: Instant,
}

impl Stragglers {
    fn lock(&self) -> MutexGuard<'_, HashMap<(Key, Claim), Owed>> {
        self.owed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The server is being told that a claim has left. It answers within this time, or is told again.
    pub(super) fn expect(&self, (kind, key, claim): (Kind, &Key, &Claim), lease: Duration, within: Duration) {
        let now = Instant::now();
        let owed = Owed { kind, lease, due: now + within, until: now + within + lease };
        let mut all = self.lock();
        if all.len() < MOST {
            all.insert((key.clone(), claim.clone()), owed);
        }
        if all.len() == 1 {
            self.some.notify_one();
        }
    }

    /// What came of it.
    pub(super) fn heard<T>(&self, key: &Key, claim: &Claim, answer: &Result<T, StoreError>) {
        let mut all = self.lock();
        let of = (key.clone(), claim.clone());
        match answer {
            Err(error) if error.is_transient() => {
                if let Some(owed) = all.get_mut(&of) {
                    owed.due = Instant::now();
                }
            }
            // It was told, or does not let us.
            _ => {
                all.remove(&of);
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Those that are due.
    fn due(&self) -> Vec<(Key, Claim, Owed)> {
        let now = Instant::now();
        let mut all = self.lock();
        all.retain(|_, owed| now < owed.until);
        let due = all.iter().filter(|(_, owed)| owed.due <= now);
        due.map(|((key, claim), owed)| (key.clone(), claim.clone(), owed.clone())).collect()
    }
}

/// Tells a server what it missed, for as long as the client lives.
pub(super) async fn tell(node: &Node, given_up: &GivenUp) {
    loop {
        if node.stragglers.is_empty() {
            node.stragglers.some.notified().await;
        }
        tokio::time::sleep(PAUSE).await;
        let mut due = node.stragglers.due().into_iter();
        // The first shows whether it answers at all.
        let Some(first) = due.next() else { continue };
        if tell_one(node, given_up, first).await {
            let telling = due.map(|one| tell_one(node, given_up, one));
            let mut rest = futures_util::stream::iter(telling).buffer_unordered(64);
            while rest.next().await.is_some() {}
        }
    }
}

/// Whether it answered.
async fn tell_one(node: &Node, given_up: &GivenUp, (key, claim, owed): (Key, Claim, Owed)) -> bool {
    let leave = given_up.leave(&key, &claim, owed.lease);
    let answer = node.redis.apply_one(owed.kind, &key, &leave, PAUSE).await;
    node.stragglers.heard(&key, &claim, &answer);
    answer.is_ok()
}
