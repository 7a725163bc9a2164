//! Whoever is killed holds up the other library for a lease and no longer; whoever lives is renewed.

use crate::sides::Sides;
use crate::support::{PATIENCE, client_of, eventually, soon};
use std::time::Duration;
use tenure_testkit::RedisServer;
use tenure_testkit::redisson::Jvm;
use tenure_testkit::taker::{Job, Taker};

/// Short, because a test waits for its end.
const LEASE: Duration = Duration::from_millis(1500);

/// Until the holder's watchdog has renewed the lock.
async fn is_renewed(server: &RedisServer) {
    let mut left = server.pttl("k");
    eventually("the holder renews", PATIENCE, || {
        let before = std::mem::replace(&mut left, server.pttl("k"));
        left > before
    })
    .await;
}

pub(crate) async fn killed_rust() {
    let sides = Sides::meet().await;
    let mut taker = Taker::start(&Job::Hold { url: sides.server.url(), key: "k".into(), lease: LEASE });
    taker.granted();
    let java = sides.java.thread().lock("k");
    assert!(!soon("java tries", java.try_lock(Duration::ZERO)).await.unwrap(), "the taker holds the lock");
    let waiting = tokio::spawn(java.lock());
    is_renewed(&sides.server).await;
    assert!(!waiting.is_finished(), "java was let in while the taker lived");
    taker.kill();
    soon("java gets in", waiting).await.unwrap().unwrap();
    assert_eq!(soon("java looks", java.hold_count()).await.unwrap(), 1);
}

pub(crate) async fn killed_java() {
    let server = RedisServer::start();
    let jvm = Jvm::start();
    let java = jvm.connect(&server.url(), LEASE).await;
    soon("java gets in", java.thread().lock("k").lock()).await.unwrap();
    let rust = client_of(&server).await.lock("k").unwrap();
    assert!(rust.try_lock().await.unwrap().is_none(), "java holds the lock");
    let waiting = tokio::spawn(async move { rust.lock().await });
    is_renewed(&server).await;
    assert!(!waiting.is_finished(), "rust was let in while the JVM lived");
    jvm.kill();
    let guard = soon("rust gets in", waiting).await.unwrap().unwrap();
    guard.release().await.unwrap();
}
