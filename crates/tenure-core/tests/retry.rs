//! When a policy asks again, on a clock that is moved by hand.

use std::sync::{Arc, Mutex};
use std::time::Duration;
use tenure_core::{
    Applied, Backend, Batch, Card, Client, Clock, ErrorKind, Key, Kind, Label, ManualClock, Memory, Moment, Operation,
    Options, Pattern, Policy, Port, Retry, Sight, StoreError,
};

/// A memory that notes when it is asked for a lock.
#[derive(Clone)]
struct Noting {
    memory: Memory,
    clock: ManualClock,
    asked: Arc<Mutex<Vec<Moment>>>,
}

impl Backend for Noting {
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
        if batch.steps.iter().any(|step| matches!(step.operation, Operation::Acquire { .. })) {
            self.asked.lock().unwrap().push(self.clock.now());
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

/// The pauses between the attempts at a lock that is never free, in whole milliseconds.
async fn pauses(options: Options) -> Vec<u128> {
    let clock = ManualClock::new();
    let memory = Memory::with_clock(clock.clone());
    let forever = Options::new().lease(Options::MAX_LEASE);
    let holder = Client::new(memory.clone()).unwrap().lock("k").unwrap().lock_with(forever).await.unwrap();
    let noting = Noting { memory, clock: clock.clone(), asked: Arc::default() };
    let lock = Client::new(noting.clone()).unwrap().lock("k").unwrap();
    let waiting = tokio::spawn(async move { lock.run_with(options, async { panic!("it was not free") }).await });
    while !waiting.is_finished() {
        // On one thread whoever is woken runs before we do again.
        for _ in 0..4 {
            tokio::task::yield_now().await;
        }
        clock.advance(Duration::from_millis(1));
    }
    assert_eq!(waiting.await.unwrap().unwrap_err().kind(), ErrorKind::Timeout);
    drop(holder);
    let asked = noting.asked.lock().unwrap();
    asked.windows(2).map(|pair| pair[1].since(pair[0]).as_millis()).collect()
}

#[tokio::test]
async fn fixed_pauses_are_exact() {
    let retry = Retry::fixed(Duration::from_millis(100)).times(10);
    assert_eq!(pauses(Options::new().retry(retry)).await, [100; 10]);
}

#[tokio::test]
async fn the_seeds_policy_makes_ten_retries_of_a_tenth_of_a_second_and_a_little() {
    let pauses = pauses(Policy::seed().get_options().clone()).await;
    assert_eq!(pauses.len(), 10);
    assert!(pauses.iter().all(|pause| (100..=150).contains(pause)), "{pauses:?}");
}

#[tokio::test]
async fn exponential_pauses_grow_by_half_to_their_cap() {
    let retry = Retry::exponential(Duration::from_millis(60)).times(14);
    let pauses = pauses(Options::new().retry(retry)).await;
    assert_eq!(pauses.len(), 14);
    let mut grown = 60.0_f64;
    for pause in pauses {
        let least = grown.min(2000.0);
        // The clock goes by whole milliseconds.
        assert!((least.floor()..=least + 51.0).contains(&f64::from(u32::try_from(pause).unwrap())), "{pause} {least}");
        grown *= 1.5;
    }
}

#[tokio::test]
async fn a_wait_ends_the_retries() {
    let retry = Retry::fixed(Duration::from_millis(100)).times(100);
    assert_eq!(pauses(Options::new().retry(retry).wait(Duration::from_millis(350))).await, [100; 3]);
}
