//! What was given up piles up when the store is slower than those who give up: neither memory nor other locks pay for it.

use futures_util::FutureExt;
use futures_util::future::join_all;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tenure_core::{
    Applied, Backend, Batch, Card, Claim, Client, Clock, ErrorKind, Guard, Key, Kind, Label, Memory, Operation,
    Options, Outcome, Pattern, Port, Sight, Step, StoreError, StoreErrorKind, What,
};
use tokio::sync::watch;
use tokio::time::timeout;

/// However busy the machine is.
const SOON: Duration = Duration::from_secs(30);

/// A memory store that answers nothing about some keys for as long as it is slow.
#[derive(Clone)]
struct Store {
    memory: Memory,
    slow: Arc<watch::Sender<bool>>,
    /// Those that it was asked about meanwhile.
    claims: Arc<Mutex<HashSet<Claim>>>,
    /// How many calls had releases in them, and how many there were.
    calls: Arc<AtomicUsize>,
    releases: Arc<AtomicUsize>,
    /// It forgets to answer releases.
    forgets: Arc<AtomicBool>,
    /// How many releases are on their way, and how many were at the most.
    under_way: Arc<Mutex<(usize, usize)>>,
}

struct UnderWay<'a>(&'a Mutex<(usize, usize)>);

impl<'a> UnderWay<'a> {
    fn new(count: &'a Mutex<(usize, usize)>) -> Self {
        let mut under_way = count.lock().unwrap();
        under_way.0 += 1;
        under_way.1 = under_way.1.max(under_way.0);
        Self(count)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.lock().unwrap().0 -= 1;
    }
}

const SLOW: &str = "slow";

impl Store {
    fn new() -> Self {
        let slow = Arc::new(watch::Sender::new(true));
        let (claims, calls, releases, under_way) = (Arc::default(), Arc::default(), Arc::default(), Arc::default());
        let forgets = Arc::default();
        Self { memory: Memory::new(), slow, claims, calls, releases, forgets, under_way }
    }

    fn be_slow(&self, slow: bool) {
        self.slow.send_replace(slow);
    }

    async fn step(&self, step: &Step, within: Duration) -> Result<Outcome, StoreError> {
        let releases = matches!(step.operation, Operation::Release { .. });
        let _under_way = releases.then(|| UnderWay::new(&self.under_way));
        if step.key.as_str().starts_with(SLOW) {
            if let Operation::Acquire { claim, .. } = &step.operation {
                self.claims.lock().unwrap().insert(claim.clone());
            }
            let mut slow = self.slow.subscribe();
            let quick = timeout(within, slow.wait_for(|slow| !slow)).await;
            quick.map_err(|_| StoreError::new(StoreErrorKind::Unanswered, "it is slow"))?.unwrap();
        }
        self.memory.apply(Batch::one(step), within).await?.single()
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
        if batch.steps.iter().any(|step| matches!(step.operation, Operation::Release { .. })) {
            self.calls.fetch_add(1, Ordering::Relaxed);
            self.releases.fetch_add(batch.steps.len(), Ordering::Relaxed);
            if self.forgets.load(Ordering::Relaxed) {
                return Ok(Applied::Each(Vec::new()));
            }
        }
        // What is said of one key is not kept waiting by another.
        Ok(Applied::Each(join_all(batch.steps.iter().map(|step| self.step(step, within))).await))
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

    let mut events = client.events();
    let error = client.fair(SLOW).unwrap().lock_timeout(Duration::from_millis(50)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains("gives up or drops locks faster than the store can be told"), "{error}");
    let mut next = async || timeout(SOON, events.next()).await.expect("its wait is heard of").unwrap().what;
    assert!(matches!(next().await, What::Waiting { .. }));
    assert!(matches!(next().await, What::Waited { .. }));
    // Whoever wants another lock does not pay for it.
    drop(timeout(SOON, client.lock("other").unwrap().try_lock()).await.expect("it is free").unwrap().unwrap());

    store.be_slow(false);
    drop(timeout(SOON, client.fair(SLOW).unwrap().lock()).await.expect("nobody has it").unwrap());
}

/// Guards of keys that begin like this, and one of another.
async fn hold_many(client: &Client, keys: usize) -> Vec<Guard> {
    let mut guards = Vec::with_capacity(keys);
    for number in 0..keys {
        guards.push(client.lock(&format!("{SLOW} {number}")).unwrap().lock_with(for_long()).await.unwrap());
    }
    guards
}

fn for_long() -> Options {
    Options::new().lease(SOON * 10).no_renew()
}

#[tokio::test]
async fn releases_of_dropped_guards_are_sent_together() {
    let store = Store::new();
    store.be_slow(false);
    let client = Client::new(store.clone()).unwrap();
    let guards = hold_many(&client, 1000).await;
    store.be_slow(true);
    drop(guards);
    store.be_slow(false);
    client.close(SOON).await.unwrap();
    assert!(store.memory.list(&Pattern::new("*"), SOON).await.unwrap().is_empty());
    // The first few were begun while guards were dropped.
    let calls = store.calls.load(Ordering::Relaxed);
    assert!(calls < 200, "{calls} calls for 1000 releases");
}

#[tokio::test]
async fn releases_that_hang_keep_no_others_waiting() {
    let store = Store::new();
    store.be_slow(false);
    let (client, other) = (Client::new(store.clone()).unwrap(), Client::new(store.clone()).unwrap());
    let hang = hold_many(&client, 2000).await;
    let healthy = client.lock("k").unwrap().lock_with(for_long()).await.unwrap();
    store.be_slow(true);
    drop(hang);
    drop(healthy);
    // Each of those that hang is waited for a second, and tried again.
    drop(timeout(SOON, other.lock("k").unwrap().lock()).await.expect("it was not released").unwrap());
    // Renewals share the connection with them.
    let (_, most) = *store.under_way.lock().unwrap();
    assert!((100..=4 * 64 + 1).contains(&most), "{most} were on their way at once");
}

#[tokio::test]
async fn however_often_a_hold_is_left_the_store_is_told_once() {
    let store = Store::new();
    store.be_slow(false);
    let client = Client::new(store.clone()).unwrap();
    let guard = client.lock(SLOW).unwrap().lock_with(for_long()).await.unwrap();
    store.be_slow(true);
    for _ in 0..2000 {
        assert!(guard.reenter().now_or_never().is_none(), "it is slow");
    }
    store.be_slow(false);
    let again = timeout(SOON, guard.reenter()).await.expect("the store was told").unwrap();
    again.release().await.unwrap();
    guard.release().await.unwrap();
    client.close(SOON).await.unwrap();
    let releases = store.releases.load(Ordering::Relaxed);
    assert!(releases < 1000, "the store was told {releases} times");
}

#[tokio::test]
async fn a_release_that_the_store_forgets_to_answer_is_sent_again() {
    let store = Store::new();
    let client = Client::new(store.clone()).unwrap();
    let guard = client.lock("k").unwrap().lock_with(for_long()).await.unwrap();
    store.forgets.store(true, Ordering::Relaxed);
    drop(guard);
    let called = async {
        while store.calls.load(Ordering::Relaxed) == 0 {
            tokio::task::yield_now().await;
        }
    };
    timeout(SOON, called).await.expect("it is sent");
    store.forgets.store(false, Ordering::Relaxed);
    client.close(SOON).await.unwrap();
    assert!(store.memory.list(&Pattern::new("*"), SOON).await.unwrap().is_empty());
}
