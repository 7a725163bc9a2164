//! Stores that are not there, at first or for a while: whoever asks is told in time, or rides it out.

use crate::support::{self, PATIENCE, backend, builder, ms};
use std::time::Instant;
use tenure_core::{ErrorKind, Options, Retry};
use tenure_testkit::RedisServer;

/// A server that is down, at an address that stays its own.
fn down() -> RedisServer {
    let server = RedisServer::start();
    server.kill();
    server
}

/// Connecting fails in time and says where.
async fn cannot_be_reached(server: &RedisServer) {
    let began = Instant::now();
    let error = builder().connect_within(ms(500)).connect(backend(&server.url())).await.unwrap_err();
    assert!(began.elapsed() < ms(3000), "{:?}", began.elapsed());
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.to_string().contains(&server.addr().to_string()), "{error}");
}

#[tokio::test]
async fn connecting_to_a_store_that_is_down_fails_in_time_and_says_where() {
    cannot_be_reached(&down()).await;
}

/// The kernel takes the connection and nobody greets.
#[tokio::test]
async fn connecting_to_a_store_that_is_silent_fails_in_time_and_says_where() {
    let server = RedisServer::start();
    server.pause();
    cannot_be_reached(&server).await;
}

#[tokio::test]
async fn a_lazy_client_of_a_store_that_is_down_fails_in_time() {
    let server = down();
    let client = builder().connect_within(ms(500)).build(backend(&server.url())).unwrap();
    let lock = client.lock("k").unwrap();
    let error = lock.try_lock().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    let began = Instant::now();
    lock.lock_timeout(ms(1000)).await.unwrap_err();
    assert!(began.elapsed() >= ms(990) && began.elapsed() < ms(3000), "{:?}", began.elapsed());
    let began = Instant::now();
    let error = lock.lock().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    // It looks at the clock only between two attempts, which are up to 640 ms apart.
    assert!(began.elapsed() >= ms(490) && began.elapsed() < ms(5000), "{:?}", began.elapsed());
}

/// Nobody held the lock: the store did not answer, and that is what the caller must be told.
#[tokio::test]
async fn a_bounded_wait_for_a_store_that_is_down_does_not_blame_a_holder() {
    let server = down();
    let client = builder().build(backend(&server.url())).unwrap();
    for wait in [50, 150, 300] {
        let error = client.lock("k").unwrap().lock_timeout(ms(wait)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    }
}

/// So are those who poll, and those who want several.
#[tokio::test]
async fn whoever_asks_a_store_that_went_down_is_told() {
    let server = RedisServer::start();
    let client = builder().connect(backend(&server.url())).await.unwrap();
    let (lock, set) = (client.lock("k").unwrap(), client.multi(["a", "b"]).unwrap());
    lock.lock().await.unwrap().release().await.unwrap();
    server.kill();
    let polls = Options::new().retry(Retry::exponential(ms(1)));
    let began = Instant::now();
    for error in [
        lock.lock_with(polls.clone().wait(ms(500))).await.unwrap_err(),
        set.lock_timeout(ms(500)).await.unwrap_err(),
        set.lock_with(polls.wait(ms(500))).await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    }
    assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_lazy_client_gets_in_when_the_store_comes_up() {
    let server = down();
    let client = builder().build(backend(&server.url())).unwrap();
    let lock = client.lock("k").unwrap();
    let mut waiting = tokio::spawn(async move { lock.lock_timeout(PATIENCE).await });
    assert!(tokio::time::timeout(ms(300), &mut waiting).await.is_err(), "it rides the outage out");
    server.restart();
    let up = Instant::now();
    drop(waiting.await.unwrap().unwrap());
    assert!(up.elapsed() < ms(5000), "{:?}", up.elapsed());
}

/// `lock_with` promises it: a wait without a bound fails at start-up only.
#[tokio::test]
async fn an_endless_wait_rides_out_an_outage_of_a_store_that_has_answered_before() {
    let server = RedisServer::start();
    let client = builder().connect_within(ms(300)).connect(backend(&server.url())).await.unwrap();
    let lock = client.lock("k").unwrap();
    lock.lock().await.unwrap().release().await.unwrap();
    server.kill();
    let mut waiting = tokio::spawn(async move { lock.lock().await });
    let early = tokio::time::timeout(ms(1000), &mut waiting).await;
    assert!(early.is_err(), "it gave up although the store had answered before: {early:?}");
    server.restart();
    drop(support::soon("it gets in", waiting).await.unwrap().unwrap());
}
