//! A lock that is held for long: a minority that fails does not cost it, and a majority does in good time.

use crate::majority::set::{LEASE, PATIENCE, Set};
use crate::support::{eventually, ms, soon};
use std::time::Instant;
use tenure_core::{Client, Guard, Loss, What};
use tenure_testkit::RedisServer;

/// Held by all five.
async fn held(set: &Set, client: &Client) -> Guard {
    let guard = client.lock("k").unwrap().lock_timeout(PATIENCE).await.unwrap();
    eventually("all have it", PATIENCE, || set.spread("k") == set.servers.len()).await;
    guard
}

#[tokio::test(flavor = "multi_thread")]
async fn two_that_are_down_do_not_cost_a_lock() {
    is_kept(RedisServer::kill).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_that_hang_do_not_cost_a_lock() {
    is_kept(RedisServer::pause).await;
}

async fn is_kept(fail: impl Fn(&RedisServer)) {
    let set = Set::start(5);
    let client = set.client().await;
    let guard = held(&set, &client).await;
    set.servers[..2].iter().for_each(fail);
    let (mut events, since) = (client.events(), Instant::now());
    while since.elapsed() < LEASE * 3 {
        let what = soon("it is renewed", events.next()).await.unwrap().what;
        assert!(!matches!(what, What::Lost { .. }), "{what:?}");
        assert!(guard.is_held(), "{what:?}");
    }
    guard.release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn three_that_hang_cost_a_lock_by_its_deadline() {
    let set = Set::start(5);
    let (client, next) = (set.client().await, set.client().await);
    let guard = held(&set, &client).await;
    let mut events = client.events();
    set.servers[..3].iter().for_each(RedisServer::pause);
    // What was renewed last was sent before.
    let since = Instant::now();
    let why = soon("it is lost", guard.lost()).await;
    let after = since.elapsed();
    println!("lost {after:?} after a majority hung");
    assert!(after <= LEASE + ms(250), "lost after {after:?}");
    assert_eq!(why, Loss::LeaseEnded);
    assert!(!guard.is_held());
    let mut warned = false;
    loop {
        match soon("it is told", events.next()).await.unwrap().what {
            What::Jeopardy { .. } => warned = true,
            What::Lost { .. } => break,
            _ => {}
        }
    }
    assert!(warned, "lost without a warning");
    set.servers[..3].iter().for_each(RedisServer::resume);
    let later = next.lock("k").unwrap().lock_timeout(PATIENCE).await.unwrap();
    assert!(later.token() > guard.token(), "{} after {}", later.token(), guard.token());
}
