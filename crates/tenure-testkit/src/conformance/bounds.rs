//! The longest and the shortest that a lock is taken.

use super::bench::{Bench, millis, renewed};
use super::case::cases;
use super::waiting::{eventually, soon};
use std::time::Instant;
use tenure_core::{ErrorKind, Loss, Operation, Options, Release};

cases!("bounds":
    the_watchdog_stops_at_the_longest,
    a_release_keeps_the_lock_for_the_shortest,
    a_renewal_under_way_does_not_make_a_kept_lock_last,
    a_lock_that_is_kept_shows_who_keeps_it,
    a_waiter_gets_in_when_the_shortest_is_over,
    bounds_that_make_no_sense_are_refused,
);

async fn the_watchdog_stops_at_the_longest(bench: &Bench) {
    for simple in [false, true] {
        let client = bench.client().await;
        let lock = if simple { client.simple(&bench.key("s")) } else { client.lock_of(bench.kind(), &bench.key("r")) }
            .unwrap();
        let began = Instant::now();
        let guard = lock.lock_with(renewed(1000).max_hold(millis(2000))).await.unwrap();
        assert_eq!(soon("it is held for long enough", guard.lost()).await, Loss::HeldTooLong);
        let held = began.elapsed();
        assert!((millis(1900)..millis(5000)).contains(&held), "{held:?}");
        soon("the lock is free", lock.lock()).await.unwrap().release().await.unwrap();
        assert_eq!(guard.release().await.unwrap_err().kind(), ErrorKind::Lost);
    }
}

async fn a_release_keeps_the_lock_for_the_shortest(bench: &Bench) {
    for simple in [false, true] {
        let client = bench.client().await;
        let lock = if simple { client.simple(&bench.key("s")) } else { client.lock_of(bench.kind(), &bench.key("r")) }
            .unwrap();
        let guard = lock.lock_with(renewed(60_000).at_least(millis(1500))).await.unwrap();
        let kept = guard.release().await.unwrap();
        assert!(matches!(kept, Release::Kept(left) if left <= millis(1500)), "{kept:?}");
        assert!(lock.try_lock().await.unwrap().is_none());
        let seen = lock.inspect().await.unwrap().expect("it is taken");
        assert!(seen.holder().remaining.is_some_and(|left| left <= millis(1500)), "{seen:?}");
        let next = soon("it is over", lock.lock_with(renewed(1000).at_least(millis(1)))).await.unwrap();
        tokio::time::sleep(millis(2)).await;
        assert_eq!(next.release().await.unwrap(), Release::Released);
    }
    bench.assert_nothing_left().await;
}

async fn a_renewal_under_way_does_not_make_a_kept_lock_last(bench: &Bench) {
    let (client, tap) = bench.tapped().await;
    for (dropped, key) in [(false, "released"), (true, "dropped")] {
        let lock = client.lock_of(bench.kind(), &bench.key(key)).unwrap();
        let options = renewed(60_000).renew_every(millis(20)).at_least(millis(2_000));
        let guard = lock.lock_with(options).await.unwrap();
        let (under_way, arrived) = (tap.held_back(), tap.arrived());
        tap.hold_back(|operation| matches!(operation, Operation::Renew { .. }));
        eventually("a renewal is under way", async || tap.held_back() > under_way).await;
        let released = tokio::spawn(async move {
            if dropped {
                drop(guard);
            } else {
                guard.release().await.unwrap();
            }
        });
        // Nothing is waited for: a release that does not wait for the renewal has the time to be there first.
        tokio::time::sleep(millis(200)).await;
        tap.let_through();
        soon("it is released", released).await.unwrap();
        eventually("the renewal arrives", async || tap.arrived() > arrived).await;
        let left = async || lock.inspect().await.unwrap().and_then(|held| held.holder().remaining);
        eventually("it is kept for as long as was said", async || {
            left().await.is_none_or(|left| left <= millis(2_000))
        })
        .await;
    }
}

async fn a_lock_that_is_kept_shows_who_keeps_it(bench: &Bench) {
    let other = bench.client().await;
    for (simple, dropped) in [(false, false), (false, true), (true, false), (true, true)] {
        let (client, key) = (bench.client().await, bench.key(&format!("{simple} {dropped}")));
        let lock = if simple { client.simple(&key) } else { client.lock_of(bench.kind(), &key) }.unwrap();
        let guard = lock.lock_with(renewed(60_000).at_least(millis(60_000))).await.unwrap();
        if dropped {
            drop(guard);
        } else {
            guard.release().await.unwrap();
        }
        // Its client is gone; whoever meets the lock is to know whose it was.
        client.close(millis(5000)).await.unwrap();
        let seen = other.list(&key).await.unwrap().swap_remove(0);
        assert_eq!(seen.card().map(|card| (card.has_left(), &*card.label)), Some((true, "conformance")));
        let forced = other.lock_of(bench.kind(), &key).unwrap().force_release().await.unwrap().expect("it is taken");
        assert_eq!(forced.card(), seen.card());
    }
    bench.assert_nothing_left().await;
}

async fn a_waiter_gets_in_when_the_shortest_is_over(bench: &Bench) {
    let (lock, other) = (bench.lock("a").await, bench.lock("a").await);
    let began = Instant::now();
    let guard = lock.lock_with(renewed(60_000).at_least(millis(400))).await.unwrap();
    let waiting = tokio::spawn(async move { other.lock().await.unwrap() });
    drop(guard);
    soon("the waiter gets in", waiting).await.unwrap().release().await.unwrap();
    assert!(began.elapsed() >= millis(390), "{:?}", began.elapsed());
}

async fn bounds_that_make_no_sense_are_refused(bench: &Bench) {
    let lock = bench.lock("a").await;
    let options = Options::new();
    for options in [
        options.clone().max_hold(millis(0)),
        options.clone().max_hold(millis(99)),
        options.clone().at_least(Options::MAX_LEASE + millis(1)),
        options.clone().at_least(millis(300)).max_hold(millis(200)),
    ] {
        let error = lock.lock_with(options.clone()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{options:?}: {error}");
    }
    assert!(!lock.is_locked().await.unwrap());
}
