//! The application's log subscriber hangs while the client logs a warning: no lock is lost by that, and none is lost late.

mod log;
mod redlock;

use log::{SOON, StuckLog};
use std::sync::Arc;
use std::time::Duration;
use tenure::{Client, Loss, Memory, Options};
use tokio::time::timeout;

const LEASE: Duration = Duration::from_secs(1);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_hangs_costs_nobody_a_lock() {
    let log = StuckLog::start().await;
    let store = Memory::new();
    let (client, rival) = (Client::new(store.clone()).unwrap(), Client::new(store).unwrap());
    let renewed = client.lock("renewed").unwrap().lock_with(Options::new().lease(LEASE)).await.unwrap();
    let ends = |after: Duration| Options::new().lease(after).no_renew();
    let short = client.lock("short").unwrap().lock_with(ends(Duration::from_millis(200))).await.unwrap();
    assert_eq!(short.lost().await, Loss::LeaseEnded);
    log.stuck().await;

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
    // The guards that were lost warn where they are dropped: here.
    drop(log);
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
