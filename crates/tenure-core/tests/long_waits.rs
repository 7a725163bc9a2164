//! A wait that is long is written of, with what somebody needs to find out why.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tenure_core::{Client, Error, Guard, Lock, ManualClock, Memory, Options, Owner, What};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tracing::field::{Field, Visit};
use tracing::instrument::WithSubscriber;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};

/// However busy the machine is.
const SOON: Duration = Duration::from_secs(60);

/// A warning: its fields by name, the words as `message`.
#[derive(Debug, Default)]
struct Warning(HashMap<&'static str, String>);

impl Visit for Warning {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}

/// Hands on all warnings.
struct Warnings(Mutex<mpsc::UnboundedSender<Warning>>);

impl<S: Subscriber> Layer<S> for Warnings {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if *event.metadata().level() <= Level::INFO {
            let mut warning = Warning::default();
            event.record(&mut warning);
            self.0.lock().unwrap().send(warning).unwrap();
        }
    }
}

/// Waits in vain, and what is warned of meanwhile.
struct Waits {
    log: Arc<dyn Subscriber + Send + Sync>,
    heard: mpsc::UnboundedReceiver<Warning>,
    tasks: JoinSet<()>,
}

impl Waits {
    fn new() -> Self {
        let (sender, heard) = mpsc::unbounded_channel();
        let log = tracing_subscriber::registry().with(Warnings(Mutex::new(sender)));
        Self { log: Arc::new(log), heard, tasks: JoinSet::new() }
    }

    fn wait(&mut self, lock: Lock, options: Options) {
        self.for_end_of(async move { lock.lock_with(options).await.map(drop).expect("it only waits") });
    }

    fn for_end_of(&mut self, waiting: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(waiting.with_subscriber(Arc::clone(&self.log)));
    }

    async fn warning(&mut self) -> Warning {
        tokio::time::timeout(SOON, self.heard.recv()).await.expect("it is warned of").unwrap()
    }
}

fn soon() -> Options {
    Options::new().warn_waiting_after(Duration::from_millis(50))
}

async fn hold(client: &Client, key: &str) -> Result<Guard, Error> {
    client.lock(key)?.lock().await
}

#[tokio::test]
async fn who_waits_for_its_own_process_is_told_so_and_what_to_do() {
    let client = Client::builder().label("shop").build(Memory::new()).unwrap();
    let (stock, _order) = (hold(&client, "stock").await.unwrap(), hold(&client, "order").await.unwrap());
    let mut waits = Waits::new();
    waits.wait(client.lock("stock").unwrap(), soon());
    let warning = waits.warning().await;
    let field = |name: &str| warning.0[name].as_str();
    assert_eq!(field("key"), "stock");
    assert!(field("message").contains("this very process holds it"), "{warning:?}");
    assert!(field("message").contains("Options::owner"), "{warning:?}");
    assert!(field("holder").contains(stock.claim().as_str()), "{warning:?}");
    assert!(field("holder").contains("shop on "), "{warning:?}");
    assert!(["\"stock order\"", "\"order stock\""].contains(&field("held_here")), "{warning:?}");
}

#[tokio::test]
async fn another_client_of_the_process_is_known_as_well() {
    let store = Memory::new();
    let (one, other) = (Client::new(store.clone()).unwrap(), Client::new(store).unwrap());
    let _held = hold(&one, "a").await.unwrap();
    let mut waits = Waits::new();
    waits.wait(other.lock("a").unwrap(), soon());
    let warning = waits.warning().await;
    assert!(warning.0["message"].contains("this very process holds it"), "{warning:?}");
}

/// Most of them wait in the client's own queue.
#[tokio::test]
async fn of_many_who_wait_for_one_lock_one_is_written_of() {
    let clock = ManualClock::new();
    let client = Client::new(Memory::with_clock(clock.clone())).unwrap();
    let _held = [hold(&client, "a").await.unwrap(), hold(&client, "b").await.unwrap()];
    let (mut waits, mut events) = (Waits::new(), client.events());
    for _ in 0..50 {
        waits.wait(client.lock("a").unwrap(), Options::new());
    }
    waits.wait(client.lock("b").unwrap(), Options::new().warn_waiting_after(Options::LONG_WAIT * 3 / 2));
    for _ in 0..51 {
        while !matches!(events.next().await.unwrap().what, What::Waiting { .. }) {}
    }
    clock.advance(Options::LONG_WAIT);
    assert_eq!(waits.warning().await.0["key"], "a");
    clock.advance(Options::LONG_WAIT / 2);
    assert_eq!(waits.warning().await.0["key"], "b");
}

