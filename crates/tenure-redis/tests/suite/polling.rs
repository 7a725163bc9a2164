//! Servers without publish and subscribe: nobody listens, and whoever waits asks by itself.

use crate::support::{backend, ms};
use std::time::Duration;
use tenure_core::{Client, ErrorKind, Guarantee, Kind, Options, Retry};
use tenure_testkit::RedisServer;

const SOON: Duration = Duration::from_secs(8);
const KINDS: [Kind; 5] = [Kind::Reentrant, Kind::Simple, Kind::Fair, Kind::Read, Kind::Write];

/// As what a waiter would meet the holder that keeps it out.
fn holds(kind: Kind) -> Kind {
    if kind == Kind::Read { Kind::Write } else { kind }
}

async fn deaf(server: &RedisServer, query: &str) -> Client {
    Client::builder().connect(backend(&format!("{}?wakeups=off{query}", server.url()))).await.unwrap()
}

/// As a proxy that knows neither.
fn without_pubsub() -> RedisServer {
    RedisServer::builder().acl("user default on nopass ~* &* +@all -subscribe -psubscribe -publish").start()
}

#[tokio::test]
async fn every_kind_is_waited_for_by_a_policy() {
    let server = without_pubsub();
    for layout in ["", "&layout=redisson"] {
        let (one, other) = (deaf(&server, layout).await, deaf(&server, layout).await);
        for kind in KINDS {
            let key = format!("{kind}{layout}");
            let guard = one.lock_of(holds(kind), &key).unwrap().lock().await.unwrap();
            let lock = other.lock_of(kind, &key).unwrap();
            let waiting = tokio::spawn(async move { lock.lock_with(Options::new().retry(Retry::fixed(ms(20)))).await });
            guard.release().await.unwrap();
            let next = tokio::time::timeout(SOON, waiting).await.unwrap().unwrap().unwrap();
            next.release().await.unwrap();
        }
    }
}

#[tokio::test]
async fn every_kind_is_waited_for_without_a_policy() {
    let server = without_pubsub();
    let (one, other) = (deaf(&server, "").await, deaf(&server, "").await);
    for kind in KINDS {
        let guard = one.lock_of(holds(kind), kind.name()).unwrap().lock().await.unwrap();
        let lock = other.lock_of(kind, kind.name()).unwrap();
        let waiting = tokio::spawn(async move { lock.lock().await });
        guard.release().await.unwrap();
        tokio::time::timeout(SOON, waiting).await.unwrap().unwrap().unwrap().release().await.unwrap();
    }
}

#[tokio::test]
async fn nobody_listens() {
    let server = RedisServer::start();
    let client = deaf(&server, "").await;
    let guard = client.lock("k").unwrap().lock().await.unwrap();
    let error = client.lock("k").unwrap().lock_timeout(ms(300)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert_eq!(server.command_calls("subscribe"), 0);
    drop(guard);
}

#[tokio::test]
async fn it_is_not_promised() {
    let server = RedisServer::start();
    let url = format!("{}?wakeups=off", server.url());
    let refused = Client::builder().require(Guarantee::PushedWakeups).connect(backend(&url)).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unsupported);
    assert!(deaf(&server, "").await.label().has(Guarantee::Fencing));
    let refused = tenure_redis::Config::from_url("redis://h?wakeups=maybe").unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Invalid);
    assert!(refused.to_string().contains("on or off"), "{refused}");
}
