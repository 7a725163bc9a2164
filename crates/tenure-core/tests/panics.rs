//! A log subscriber or a waker that panics costs nobody else anything.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context as Polled, Wake, Waker};
use std::time::Duration;
use tenure_core::{Client, Loss, Memory, Options};
use tokio::time::timeout;
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};

struct Panics;

impl<S: Subscriber> Layer<S> for Panics {
    fn on_event(&self, _: &Event<'_>, _: Context<'_, S>) {
        let thread = std::thread::current();
        assert!(!thread.name().is_some_and(|name| name.starts_with("tenure-")), "this panic is part of the case");
    }
}

#[tokio::test]
async fn a_log_that_panics_costs_nobody_a_lock() {
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(Panics)).unwrap();
    let client = Client::new(Memory::new()).unwrap();
    let lease = Duration::from_secs(1);
    let renewed = client.lock("renewed").unwrap().lock_with(Options::new().lease(lease)).await.unwrap();
    for number in 0..5 {
        let short = Options::new().lease(Duration::from_millis(200)).no_renew();
        let short = client.lock(&format!("short {number}")).unwrap().lock_with(short).await.unwrap();
        assert_eq!(short.lost().await, Loss::LeaseEnded);
    }
    assert!(timeout(lease * 2, renewed.lost()).await.is_err(), "it was not renewed");
    renewed.release().await.unwrap();
}

struct PanickingWaker;

impl Wake for PanickingWaker {
    fn wake(self: Arc<Self>) {
        panic!("this panic is part of the case");
    }
}

#[tokio::test]
async fn a_waker_that_panics_keeps_no_other_token_from_being_cancelled() {
    let client = Client::new(Memory::new()).unwrap();
    let lock = client.lock("k").unwrap();
    let guard = lock.lock().await.unwrap();
    let again = guard.reenter().await.unwrap();
    let (mut panics, other) = (pin!(guard.cancellation_token().cancelled_owned()), again.cancellation_token());
    let waker = Waker::from(Arc::new(PanickingWaker));
    assert!(panics.as_mut().poll(&mut Polled::from_waker(&waker)).is_pending());
    lock.force_release().await.unwrap();
    timeout(Duration::from_secs(20), other.cancelled()).await.expect("both entries are lost");
}
