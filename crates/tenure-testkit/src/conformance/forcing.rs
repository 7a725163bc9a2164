//! Freeing a lock over its holder's head.

use super::bench::{Bench, millis, renewed, unrenewed};
use super::case::cases;
use super::tap::Tap;
use super::waiting::{eventually, heard, soon};
use tenure_core::{Client, ErrorKind, Guard, Lock, Loss, Options, Release, What};
use tokio::task::JoinHandle;

cases!("forcing":
    a_holder_is_put_out_and_the_next_gets_in,
    a_holder_is_told_at_once needs PushedWakeups,
    a_holder_that_cannot_hear_yet_is_told_as_soon_as_it_can needs PushedWakeups,
    a_holder_that_was_put_out_before_it_knew_it_was_in_is_told needs PushedWakeups,
    a_holder_that_could_not_hear_before_it_knew_it_was_in_is_told needs PushedWakeups,
    all_guards_of_a_hold_are_put_out,
    who_was_put_out_is_named_although_it_leaves_at_once,
    a_free_lock_can_be_forced_for_nothing,
);

/// Holds with these options, lets another client wait and a third one force: the old guard, and the waiter's.
async fn force(bench: &Bench, options: Options) -> (Guard, Guard, Lock) {
    let one = bench.lock("a").await;
    let guard = one.lock_with(options).await.unwrap();
    force_out(bench, guard).await
}

async fn force_out(bench: &Bench, guard: Guard) -> (Guard, Guard, Lock) {
    let (other, third) = (bench.client().await, bench.lock("a").await);
    let mut events = other.events();
    let waiter = other.lock_of(bench.kind(), &bench.key("a")).unwrap();
    let waiting = tokio::spawn(async move { waiter.lock().await.unwrap() });
    heard(&mut events, "the waiter waits", |what| matches!(what, What::Waiting { .. })).await;
    let held = third.force_release().await.unwrap().expect("somebody held it");
    let holder = held.holder();
    assert_eq!((&holder.claim, holder.count, holder.token), (guard.claim(), 1, Some(guard.token())));
    let next = soon("the waiter gets in", waiting).await.unwrap();
    assert!(next.token() > guard.token());
    (guard, next, third)
}

async fn a_holder_is_put_out_and_the_next_gets_in(bench: &Bench) {
    let (guard, next, lock) = force(bench, renewed(1000)).await;
    let why = soon("the holder learns of it", guard.lost()).await;
    assert!(matches!(why, Loss::Forced | Loss::Gone), "{why:?}");
    let error = guard.release().await.unwrap_err();
    assert_eq!((error.kind(), error.key()), (ErrorKind::Lost, Some(lock.key())));
    assert_eq!(lock.inspect().await.unwrap().map(|held| held.holder().claim.clone()).as_ref(), Some(next.claim()));
    assert_eq!(next.release().await.unwrap(), Release::Released);
    bench.assert_nothing_left().await;
}

/// A guard of a client that was woken by the store to get it, and so is known to hear.
async fn guard_of_one_who_hears(bench: &Bench) -> Guard {
    let (client, before) = (bench.client().await, bench.lock("a").await.lock().await.unwrap());
    let (mut events, lock) = (client.events(), client.lock_of(bench.kind(), &bench.key("a")).unwrap());
    let waiting = tokio::spawn(async move { lock.lock().await.unwrap() });
    heard(&mut events, "it waits", |what| matches!(what, What::Waiting { .. })).await;
    before.release().await.unwrap();
    soon("it gets in", waiting).await.unwrap()
}

/// With a lease of 30 s, it would take ten to find out by renewing.
async fn a_holder_is_told_at_once(bench: &Bench) {
    let (guard, next, _) = force_out(bench, guard_of_one_who_hears(bench).await).await;
    assert_eq!(soon("the holder is told", guard.lost()).await, Loss::Forced);
    assert!(!guard.is_held() && guard.cancellation_token().is_cancelled());
    assert_eq!(guard.release().await.unwrap_err().kind(), ErrorKind::Lost);
    assert!(next.is_held());
}

/// The notice comes before the client listens: it finds the hold gone when it begins to.
async fn a_holder_that_cannot_hear_yet_is_told_as_soon_as_it_can(bench: &Bench) {
    let (client, tap) = bench.deaf().await;
    let guard = client.lock_of(bench.kind(), &bench.key("a")).unwrap().lock().await.unwrap();
    let (guard, next, _) = force_out(bench, guard).await;
    tap.hear();
    let why = soon("the holder is told", guard.lost()).await;
    assert!(matches!(why, Loss::Forced | Loss::Gone), "{why:?}");
    assert!(next.is_held());
}

