//! What was given up piles up when the store is slower than those who give up: neither memory nor other locks pay for it.

use futures_util::FutureExt;
use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tenure_core::{
    Applied, Backend, Batch, Card, Claim, Client, Clock, ErrorKind, Key, Kind, Label, Memory, Operation, Options,
    Pattern, Port, Sight, StoreError, StoreErrorKind,
};
use tokio::sync::watch;
use tokio::time::timeout;

/// However busy the machine is.
const SOON: Duration = Duration::from_secs(30);

/// A memory store that answers nothing about one key for as long as it is slow.
#[derive(Clone)]
struct Store {
    memory: Memory,
    slow: Arc<watch::Sender<bool>>,
    /// Those that it was asked about meanwhile.
    claims: Arc<Mutex<HashSet<Claim>>>,
}

const SLOW: &str = "slow";

impl Store {
    fn new() -> Self {
        Self { memory: Memory::new(), slow: Arc::new(watch::Sender::new(true)), claims: Arc::default() }
    }

    fn claims(&self) -> usize {
        self.claims.lock().unwrap().len()
    }
}

impl Backend for Store {
    fn label(&self) -> Label {
        self.memory.label()
    }

    fn address(&self) -> String {
        self.memory.address()
    }

    fn clock(&self) -> Clock {
        self.memory.clock()
    }

    async fn reach(&self, within: Duration) -> Result<(), StoreError> {
        self.memory.reach(within).await
    }

    async fn apply(&self, batch: Batch<'_>, within: Duration) -> Result<Applied, StoreError> {
        for step in batch.steps.iter().filter(|step| step.key.as_str() == SLOW) {
            if let Operation::Acquire { claim, .. } = &step.operation {
                self.claims.lock().unwrap().insert(claim.clone());
            }
            let mut slow = self.slow.subscribe();
            let quick = timeout(within, slow.wait_for(|slow| !slow)).await;
            quick.map_err(|_| StoreError::new(StoreErrorKind::Unanswered, "it is slow"))?.unwrap();
        }
        self.memory.apply(batch, within).await
    }

    fn calls_apart(&self, kind: Kind) -> bool {
        self.memory.calls_apart(kind)
    }

    async fn list(&self, pattern: &Pattern, within: Duration) -> Result<Vec<(Key, Sight)>, StoreError> {
        self.memory.list(pattern, within).await
    }

    async fn announce(&self, client: &str, card: &Card, keep: Duration, within: Duration) -> Result<(), StoreError> {
        self.memory.announce(client, card, keep, within).await
    }

    async fn look_up(&self, client: &str, within: Duration) -> Result<Option<Card>, StoreError> {
        self.memory.look_up(client, within).await
    }

    async fn listen(&self, port: Port) {
        self.memory.listen(port).await;
    }
}

/// Asks for the slow lock this often, and gives up as soon as the request is sent.
fn give_up(client: &Client, times: usize) {
    let lock = client.fair(SLOW).unwrap();
    for _ in 0..times {
        assert!(lock.lock().now_or_never().is_none(), "it is slow");
    }
}

#[tokio::test]
async fn a_dropped_guard_does_not_wait_for_all_that_was_given_up() {
    let store = Store::new();
    let (client, other) = (Client::new(store.clone()).unwrap(), Client::new(store).unwrap());
    let for_long = Options::new().lease(SOON * 10);
    let guard = client.lock("k").unwrap().lock_with(for_long).await.unwrap();
    give_up(&client, 1000);
    drop(guard);
    // Each of the thousand is tried for a second, and tried again.
    drop(timeout(SOON, other.lock("k").unwrap().lock()).await.expect("it was not released").unwrap());
}

#[tokio::test]
async fn what_is_given_up_is_bounded() {
    let store = Store::new();
    let client = Client::new(store.clone()).unwrap();
    give_up(&client, 20_000);
    assert!(store.claims() < 2_000, "{} claims are to be given up", store.claims());

    let other = client.lock("other").unwrap();
    let error = other.lock_timeout(Duration::from_millis(50)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains("gives up waits faster than the store can be told"), "{error}");

    store.slow.send_replace(false);
    drop(timeout(SOON, other.lock()).await.expect("the store was told").unwrap());
    drop(timeout(SOON, client.fair(SLOW).unwrap().lock()).await.expect("nobody has it").unwrap());
}
