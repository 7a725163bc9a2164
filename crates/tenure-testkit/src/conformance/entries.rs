//! Going in more than once.

use super::bench::{Bench, millis, renewed, unrenewed};
use super::case::cases;
use super::waiting::{eventually, heard, soon};
use std::time::Instant;
use tenure_core::{ErrorKind, Guard, Loss, Operation, Release, What};

cases!("entries":
    a_guard_goes_in_again_and_the_store_counts,
    guards_may_leave_in_any_order,
    the_last_to_leave_leaves_well_whoever_was_dropped_before,
    guards_that_leave_at_once_both_leave_well,
    a_late_leave_does_not_count_out_who_came_after,
    re_entry_goes_past_all_waiters,
    a_shorter_lease_never_shortens,
    the_longest_need_outlives_a_partial_release,
    leases_of_entries_do_not_add_up,
    a_renewed_entry_keeps_an_unrenewed_hold_alive,
    a_lost_guard_cannot_go_in_again,
);

/// What the store says of a hold: how often it is in.
async fn count(guard: &Guard, lock: &tenure_core::Lock) -> u32 {
    let held = lock.inspect().await.unwrap().expect("it is held");
    assert_eq!((&held.holder().claim, held.holder().token), (guard.claim(), Some(guard.token())));
    held.holder().count
}

async fn a_guard_goes_in_again_and_the_store_counts(bench: &Bench) {
    let lock = bench.lock("a").await;
    let outer = lock.lock().await.unwrap();
    assert_eq!(count(&outer, &lock).await, 1);
    let inner = outer.reenter().await.unwrap();
    assert_eq!(inner.token(), outer.token());
    assert_eq!(count(&outer, &lock).await, 2);
    assert_eq!(inner.release().await.unwrap(), Release::StillHeld(1));
    assert_eq!(count(&outer, &lock).await, 1);
    assert!(lock.try_lock().await.unwrap().is_none());
    assert_eq!(outer.release().await.unwrap(), Release::Released);
    bench.assert_nothing_left().await;
}

async fn guards_may_leave_in_any_order(bench: &Bench) {
    let lock = bench.lock("a").await;
    let first = lock.lock().await.unwrap();
    let second = first.reenter().await.unwrap();
    let third = second.reenter().await.unwrap();
    assert_eq!(first.release().await.unwrap(), Release::StillHeld(2));
    assert_eq!(third.release().await.unwrap(), Release::StillHeld(1));
    let fourth = second.reenter().await.unwrap();
    assert_eq!(count(&second, &lock).await, 2);
    assert_eq!(second.release().await.unwrap(), Release::StillHeld(1));
    assert!(fourth.is_held());
    assert_eq!(fourth.release().await.unwrap(), Release::Released);
    bench.assert_nothing_left().await;
}

/// A dropped guard leaves in the background: that must not come between the others and their releases.
async fn the_last_to_leave_leaves_well_whoever_was_dropped_before(bench: &Bench) {
    let lock = bench.lock("a").await;
    for round in 0..100 {
        let outer = lock.lock().await.unwrap();
        drop(outer.reenter().await.unwrap());
        let released = outer.release().await.unwrap_or_else(|error| panic!("in round {round}: {error}"));
        assert_eq!(released, Release::Released);
    }
    eventually("nothing is left", async || bench.keys_left().await.is_empty()).await;
}

/// Two that leave at once may speak to the store in either order.
async fn guards_that_leave_at_once_both_leave_well(bench: &Bench) {
    let lock = bench.lock("a").await;
    for round in 0..100 {
        let one = lock.lock().await.unwrap();
        let other = one.reenter().await.unwrap();
        for leaving in [one, other].map(|guard| tokio::spawn(guard.release())) {
            leaving.await.unwrap().unwrap_or_else(|error| panic!("in round {round}: {error}"));
        }
        assert!(!lock.is_locked().await.unwrap());
    }
    bench.assert_nothing_left().await;
}

/// A guard that was dropped is counted out in the background; one that came meanwhile must stay counted.
async fn a_late_leave_does_not_count_out_who_came_after(bench: &Bench) {
    let (client, tap) = bench.tapped().await;
    let lock = client.lock_of(bench.kind(), &bench.key("a")).unwrap();
    let outer = lock.lock().await.unwrap();
    let inner = outer.reenter().await.unwrap();
    tap.hold_back(|operation| matches!(operation, Operation::Release { left: 1.., .. }));
    drop(inner);
    eventually("its leave is on the way", async || tap.held_back() > 0).await;
    let inner = outer.reenter().await.unwrap();
    tap.let_through();
    eventually("the leave has arrived", async || tap.arrived() > 0).await;
    eventually("the store counts those who are in", async || count(&outer, &lock).await == 2).await;
    assert_eq!(inner.release().await.unwrap(), Release::StillHeld(1));
    assert_eq!(outer.release().await.unwrap(), Release::Released);
}

