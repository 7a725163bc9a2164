//! One client is cut off from the server, the other is not: the one is told before the other can get in.

use crate::support::{self, Contention, LEASE, PATIENCE, client, eventually, litter, ms};
use std::time::Duration;
use tenure_core::{Loss, Options, What};
use tenure_testkit::history::boottime_now;
use tenure_testkit::{FaultProxy, RedisServer};

const RECOVERY: Duration = Duration::from_millis(2500);

/// Cuts off the clients of two of the workers, one of which is in, for so long.
async fn partition(fault: Duration, begin: fn(&FaultProxy)) {
    let server = RedisServer::start();
    let proxy = FaultProxy::start(server.addr());
    let (near, far) = (client(&server.url()).await, client(&proxy.url()).await);
    let contention = Contention::start(&[&near, &far]);
    contention.all_get_in(PATIENCE).await;
    contention.linger(&[1]).await;
    let began = boottime_now();
    begin(&proxy);
    tokio::time::sleep(fault).await;
    proxy.heal();
    contention.move_on();
    contention.all_get_in(RECOVERY).await;
    // What goes wrong late goes wrong now.
    tokio::time::sleep(LEASE / 2).await;
    let (report, tally) = contention.end().await;
    report.assert_clean().assert_at_least(12);
    if fault > LEASE {
        let (told, why) = *tally.losses.first().expect("who was in and cut off is told");
        assert_eq!(why, Loss::LeaseEnded);
        let after = Duration::from_nanos(told - began);
        assert!(after <= LEASE + ms(250), "told after {after:?}");
        assert_eq!(tally.losses.len(), 1, "nobody else lost anything: {:?}", tally.losses);
    } else {
        assert!(tally.losses.is_empty(), "half a lease loses nothing: {:?}", tally.losses);
    }
    assert!(tally.errors.is_empty(), "{:?}", tally.errors);
    for client in [near, far] {
        client.close(PATIENCE).await.unwrap();
    }
    assert_eq!(litter(&server), [""; 0]);
}

fn both_ways(proxy: &FaultProxy) {
    proxy.drop_requests();
    proxy.drop_replies();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_ways_for_half_a_lease() {
    partition(LEASE / 2, both_ways).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_ways_for_two_leases() {
    partition(LEASE * 2, both_ways).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silence_for_half_a_lease() {
    partition(LEASE / 2, FaultProxy::hang).await;
}

/// Everything that was sent meanwhile arrives in the end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silence_for_two_leases() {
    partition(LEASE * 2, FaultProxy::hang).await;
}

/// What is sent is done, and nobody hears of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replies_only_for_half_a_lease() {
    partition(LEASE / 2, FaultProxy::drop_replies).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replies_only_for_two_leases() {
    partition(LEASE * 2, FaultProxy::drop_replies).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refused_for_two_leases() {
    partition(LEASE * 2, FaultProxy::cut).await;
}

/// A holder that is cut off hears of the jeopardy first, and of the loss while the store still has the lock.
#[tokio::test]
async fn a_holder_is_told_before_the_store_lets_go() {
    let server = RedisServer::start();
    let proxy = FaultProxy::start(server.addr());
    let client = client(&proxy.url()).await;
    // The margin is a hundredth of the lease: enough for a look at the server, unless the machine pauses just then.
    let lease = Duration::from_secs(4);
    let options = Options::new().lease(lease).renew_every(ms(200));
    let mut attempts = 0;
    let (guard, why, mut events) = loop {
        let events = client.events();
        let lock = client.lock("k").unwrap();
        let guard = support::soon("it is free", lock.lock_with(options.clone())).await.unwrap();
        both_ways(&proxy);
        let why = support::soon("it is told", guard.lost()).await;
        if support::exists(&server, "k") {
            break (guard, why, events);
        }
        attempts += 1;
        assert!(attempts < 5, "told when the store had let go already");
        proxy.heal();
    };
    assert_eq!(why, Loss::LeaseEnded);
    assert!(guard.check().is_err() && guard.remaining().is_zero());
    let mut jeopardy = 0;
    loop {
        match support::soon("an event", events.next()).await.unwrap().what {
            What::Jeopardy { .. } => jeopardy += 1,
            What::Lost { .. } => break,
            _ => {}
        }
    }
    assert!(jeopardy > 0, "lost without a warning");
    proxy.heal();
    assert!(guard.release().await.is_err());
    eventually("the store lets go", PATIENCE, || !support::exists(&server, "k")).await;
}

/// The section was over, and the store told, while the lease ran; only the answer took longer than the lease. Nobody
/// else can have been in, so that there is nothing to stop and no alarm to raise.
#[tokio::test]
async fn a_release_in_time_is_no_loss_however_late_its_answer() {
    let server = RedisServer::start();
    let proxy = FaultProxy::start(server.addr());
    let client = support::builder().answer_within(ms(300)).connect(support::backend(&proxy.url())).await.unwrap();
    // The scripts are known from here on: nothing needs an answer to be applied.
    client.lock("k").unwrap().lock().await.unwrap().release().await.unwrap();
    let guard = client.lock("k").unwrap().lock().await.unwrap();
    let mut events = client.events();
    proxy.drop_replies();
    let release = tokio::spawn(guard.release());
    eventually("the store has let go", LEASE / 2, || !support::exists(&server, "k")).await;
    tokio::time::sleep(LEASE + ms(300)).await;
    proxy.heal();
    let outcome = support::soon("the release returns", release).await.unwrap();
    if let Err(error) = &outcome {
        assert_ne!(error.kind(), tenure_core::ErrorKind::Lost, "{error}");
    }
    client.close(PATIENCE).await.unwrap();
    drop(client);
    while let Some(event) = support::soon("the events end", events.next()).await {
        assert!(!matches!(event.what, What::Lost { .. }), "{event:?}");
    }
}
