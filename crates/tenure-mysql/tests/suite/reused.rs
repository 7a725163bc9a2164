//! Sessions that are used again, and what they must not carry over from one lock to the next.

use crate::support::{PATIENCE, blocked, client_for, client_of, eventually, gets_in, locked_rows, soon, until_blocked};
use std::sync::Arc;
use std::time::Duration;
use tenure_core::{Client, Options};
use tenure_mysql::Config;
use tenure_testkit::{FaultProxy, MariaDbServer};
use tokio::task::JoinSet;

async fn behind(proxy: &FaultProxy, lease: Duration) -> Client {
    client_for(&format!("mysql://root@{}/tenure", proxy.addr()), lease).await
}

/// The wait is given up, its session gets the row while the word to end it is on its way, and the next lock is taken.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_a_wait_that_was_given_up_ends_no_other_lock() {
    let server = MariaDbServer::start();
    let proxy = Arc::new(FaultProxy::start(server.addr()));
    let (holder, waiter) = (client_of(&server).await, behind(&proxy, Duration::from_secs(30)).await);
    let guard = gets_in(&holder, "k").await;
    let lock = waiter.lock("k").unwrap();
    let waiting = tokio::spawn(async move { lock.lock().await });
    until_blocked(&server, 1).await;
    let session = blocked(&server)[0].id;
    let ending = Arc::new(proxy.hold_request("KILL "));
    waiting.abort();
    let caught = Arc::clone(&ending);
    soon("the wait is given up", tokio::task::spawn_blocking(move || caught.wait_caught())).await.unwrap();
    guard.release().await.unwrap();
    eventually("the row is free", PATIENCE, || locked_rows(&server) == 0).await;
    let other = gets_in(&waiter, "k2").await;
    ending.release();
    eventually("the wait is ended", PATIENCE, || server.sessions().iter().all(|one| one.id != session)).await;
    assert!(client_of(&server).await.lock("k2").unwrap().try_lock().await.unwrap().is_none(), "it is held");
    assert!(other.is_held());
    other.release().await.unwrap();
}

/// The session that has the row of a lock that is kept is ended, and the row is free.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_that_is_kept_can_be_freed_by_force() {
    let server = MariaDbServer::start();
    let (one, other) = (client_of(&server).await, client_of(&server).await);
    let guard = one.lock("k").unwrap().lock_with(Options::new().at_least(Duration::from_secs(60))).await.unwrap();
    guard.release().await.unwrap();
    assert!(other.lock("k").unwrap().force_release().await.unwrap().is_some());
    for client in [&other, &one] {
        soon("it is free", gets_in(client, "k")).await.release().await.unwrap();
    }
}

/// A session that had a long lease waits for another row, is cut off, and gets it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_that_is_cut_off_has_no_lease_of_before() {
    let server = MariaDbServer::start();
    let proxy = FaultProxy::start(server.addr());
    let (holder, other) = (client_of(&server).await, client_of(&server).await);
    let cut = behind(&proxy, Duration::from_secs(600)).await;
    gets_in(&cut, "before").await.release().await.unwrap();
    let guard = gets_in(&holder, "k").await;
    let lock = cut.lock("k").unwrap();
    let waiting = tokio::spawn(async move { lock.lock().await });
    until_blocked(&server, 1).await;
    proxy.drop_requests();
    proxy.drop_replies();
    guard.release().await.unwrap();
    gets_in(&other, "k").await.release().await.unwrap();
    waiting.abort();
}

/// A notice is told before it is taken away: that may fail.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_notice_is_told_although_it_cannot_be_taken_away() {
    let server = MariaDbServer::start();
    let proxy = Arc::new(FaultProxy::start(server.addr()));
    let (other, holder) = (client_of(&server).await, behind(&proxy, Duration::from_secs(30)).await);
    let lock = holder.simple("k").unwrap();
    let guard = lock.lock_with(Options::new().lease(Duration::from_secs(60)).no_renew()).await.unwrap();
    let held = Arc::new(proxy.hold_request("DELETE FROM tenure_notices"));
    other.simple("k").unwrap().force_release().await.unwrap().unwrap();
    soon("it is told", guard.lost()).await;
    held.release();
}

/// Whoever tries many at once holds none of them, and is told only that they are busy.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_who_try_at_once_take_turns_with_the_connections() {
    let server = MariaDbServer::start();
    let of = |count| Config::from_url(&server.url()).unwrap().connections(count).into_backend();
    let holder = Client::builder().connect(of(40)).await.unwrap();
    let mut guards = Vec::new();
    for number in 0..40 {
        guards.push(gets_in(&holder, &format!("k{number}")).await);
    }
    let client = Client::builder().connect(of(16)).await.unwrap();
    let mut tries = JoinSet::new();
    for number in 0..40 {
        let lock = client.lock(&format!("k{number}")).unwrap();
        tries.spawn(async move { lock.try_lock().await.unwrap().is_none() });
    }
    while let Some(tried) = tries.join_next().await {
        assert!(tried.unwrap(), "it is busy");
    }
}
