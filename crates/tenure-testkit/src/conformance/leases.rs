//! Leases: those that are renewed last, those that are not end by themselves.

use super::bench::{Bench, millis, renewed, unrenewed};
use super::case::cases;
use super::waiting::{eventually, heard, soon};
use crate::History;
use std::time::{Duration, Instant};
use tenure_core::{ErrorKind, Event, Guard, Lock, Loss, Release, Standing, What};
use tokio::task::JoinSet;

cases!("leases":
    a_lease_that_is_not_renewed_ends_by_itself,
    a_guard_gives_up_before_the_store_does,
    the_next_waiter_is_in_when_a_lease_ends,
    a_late_release_frees_nobody,
    a_renewed_lease_outlives_itself,
    all_locks_of_an_owner_are_renewed,
    a_hold_is_renewed_among_others_that_come_and_go,
    a_guard_renews_by_hand,
    a_lost_guard_cannot_renew,
);

async fn a_lease_that_is_not_renewed_ends_by_itself(bench: &Bench) {
    let lock = bench.lock("a").await;
    let guard = lock.lock_with(unrenewed(1000)).await.unwrap();
    assert!(guard.is_held() && guard.check().is_ok());
    assert!(guard.remaining() > Duration::ZERO && guard.remaining() < millis(1000));
    assert_eq!(soon("the lease ends", guard.lost()).await, Loss::LeaseEnded);
    assert!(!guard.is_held());
    assert_eq!(guard.standing(), Standing::Lost(Loss::LeaseEnded));
    assert_eq!(guard.remaining(), Duration::ZERO);
    assert_eq!(guard.check().unwrap_err().kind(), ErrorKind::Lost);
    let error = guard.release().await.unwrap_err();
    assert_eq!((error.kind(), error.key()), (ErrorKind::Lost, Some(lock.key())));
    assert!(error.to_string().contains(&bench.key("a")), "{error}");
    eventually("the store has let go too", async || bench.keys_left().await.is_empty()).await;
}

async fn a_guard_gives_up_before_the_store_does(bench: &Bench) {
    let lock = bench.lock("a").await;
    let guard = lock.lock_with(unrenewed(1000)).await.unwrap();
    let deadline = guard.deadline();
    // The store's lease runs for `remaining` after it was asked, thus at least as long after we began to ask. An
    // answer that took its time proves nothing, so we ask until one was quick. The store may count in milliseconds.
    let proven = async || {
        let asked = Instant::now();
        let held = lock.inspect().await.unwrap().expect("the store lets go before the guard");
        deadline <= asked + held.holder().remaining.expect("the lease has an end") + millis(1)
    };
    eventually("the store holds longer than the guard", proven).await;
    assert!(guard.is_held());
}

/// Lets a short lease end while another client waits: the lost guard, the waiter's, and how much later it was in.
async fn lease_ends(bench: &Bench) -> (Guard, Guard, Lock, Duration) {
    let (one, other) = (bench.lock("a").await, bench.client().await);
    let mut events = other.events();
    let lock = other.lock_of(bench.kind(), &bench.key("a")).unwrap();
    let (lease, began) = (millis(300), Instant::now());
    let lost = one.lock_with(unrenewed(300)).await.unwrap();
    let waiter = lock.clone();
    let waiting = tokio::spawn(async move { waiter.lock().await.unwrap() });
    heard(&mut events, "the waiter waits", |what| matches!(what, What::Waiting { .. })).await;
    assert_eq!(soon("the lease ends", lost.lost()).await, Loss::LeaseEnded);
    let next = soon("the waiter gets in", waiting).await.unwrap();
    let late = began.elapsed().saturating_sub(lease);
    assert!(!lost.is_held() && next.is_held() && next.token() > lost.token());
    (lost, next, lock, late)
}

async fn the_next_waiter_is_in_when_a_lease_ends(bench: &Bench) {
    // By itself it would look once a second. The machine may pause in one of the attempts, but hardly in all.
    let mut fastest = Duration::MAX;
    for _ in 0..5 {
        let (lost, next, _, late) = lease_ends(bench).await;
        drop(lost);
        assert_eq!(next.release().await.unwrap(), Release::Released);
        fastest = fastest.min(late);
        if fastest <= millis(250) {
            break;
        }
    }
    assert!(fastest <= millis(250), "in only {fastest:?} after the end of the lease");
    bench.assert_nothing_left().await;
}

async fn a_late_release_frees_nobody(bench: &Bench) {
    let (lost, next, lock, _) = lease_ends(bench).await;
    assert_eq!(lost.release().await.unwrap_err().kind(), ErrorKind::Lost);
    let held = lock.inspect().await.unwrap().expect("the next holder is in");
    assert_eq!((&held.holder().claim, held.holder().token), (next.claim(), Some(next.token())));
    assert!(next.is_held());
    assert_eq!(next.release().await.unwrap(), Release::Released);
    bench.assert_nothing_left().await;
}

