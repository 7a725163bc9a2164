//! Three of five are away: whoever wants a lock is told by whom it was not granted, and leaves nothing behind.

use crate::majority::set::{LEASE, PATIENCE, Set};
use crate::support::{eventually, ms};
use std::time::Instant;
use tenure_core::ErrorKind;
use tenure_testkit::RedisServer;

#[tokio::test(flavor = "multi_thread")]
async fn with_three_down_each_server_is_named_and_nothing_is_left() {
    without_a_majority(RedisServer::kill).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_three_that_hang_each_server_is_named_and_nothing_is_left() {
    without_a_majority(RedisServer::pause).await;
}

async fn without_a_majority(fail: impl Fn(&RedisServer)) {
    let set = Set::start(5);
    let lock = set.client().await.lock("k").unwrap();
    lock.lock_timeout(PATIENCE).await.unwrap().release().await.unwrap();
    set.servers[..3].iter().for_each(fail);
    let (began, wait) = (Instant::now(), ms(1500));
    let error = lock.lock_timeout(wait).await.unwrap_err();
    assert!(began.elapsed() < wait + PATIENCE / 2, "{:?}: {error}", began.elapsed());
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    for server in &set.servers {
        assert!(error.to_string().contains(&server.addr().to_string()), "{} is missing: {error}", server.addr());
    }
    let held = |server: &RedisServer| !server.keys("k").is_empty();
    eventually("the living let go", LEASE + PATIENCE / 2, || !set.servers[3..].iter().any(held)).await;
}
