//! What is heard, by subscribers and in the log, of a wait for a store that is slow or silent.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tenure_core::{
    Applied, Backend, Batch, Card, Client, Clock, Error, ErrorKind, Event, Events, Key, Kind, Label, Memory, Operation,
    Options, Pattern, Port, Retry, Sight, StoreError, StoreErrorKind, WaitEnd, What,
};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;
use tracing::Subscriber;
use tracing::instrument::WithSubscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};

/// However busy the machine is.
const SOON: Duration = Duration::from_secs(20);

/// A memory store that is slow.
#[derive(Clone)]
struct Slow {
    memory: Memory,
    /// How often somebody has asked for a lock. Who looks at one is answered when this has risen by [`Slow::LATE`].
    asked: watch::Sender<usize>,
    /// Nobody is answered at all.
    silent: Arc<AtomicBool>,
}

impl Slow {
    const LATE: usize = 3;

    fn new() -> Self {
        Self { memory: Memory::new(), asked: watch::Sender::new(0), silent: Arc::default() }
    }

    fn falls_silent(&self, silent: bool) {
        self.silent.store(silent, Ordering::SeqCst);
    }
}

impl Backend for Slow {
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
        if self.silent.load(Ordering::SeqCst) {
            return Err(StoreError::new(StoreErrorKind::Unreachable, "it is silent"));
        }
        match &batch.steps[0].operation {
            Operation::Acquire { .. } => self.asked.send_modify(|asked| *asked += 1),
            Operation::Inspect => {
                let now = *self.asked.borrow();
                self.asked.subscribe().wait_for(|asked| *asked >= now + Self::LATE).await.unwrap();
            }
            _ => {}
        }
        self.memory.apply(batch, within).await
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

    fn calls_apart(&self, kind: Kind) -> bool {
        self.memory.calls_apart(kind)
    }

    async fn listen(&self, port: Port) {
        self.memory.listen(port).await;
    }
}

/// Tells of every warning.
struct Warnings(Mutex<mpsc::UnboundedSender<()>>);

impl<S: Subscriber> Layer<S> for Warnings {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        if *event.metadata().level() <= tracing::Level::WARN {
            let _ = self.0.lock().unwrap().send(());
        }
    }
}

/// Who polls asks again before the look at the holder is done, again and again.
#[tokio::test]
async fn who_asks_more_often_than_a_look_takes_is_warned_of_all_the_same() {
    let client = Client::new(Slow::new()).unwrap();
    let _held = client.lock("a").unwrap().lock().await.unwrap();
    let (sender, mut warnings) = mpsc::unbounded_channel();
    let log = tracing_subscriber::registry().with(Warnings(Mutex::new(sender)));
    let lock = client.lock("a").unwrap();
    let polls = Options::new().retry(Retry::fixed(Duration::from_millis(5)));
    let polls = polls.warn_waiting_after(Duration::from_millis(50));
    let waiting = async move { drop(lock.lock_with(polls).await) };
    let waiting = tokio::spawn(waiting.with_subscriber(log));
    timeout(SOON, warnings.recv()).await.expect("it is warned of").unwrap();
    waiting.abort();
}

async fn next(events: &mut Events) -> Event {
    timeout(SOON, events.next()).await.expect("it is said").expect("the client lives")
}

/// The next two events are those of a wait that ends so.
async fn assert_wait(events: &mut Events, wanted: WaitEnd) {
    let begin = next(events).await;
    assert!(matches!(begin.what, What::Waiting { holder: None, .. }), "{begin:?}");
    let end = next(events).await;
    assert!(matches!(end.what, What::Waited { end, .. } if end == wanted), "{end:?}");
    assert_eq!(begin.claim, end.claim);
}

fn assert_silent<T>(asked: Result<T, Error>) {
    assert_eq!(asked.err().expect("the store is silent").kind(), ErrorKind::Unavailable);
}

#[tokio::test]
async fn a_wait_for_a_silent_store_is_heard_of_and_one_attempt_is_none() {
    let (store, wait) = (Slow::new(), Duration::from_millis(300));
    let client = Client::new(store.clone()).unwrap();
    client.latch("latch").unwrap().set(1).await.unwrap();
    store.falls_silent(true);
    let mut events = client.events();
    for kind in [Kind::Reentrant, Kind::Fair] {
        let lock = client.lock_of(kind, "a").unwrap();
        assert_silent(lock.try_lock().await);
        assert_silent(lock.lock_timeout(wait).await);
        assert_wait(&mut events, WaitEnd::Failed).await;
    }
    let latch = client.latch("latch").unwrap();
    assert_silent(latch.wait_timeout(Duration::ZERO).await);
    assert_silent(latch.wait_timeout(wait).await);
    assert_wait(&mut events, WaitEnd::Failed).await;
}

#[tokio::test]
async fn an_outage_that_is_ridden_out_is_a_wait_that_is_heard_of() {
    let store = Slow::new();
    let client = Client::new(store.clone()).unwrap();
    client.lock("heard from").unwrap().lock().await.unwrap().release().await.unwrap();
    let mut events = client.events();
    store.falls_silent(true);
    let lock = client.lock("a").unwrap();
    let waiting = tokio::spawn(async move { lock.lock().await.unwrap() });
    let begin = next(&mut events).await;
    assert!(matches!(begin.what, What::Waiting { .. }), "{begin:?}");
    store.falls_silent(false);
    let guard = timeout(SOON, waiting).await.expect("it gets in").unwrap();
    // Whether the end of the wait or the beginning of the hold is told first does not matter.
    let both = [next(&mut events).await.what, next(&mut events).await.what];
    let obtained = |what: &What| matches!(what, What::Waited { end: WaitEnd::Obtained, .. });
    assert!(both.iter().any(obtained), "{both:?}");
    drop(guard);
}

#[tokio::test]
async fn force_is_told_of_with_the_kind_that_was_held() {
    let client = Client::new(Memory::new()).unwrap();
    let _writes = client.rw_lock("a").unwrap().write().lock().await.unwrap();
    let mut events = client.events();
    client.lock("a").unwrap().force_release().await.unwrap().expect("it is held");
    loop {
        let event = next(&mut events).await;
        if let What::Forced { .. } = event.what {
            assert_eq!(event.kind, Kind::Write);
            return;
        }
    }
}