/// When it begins to listen, there is nothing yet to ask about; when there is, the notice is long past.
async fn a_holder_that_could_not_hear_before_it_knew_it_was_in_is_told(bench: &Bench) {
    let (client, tap) = bench.deaf().await;
    let (entering, other) = (enter_unknowingly(bench, &client, &tap).await, bench.lock("a").await);
    other.force_release().await.unwrap().expect("the store has granted it");
    let guard = other.lock().await.unwrap();
    tap.hear();
    // Once it is woken for another lock, it surely hears.
    let (mut events, lock) = (client.events(), client.lock_of(bench.kind(), &bench.key("b")).unwrap());
    let before = bench.lock("b").await.lock().await.unwrap();
    tap.withhold_grants(false);
    let waiting = tokio::spawn(async move { lock.lock().await.unwrap() });
    heard(&mut events, "it waits", |what| matches!(what, What::Waiting { .. })).await;
    before.release().await.unwrap();
    let hears = soon("it gets in", waiting).await.unwrap();
    tap.deliver_withheld();
    let lost = soon("the grant arrives", entering).await.unwrap();
    assert_eq!(soon("the holder is told", lost.lost()).await, Loss::Gone);
    assert!(guard.is_held() && hears.is_held());
}

/// Lets a client take the lock without letting it know.
async fn enter_unknowingly(bench: &Bench, client: &Client, tap: &Tap) -> JoinHandle<Guard> {
    let lock = client.lock_of(bench.kind(), &bench.key("a")).unwrap();
    tap.withhold_grants(true);
    let entering = tokio::spawn(async move { lock.lock_with(unrenewed(60_000)).await.unwrap() });
    eventually("the grant is on its way", async || tap.withheld() == 1).await;
    entering
}

async fn a_holder_that_was_put_out_before_it_knew_it_was_in_is_told(bench: &Bench) {
    let (client, tap) = bench.tapped().await;
    let (lock, other) = (client.lock_of(bench.kind(), &bench.key("a")).unwrap(), bench.lock("a").await);
    // Once this one is told, the client surely hears.
    let heard = lock.lock_with(renewed(1000)).await.unwrap();
    other.force_release().await.unwrap().expect("it is held");
    soon("the first is told", heard.lost()).await;

    let entering = enter_unknowingly(bench, &client, &tap).await;
    other.force_release().await.unwrap().expect("the store has granted it");
    tap.withhold_grants(false);
    tap.deliver_withheld();
    let guard = soon("the grant arrives", entering).await.unwrap();
    assert_eq!(soon("the holder is told", guard.lost()).await, Loss::Forced);
}

async fn all_guards_of_a_hold_are_put_out(bench: &Bench) {
    let (one, other) = (bench.lock("a").await, bench.lock("a").await);
    let outer = one.lock_with(renewed(1000)).await.unwrap();
    let inner = outer.reenter_with(renewed(1000)).await.unwrap();
    assert_eq!(other.force_release().await.unwrap().map(|held| held.holder().count), Some(2));
    soon("the outer guard is lost", outer.lost()).await;
    soon("the inner guard is lost", inner.lost()).await;
    assert_eq!(inner.release().await.unwrap_err().kind(), ErrorKind::Lost);
    assert_eq!(outer.release().await.unwrap_err().kind(), ErrorKind::Lost);
    bench.assert_nothing_left().await;
}

/// Whoever leaves takes its card along, and may be faster than we are.
async fn who_was_put_out_is_named_although_it_leaves_at_once(bench: &Bench) {
    let lock = bench.lock("a").await;
    for _ in 0..20 {
        let client = bench.client().await;
        let guard = client.lock_of(bench.kind(), &bench.key("a")).unwrap().lock_with(unrenewed(60_000)).await.unwrap();
        eventually("the holder has left its card", async || lock.inspect().await.unwrap().unwrap().card().is_some())
            .await;
        let leaving = tokio::spawn(async move {
            guard.lost().await;
            drop(guard);
            client.close(millis(5000)).await.unwrap();
        });
        let forced = lock.force_release().await.unwrap().expect("it was held");
        assert_eq!(forced.card().map(|card| card.pid), Some(std::process::id()));
        // Where nobody is told, a hold that is not renewed ends by itself.
        leaving.abort();
    }
}

async fn a_free_lock_can_be_forced_for_nothing(bench: &Bench) {
    let lock = bench.lock("a").await;
    assert_eq!(lock.force_release().await.unwrap(), None);
    bench.assert_nothing_left().await;
}
