//! A subscriber of `tracing` that panics at the span of a guard: the caller hears of it, and no lock is left behind.

use std::time::Duration;
use tenure_core::{Client, Guard, Memory, Release};
use tokio::time::timeout;
use tracing::Subscriber;
use tracing::instrument::WithSubscriber;
use tracing::span::{Attributes, Id};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};

/// However busy the machine is, and less than a lease.
const SOON: Duration = Duration::from_secs(20);

struct Panics;

impl<S: Subscriber> Layer<S> for Panics {
    fn on_new_span(&self, attributes: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        assert!(attributes.metadata().name() != "tenure.hold", "this panic is part of the case");
    }
}

/// Takes something, and panics when it has it.
async fn panics(taking: impl Future<Output = Guard> + Send + 'static) {
    let taking = taking.with_subscriber(tracing_subscriber::registry().with(Panics));
    let error = tokio::spawn(taking).await.expect_err("the subscriber panics");
    assert!(error.is_panic());
}

#[tokio::test]
async fn a_lock_that_was_just_granted_is_given_back() {
    let store = Memory::new();
    let (client, rival) = (Client::new(store.clone()).unwrap(), Client::new(store).unwrap());
    let lock = client.lock("a").unwrap();
    panics(async move { lock.lock().await.unwrap() }).await;
    let rival = rival.lock("a").unwrap();
    timeout(SOON, rival.lock()).await.expect("the lock is free").unwrap().release().await.unwrap();
    // A set of locks is granted in one answer.
    let set = client.multi(["b", "c"]).unwrap();
    let taking = async move { set.lock().await.unwrap() }.with_subscriber(tracing_subscriber::registry().with(Panics));
    assert!(tokio::spawn(taking).await.expect_err("the subscriber panics").is_panic());
    let rest = client.multi(["b", "c"]).unwrap();
    timeout(SOON, rest.lock()).await.expect("they are free").unwrap().release().await.unwrap();
}

#[tokio::test]
async fn an_entry_that_was_just_granted_is_left() {
    let client = Client::new(Memory::new()).unwrap();
    let guard = std::sync::Arc::new(client.lock("a").unwrap().lock().await.unwrap());
    let again = std::sync::Arc::clone(&guard);
    panics(async move { again.reenter().await.unwrap() }).await;
    let guard = std::sync::Arc::into_inner(guard).expect("the task is gone");
    assert_eq!(guard.release().await.unwrap(), Release::Released);
}