async fn re_entry_goes_past_all_waiters(bench: &Bench) {
    let (one, other) = (bench.client().await, bench.client().await);
    let (mut near, mut far) = (one.events(), other.events());
    let lock = one.lock_of(bench.kind(), &bench.key("a")).unwrap();
    let outer = lock.lock().await.unwrap();
    let waiting = [lock.clone(), other.lock_of(bench.kind(), &bench.key("a")).unwrap()].map(|lock| {
        tokio::spawn(async move {
            let guard = lock.lock().await.unwrap();
            guard.release().await.unwrap()
        })
    });
    for events in [&mut near, &mut far] {
        heard(events, "somebody waits", |what| matches!(what, What::Waiting { .. })).await;
    }
    let inner = soon("re-entry", outer.reenter()).await.unwrap();
    assert_eq!(count(&inner, &lock).await, 2);
    assert!(waiting.iter().all(|task| !task.is_finished()));
    inner.release().await.unwrap();
    outer.release().await.unwrap();
    for task in waiting {
        assert_eq!(soon("the waiters get in", task).await.unwrap(), Release::Released);
    }
}

async fn a_shorter_lease_never_shortens(bench: &Bench) {
    let (lock, began) = (bench.lock("a").await, Instant::now());
    let outer = lock.lock_with(unrenewed(5000)).await.unwrap();
    let inner = outer.reenter_with(unrenewed(200)).await.unwrap();
    // Nobody's lease is over before five seconds have gone by since before it was asked for.
    let full = async || lock.inspect().await.unwrap().unwrap().holder().remaining.unwrap() + began.elapsed();
    assert!(full().await >= millis(4990), "{:?}", full().await);
    assert!(inner.remaining() <= millis(200) && outer.remaining() > inner.remaining());
    assert_eq!(soon("the inner section is over", inner.lost()).await, Loss::LeaseEnded);
    assert!(outer.is_held(), "{outer:?}");
    eventually("the inner entry is counted out", async || count(&outer, &lock).await == 1).await;
    assert_eq!(inner.release().await.unwrap_err().kind(), ErrorKind::Lost);
    assert!(full().await >= millis(4990), "{:?}", full().await);
    assert_eq!(count(&outer, &lock).await, 1);
    assert_eq!(outer.release().await.unwrap(), Release::Released);
    bench.assert_nothing_left().await;
}

async fn the_longest_need_outlives_a_partial_release(bench: &Bench) {
    let lock = bench.lock("a").await;
    let outer = lock.lock_with(unrenewed(1000)).await.unwrap();
    let began = Instant::now();
    let inner = outer.reenter_with(unrenewed(5000)).await.unwrap();
    assert_eq!(outer.release().await.unwrap(), Release::StillHeld(1));
    let full = async || lock.inspect().await.unwrap().unwrap().holder().remaining.unwrap() + began.elapsed();
    assert!(full().await >= millis(4990), "{:?}", full().await);
    eventually("the outer lease would be over", async || began.elapsed() > millis(1050)).await;
    assert!(inner.is_held());
    assert_eq!(count(&inner, &lock).await, 1);
    assert_eq!(inner.release().await.unwrap(), Release::Released);
    bench.assert_nothing_left().await;
}

async fn leases_of_entries_do_not_add_up(bench: &Bench) {
    let (lock, began) = (bench.lock("a").await, Instant::now());
    let outer = lock.lock_with(unrenewed(10_000)).await.unwrap();
    let inner = outer.reenter_with(unrenewed(10_000)).await.unwrap();
    let innermost = inner.reenter_with(unrenewed(10_000)).await.unwrap();
    let left = async || lock.inspect().await.unwrap().unwrap().holder().remaining.unwrap();
    for leaving in [innermost, inner] {
        assert!(left().await <= millis(10_000));
        leaving.release().await.unwrap();
    }
    let left = left().await;
    assert!(left <= millis(10_000) && left + began.elapsed() >= millis(9990), "{left:?}");
    assert_eq!(outer.release().await.unwrap(), Release::Released);
    bench.assert_nothing_left().await;
}

async fn a_renewed_entry_keeps_an_unrenewed_hold_alive(bench: &Bench) {
    let client = bench.client().await;
    let mut events = client.events();
    let (lock, began) = (client.lock_of(bench.kind(), &bench.key("a")).unwrap(), Instant::now());
    let outer = lock.lock_with(unrenewed(1000)).await.unwrap();
    let inner = outer.reenter_with(renewed(1000)).await.unwrap();
    while began.elapsed() < millis(2200) {
        heard(&mut events, "the inner entry is renewed", |what| matches!(what, What::Renewed)).await;
    }
    assert!(inner.is_held() && !outer.is_held(), "only the renewed entry lasts: {inner:?} {outer:?}");
    assert_eq!(outer.release().await.unwrap_err().kind(), ErrorKind::Lost);
    assert_eq!(inner.release().await.unwrap(), Release::Released);
    bench.assert_nothing_left().await;
}

async fn a_lost_guard_cannot_go_in_again(bench: &Bench) {
    let lock = bench.lock("a").await;
    let guard = lock.lock_with(unrenewed(100)).await.unwrap();
    soon("the lease ends", guard.lost()).await;
    let error = guard.reenter().await.unwrap_err();
    assert_eq!((error.kind(), error.key()), (ErrorKind::Lost, Some(lock.key())));
}