async fn a_renewed_lease_outlives_itself(bench: &Bench) {
    let (client, other) = (bench.client().await, bench.lock("a").await);
    let mut events = client.events();
    let began = Instant::now();
    let guard = client.lock_of(bench.kind(), &bench.key("a")).unwrap().lock_with(renewed(1000)).await.unwrap();
    while began.elapsed() < millis(3000) {
        let Event { key, claim, .. } =
            heard(&mut events, "the lease is renewed", |what| matches!(what, What::Renewed)).await;
        assert_eq!((&key, &claim), (guard.key(), guard.claim()));
        assert!(guard.is_held());
        assert!(other.try_lock().await.unwrap().is_none());
    }
    assert_eq!(other.inspect().await.unwrap().unwrap().holder().token, Some(guard.token()));
    assert_eq!(guard.release().await.unwrap(), Release::Released);
    bench.assert_nothing_left().await;
}

async fn all_locks_of_an_owner_are_renewed(bench: &Bench) {
    let client = bench.client().await;
    let mut events = client.events();
    let options = renewed(1000).owner(tenure_core::Owner::new());
    let one = client.lock_of(bench.kind(), &bench.key("a")).unwrap().lock_with(options.clone()).await.unwrap();
    let other = client.lock_of(bench.kind(), &bench.key("b")).unwrap().lock_with(options).await.unwrap();
    let began = Instant::now();
    let mut renewals = [0, 0];
    while began.elapsed() < millis(3000) {
        let event = heard(&mut events, "a renewal", |what| matches!(what, What::Renewed | What::Lost { .. })).await;
        assert!(matches!(event.what, What::Renewed), "{event:?}");
        renewals[usize::from(event.claim == *other.claim())] += 1;
    }
    assert!(one.is_held() && other.is_held() && renewals.iter().all(|count| *count >= 2), "{renewals:?}");
    assert_eq!(one.release().await.unwrap(), Release::Released);
    assert_eq!(other.release().await.unwrap(), Release::Released);
    bench.assert_nothing_left().await;
}

/// Of one key and one client: who leaves takes nobody's renewals along.
async fn a_hold_is_renewed_among_others_that_come_and_go(bench: &Bench) {
    let (lock, history) = (bench.lock("a").await, History::new());
    let outer = lock.lock_with(renewed(1000)).await.unwrap();
    let inner = outer.reenter_with(renewed(1000)).await.unwrap();
    inner.release().await.unwrap();
    outer.release().await.unwrap();
    let mut others = JoinSet::new();
    for number in 0..8 {
        let (lock, history) = (lock.clone(), history.clone());
        others.spawn(async move {
            loop {
                let asking = history.asking(lock.key().as_str(), &format!("other {number}"));
                if let Some(guard) = lock.try_lock_with(renewed(1000)).await.unwrap() {
                    let hold = asking.granted(guard.token());
                    hold.ended();
                    guard.release().await.unwrap();
                }
                tokio::time::sleep(millis(1)).await;
            }
        });
    }
    for _ in 0..3 {
        let asking = history.asking(lock.key().as_str(), "the one");
        let guard = soon("it gets in", lock.lock_with(renewed(1000))).await.unwrap();
        let (hold, first) = (asking.granted(guard.token()), guard.deadline());
        eventually("it is renewed", async || guard.deadline() > first + millis(100)).await;
        assert!(guard.is_held());
        hold.ended();
        assert_eq!(guard.release().await.unwrap(), Release::Released);
        if let Some(ended) = others.try_join_next() {
            ended.expect("the others go on");
        }
    }
    others.shutdown().await;
    history.check().assert_clean().assert_at_least(3);
}

async fn a_guard_renews_by_hand(bench: &Bench) {
    let (lock, lease) = (bench.lock("a").await, millis(3000));
    let began = Instant::now();
    let guard = lock.lock_with(unrenewed(3000)).await.unwrap();
    while began.elapsed() < lease + millis(200) {
        eventually("some of the lease is used up", async || guard.remaining() < millis(2000)).await;
        guard.renew().await.unwrap();
        assert!(guard.remaining() > millis(2000), "{:?}", guard.remaining());
        assert!(lock.inspect().await.unwrap().unwrap().holder().remaining.unwrap() > millis(2000));
    }
    assert!(guard.is_held());
    assert_eq!(guard.release().await.unwrap(), Release::Released);
    bench.assert_nothing_left().await;
}

async fn a_lost_guard_cannot_renew(bench: &Bench) {
    let lock = bench.lock("a").await;
    let guard = lock.lock_with(unrenewed(100)).await.unwrap();
    soon("the lease ends", guard.lost()).await;
    assert_eq!(guard.renew().await.unwrap_err().kind(), ErrorKind::Lost);
    eventually("the store has let go", async || !lock.is_locked().await.unwrap()).await;
}
