//! The application's log subscriber hangs while a lost lock is logged: nobody else pays for it.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;
use tenure_core::{Client, Loss, Memory, Options};
use tokio::time::timeout;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};

const LEASE: Duration = Duration::from_secs(1);
/// However busy the machine is.
const SOON: Duration = Duration::from_secs(20);

/// Keeps whoever logs a warning until it is let go, as a full pipe does.
#[derive(Clone, Default)]
struct Stuck(Arc<(Mutex<State>, Condvar)>);

#[derive(Default)]
struct State {
    stuck: bool,
    open: bool,
}

impl Stuck {
    fn until(&self, wanted: impl Fn(&State) -> bool) {
        let state = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (_state, waited) = self.0.1.wait_timeout_while(state, SOON * 3, |state| !wanted(state)).unwrap();
        assert!(!waited.timed_out(), "it takes too long");
    }

    fn set(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.0.0.lock().unwrap_or_else(PoisonError::into_inner));
        self.0.1.notify_all();
    }
}

impl<S: Subscriber> Layer<S> for Stuck {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if *event.metadata().level() <= Level::WARN {
            self.set(|state| state.stuck = true);
            self.until(|state| state.open);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_hangs_costs_nobody_a_lock() {
    let log = Stuck::default();
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(log.clone())).unwrap();
    let store = Memory::new();
    let (client, rival) = (Client::new(store.clone()).unwrap(), Client::new(store).unwrap());
    let renewed = client.lock("renewed").unwrap().lock_with(Options::new().lease(LEASE)).await.unwrap();
    let ends = |after: Duration| Options::new().lease(after).no_renew();
    let short = client.lock("short").unwrap().lock_with(ends(Duration::from_millis(200))).await.unwrap();
    assert_eq!(short.lost().await, Loss::LeaseEnded);
    let stuck = log.clone();
    tokio::task::spawn_blocking(move || stuck.until(|state| state.stuck)).await.unwrap();

    // Losses are told while the log hangs: by `lost`, by `run` and by the token.
    let told = client.lock("told").unwrap().lock_with(ends(LEASE)).await.unwrap();
    let token = told.cancellation_token();
    let elsewhere = std::thread::spawn(move || park_until(token.cancelled_owned()));
    let run = timeout(SOON, told.run(std::future::pending::<()>())).await.expect("the work is dropped");
    assert!(run.is_err());
    timeout(SOON, told.lost()).await.expect("the loss is told");
    let ended = tokio::task::spawn_blocking(move || elsewhere.join());
    timeout(SOON, ended).await.expect("the token is cancelled").unwrap().unwrap();

    // And what is renewed stays ours.
    assert!(timeout(LEASE * 3, renewed.lost()).await.is_err(), "it was not renewed");
    assert!(rival.lock("renewed").unwrap().try_lock().await.unwrap().is_none(), "two hold it");
    assert!(renewed.is_held());
    renewed.release().await.unwrap();
    log.set(|state| state.open = true);
}

/// Waits without a runtime of tokio's, as any other executor would.
fn park_until(future: impl Future<Output = ()>) {
    let mut future = std::pin::pin!(future);
    let thread = std::thread::current();
    let waker = std::task::Waker::from(Arc::new(Unpark(thread)));
    let mut context = std::task::Context::from_waker(&waker);
    while future.as_mut().poll(&mut context).is_pending() {
        std::thread::park();
    }
}

struct Unpark(std::thread::Thread);

impl std::task::Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
