//! The server is frozen, killed or slow for everyone: no two valid guards, holders are told, waiters recover.

use crate::support::{Contention, LEASE, PATIENCE, client, connections, eventually, litter, ms};
use std::time::{Duration, Instant};
use tenure_core::{ErrorKind, Loss, Options, Owner};
use tenure_testkit::RedisServer;
use tenure_testkit::history::boottime_now;

/// How soon everyone must be served again when the fault is over: whoever was lost may keep the store's lease running,
/// and whoever waits looks by itself every second.
const RECOVERY: Duration = Duration::from_millis(2500);

/// Nanoseconds of the history's clock.
fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap()
}

/// Lets a fault last so long while somebody is in.
async fn during(fault: Duration, server: &RedisServer, begin: impl FnOnce(), heal: impl FnOnce()) {
    let (one, two) = (client(&server.url()).await, client(&server.url()).await);
    let contention = Contention::start(&[&one, &two]);
    contention.all_get_in(PATIENCE).await;
    contention.linger(&[0, 1]).await;
    let began = boottime_now();
    begin();
    tokio::time::sleep(fault).await;
    heal();
    contention.move_on();
    contention.all_get_in(RECOVERY).await;
    // What goes wrong late goes wrong now.
    tokio::time::sleep(LEASE / 2).await;
    let (report, tally) = contention.end().await;
    report.assert_clean().assert_at_least(12);
    if fault > LEASE {
        let [(told, why)] = tally.losses[..] else { panic!("one was in and is told: {:?}", tally.losses) };
        assert_eq!(why, Loss::LeaseEnded);
        assert!(told - began <= nanos(LEASE + ms(250)), "told after {:?}", Duration::from_nanos(told - began));
    } else {
        assert!(tally.losses.is_empty(), "half a lease loses nothing: {:?}", tally.losses);
    }
    assert!(tally.errors.is_empty(), "{:?}", tally.errors);
    // Connections that were given up meanwhile are closed; one of those that are left is the test's own.
    let open = || connections(server, "normal") + connections(server, "pubsub");
    eventually("dead connections are closed", PATIENCE, || open() <= 2 * 4 + 1).await;
    for client in [one, two] {
        client.close(PATIENCE).await.unwrap();
    }
    assert_eq!(litter(server), [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn frozen_for_half_a_lease() {
    let server = RedisServer::start();
    during(LEASE / 2, &server, || server.pause(), || server.resume()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn frozen_for_two_leases() {
    let server = RedisServer::start();
    during(LEASE * 2, &server, || server.pause(), || server.resume()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_and_back_with_its_data_within_half_a_lease() {
    let server = RedisServer::builder().durable().start();
    during(LEASE / 2, &server, || server.kill(), || server.restart()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_and_back_with_its_data_after_two_leases() {
    let server = RedisServer::builder().durable().start();
    during(LEASE * 2, &server, || server.kill(), || server.restart()).await;
}

/// The bound covers everything, whatever the store does: also going in again, which waits for nobody.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bounded_wait_ends_in_time_while_the_server_hangs() {
    let server = RedisServer::start();
    let client = client(&server.url()).await;
    let mine = Options::new().lease(ms(20_000)).owner(Owner::new());
    let held = client.lock("held").unwrap().lock_with(mine.clone()).await.unwrap();
    server.pause();
    let began = Instant::now();
    let (fresh, again) = tokio::join!(async { client.lock("fresh").unwrap().lock_timeout(ms(1000)).await }, async {
        client.lock("held").unwrap().lock_with(mine.wait(ms(1000))).await
    },);
    let took = began.elapsed();
    server.resume();
    assert_eq!(fresh.unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!(again.unwrap_err().kind(), ErrorKind::Unavailable);
    assert!(took < ms(3000), "returned after {took:?}");
    assert!(held.is_held());
}
