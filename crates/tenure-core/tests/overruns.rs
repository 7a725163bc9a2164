//! A bounded wait ends by its bound, whatever the store does then: for all that is asked after it there is little time.

use std::sync::{Arc, Mutex};
use std::time::Duration;
use tenure_core::{
    Applied, Backend, Batch, Card, Client, Clock, ErrorKind, Key, Kind, Label, ManualClock, Memory, Moment, MultiLock,
    Operation, Options, Pattern, Port, Sight, StoreError, StoreErrorKind,
};
use tokio::task::JoinHandle;

const WAIT: Duration = Duration::from_secs(3);
const STEP: Duration = Duration::from_millis(10);
/// Whoever asks who is in the way, and gives back what it had, has so long for both.
const OVERRUN: Duration = Duration::from_millis(200);

/// How long an answer takes, to which operations.
type Slow = fn(&Operation) -> Option<Duration>;

/// A memory store that is slow on demand, by a clock that is moved by hand.
#[derive(Clone)]
struct Store {
    memory: Memory,
    clock: ManualClock,
    slow: Arc<Mutex<Slow>>,
}

impl Store {
    fn new() -> Self {
        let clock = ManualClock::new();
        Self { memory: Memory::with_clock(clock.clone()), clock, slow: Arc::new(Mutex::new(|_| None)) }
    }

    fn be_slow(&self, slow: Slow) {
        *self.slow.lock().unwrap() = slow;
    }

    async fn answer(&self, operation: &Operation, within: Duration) -> Result<(), StoreError> {
        let slow = *self.slow.lock().unwrap();
        let Some(takes) = slow(operation) else { return Ok(()) };
        let clock = self.memory.clock();
        clock.sleep_until(clock.now().plus(takes.min(within))).await;
        if takes < within { Ok(()) } else { Err(StoreError::new(StoreErrorKind::Unanswered, "it is slow")) }
    }

    /// Until those who can go on have done so.
    async fn settle() {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }

    async fn until(&self, end: Moment) {
        while self.clock.now() < end {
            self.clock.advance(STEP);
            Self::settle().await;
        }
    }

    /// How much longer than until then it takes, by the clock of all.
    async fn overrun<T>(&self, end: Moment, waiting: JoinHandle<T>) -> (Duration, T) {
        self.until(end).await;
        while !waiting.is_finished() {
            self.until(self.clock.now().plus(STEP)).await;
        }
        (self.clock.now().since(end), waiting.await.unwrap())
    }
}

fn just_before(end: Moment) -> Moment {
    Moment::at(end.since_zero().saturating_sub(STEP))
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
        self.answer(&batch.steps[0].operation, within).await?;
        self.memory.apply(batch, within).await
    }

    async fn list(&self, pattern: &Pattern, within: Duration) -> Result<Vec<(Key, Sight)>, StoreError> {
        self.memory.list(pattern, within).await
    }

    async fn announce(&self, client: &str, card: &Card, keep: Duration, within: Duration) -> Result<(), StoreError> {
        self.memory.announce(client, card, keep, within).await
    }

    async fn look_up(&self, client: &str, within: Duration) -> Result<Option<Card>, StoreError> {
        self.answer(&Operation::Inspect, within).await?;
        self.memory.look_up(client, within).await
    }

    fn calls_apart(&self, kind: Kind) -> bool {
        self.memory.calls_apart(kind)
    }

    async fn listen(&self, port: Port) {
        self.memory.listen(port).await;
    }
}

/// Those behind the first of this client's never come to ask, and want to know who holds it.
#[tokio::test]
async fn who_never_came_to_ask_is_told_soon() {
    let store = Store::new();
    let (holder, client) = (Client::new(store.clone()).unwrap(), Client::new(store.clone()).unwrap());
    let _guard = holder.lock("k").unwrap().lock().await.unwrap();
    let endless = client.lock("k").unwrap();
    let _first = tokio::spawn(async move { endless.lock().await });
    Store::settle().await;
    let (end, lock) = (store.clock.now().plus(WAIT), client.lock("k").unwrap());
    let waiting = tokio::spawn(async move { lock.lock_timeout(WAIT).await.map(drop).unwrap_err() });
    store.until(just_before(end)).await;
    store.be_slow(|_| Some(Duration::from_millis(90)));
    let (over, error) = store.overrun(end, waiting).await;
    assert!(over <= OVERRUN / 2 + 2 * STEP, "{over:?}");
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    assert!(error.holder().is_some(), "{error}");
}

/// One of a set is held when the wait for the next one ends, and to give it back takes long.
#[tokio::test]
async fn a_set_is_given_back_in_the_background() {
    let store = Store::new();
    let (holder, client) = (Client::new(store.clone()).unwrap(), Client::new(store.clone()).unwrap());
    let _guard = holder.lock("b").unwrap().lock().await.unwrap();
    let set = MultiLock::new([client.lock("a").unwrap(), client.lock("b").unwrap()]).unwrap();
    let end = store.clock.now().plus(WAIT);
    let waiting = tokio::spawn(async move { set.lock_timeout(WAIT).await.map(drop).unwrap_err() });
    store.until(just_before(end)).await;
    store.be_slow(|_| Some(Duration::from_secs(60)));
    let (over, error) = store.overrun(end, waiting).await;
    assert!(over <= OVERRUN + 2 * STEP, "{over:?}");
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
}

/// A set whose leases end by themselves has them renewed when the last is held.
#[tokio::test]
async fn a_set_is_not_renewed_for_longer_than_is_waited() {
    let store = Store::new();
    let (holder, client) = (Client::new(store.clone()).unwrap(), Client::new(store.clone()).unwrap());
    let guard = holder.lock("b").unwrap().lock().await.unwrap();
    let set = MultiLock::new([client.lock("a").unwrap(), client.lock("b").unwrap()]).unwrap();
    let end = store.clock.now().plus(WAIT);
    let options = Options::new().no_renew().wait(WAIT);
    let waiting = tokio::spawn(async move { set.lock_with(options).await.map(drop).unwrap_err() });
    store.until(store.clock.now().plus(WAIT / 2)).await;
    store.be_slow(|asked| matches!(asked, Operation::Renew { .. }).then_some(Duration::from_secs(60)));
    guard.release().await.unwrap();
    let (over, error) = store.overrun(end, waiting).await;
    assert!(over <= OVERRUN + 2 * STEP, "{over:?}");
    assert!(matches!(error.kind(), ErrorKind::Timeout | ErrorKind::Unavailable), "{error}");
    assert!(!client.lock("a").unwrap().is_locked().await.unwrap());
}