/// Whoever asks the store for it would be warned much later.
#[tokio::test]
async fn who_waits_in_the_queue_of_its_client_is_written_of_as_soon_as_it_says() {
    let client = Client::new(Memory::new()).unwrap();
    let _held = hold(&client, "a").await.unwrap();
    let (mut waits, mut events) = (Waits::new(), client.events());
    waits.wait(client.lock("a").unwrap(), Options::new().warn_waiting_after(SOON * 10));
    while !matches!(events.next().await.unwrap().what, What::Waiting { .. }) {}
    waits.wait(client.lock("a").unwrap(), soon());
    assert_eq!(waits.warning().await.0["key"], "a");
}

/// The one that was written of first may have given up since: then nobody would hear of the one that waits for ever.
#[tokio::test]
async fn the_others_who_wait_for_it_are_written_of_later() {
    let clock = ManualClock::new();
    let client = Client::new(Memory::with_clock(clock.clone())).unwrap();
    let _held = hold(&client, "a").await.unwrap();
    let (mut waits, mut events) = (Waits::new(), client.events());
    for _ in 0..2 {
        waits.wait(client.lock("a").unwrap(), Options::new());
    }
    for _ in 0..2 {
        while !matches!(events.next().await.unwrap().what, What::Waiting { .. }) {}
    }
    for _ in 0..2 {
        clock.advance(Options::LONG_WAIT);
        assert_eq!(waits.warning().await.0["key"], "a");
    }
}

#[tokio::test]
async fn who_waits_to_write_among_readers_is_written_of_as_soon_as_its_guard_says() {
    let client = Client::new(Memory::new()).unwrap();
    let lock = client.rw_lock("a").unwrap();
    let (_other, reader) = (lock.read().lock().await.unwrap(), lock.read().lock_with(soon()).await.unwrap());
    let mut waits = Waits::new();
    waits.for_end_of(async move { reader.upgrade().await.map(drop).expect("it only waits") });
    assert_eq!(waits.warning().await.0["key"], "a");
}

#[tokio::test]
async fn a_branch_that_waits_for_another_of_its_section_is_written_of() {
    let client = Client::new(Memory::new()).unwrap();
    let options = Options::new().owner(Owner::new()).warn_waiting_after(Duration::from_millis(50));
    let (mut waits, mut events) = (Waits::new(), client.events());
    waits.for_end_of(async move {
        let inner = || client.with_lock("a", options.clone(), async |_| std::future::pending::<()>().await);
        let both = Box::pin(async { tokio::join!(inner(), inner()) });
        let _ = client.with_lock("a", options.clone(), async |_| both.await).await;
    });
    let warning = waits.warning().await;
    assert!(warning.0["message"].contains("this very process holds it"), "{warning:?}");
    let waiting = async { while !matches!(events.next().await.unwrap().what, What::Waiting { .. }) {} };
    tokio::time::timeout(SOON, waiting).await.expect("subscribers hear that it waits");
    waits.tasks.abort_all();
    let waited = async { while !matches!(events.next().await.unwrap().what, What::Waited { .. }) {} };
    tokio::time::timeout(SOON, waited).await.expect("and that it does no longer");
}

#[tokio::test]
async fn who_waits_for_a_latch_is_written_of_with_its_count() {
    let clock = ManualClock::new();
    let client = Client::new(Memory::with_clock(clock.clone())).unwrap();
    let (latch, mut waits, mut events) = (client.latch("a").unwrap(), Waits::new(), client.events());
    latch.set(2).await.unwrap();
    latch.down().await.unwrap();
    let _held = hold(&client, "b").await.unwrap();
    waits.for_end_of(async move { latch.wait().await.expect("it only waits") });
    while !matches!(events.next().await.unwrap().what, What::Waiting { .. }) {}
    clock.advance(Options::LONG_WAIT);
    let warning = waits.warning().await;
    let field = |name: &str| warning.0[name].as_str();
    assert_eq!((field("key"), field("still_to_count"), field("held_here")), ("a", "1", "\"b\""));
    assert!(field("message").contains("Latch::set"), "{warning:?}");
}

#[tokio::test]
async fn who_waits_for_permits_that_nobody_made_is_told_to_make_some() {
    let client = Client::new(Memory::new()).unwrap();
    let mut waits = Waits::new();
    waits.for_end_of(async move {
        let permits = client.semaphore("a").unwrap();
        permits.acquire_with(1, soon()).await.map(drop).expect("it only waits");
    });
    assert!(waits.warning().await.0["message"].contains("say how many there are"));
}
