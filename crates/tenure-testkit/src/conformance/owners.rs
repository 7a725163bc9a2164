//! Owners: re-entry that is chosen, never guessed.

use super::bench::{Bench, unrenewed};
use super::case::cases;
use super::waiting::{eventually, heard, soon};
use futures_util::future::{BoxFuture, join};
use tenure_core::{ErrorKind, Lock, Options, Owner, Release, What};

cases!("owners":
    nested_calls_in_a_scope_go_in_again,
    an_owner_can_be_given_by_hand,
    an_owner_goes_in_past_all_waiters,
    re_entry_outside_a_scope_is_refused,
    a_spawned_task_is_nobody,
    different_owners_exclude_each_other,
    without_asking_for_it_a_scope_does_not_go_in_again,
    branches_of_one_scope_are_one_owner,
    an_owner_that_left_starts_anew,
    an_owner_that_lost_its_lock_starts_anew,
);

fn reentrant() -> Options {
    Options::new().reentrant()
}

async fn holders(lock: &Lock) -> Option<u32> {
    lock.inspect().await.unwrap().map(|held| held.holder().count)
}

/// A method that locks and calls itself, as deep as it is told.
fn method(lock: &Lock, depth: u32, deepest: u32) -> BoxFuture<'_, ()> {
    Box::pin(async move {
        let guard = soon("going in", lock.lock_with(reentrant())).await.unwrap();
        assert_eq!(holders(lock).await, Some(depth));
        if depth < deepest {
            method(lock, depth + 1, deepest).await;
        }
        let left = guard.release().await.unwrap();
        assert_eq!(left, if depth == 1 { Release::Released } else { Release::StillHeld(depth - 1) });
    })
}

async fn nested_calls_in_a_scope_go_in_again(bench: &Bench) {
    let lock = bench.lock("a").await;
    Owner::new().scope(method(&lock, 1, 4)).await;
    bench.assert_nothing_left().await;
}

async fn an_owner_can_be_given_by_hand(bench: &Bench) {
    let lock = bench.lock("a").await;
    let owner = Owner::labelled("invoice run");
    let outer = lock.lock_with(Options::new().owner(owner.clone())).await.unwrap();
    let again = lock.try_lock_with(Options::new().owner(owner)).await.unwrap().expect("the owner is in");
    assert_eq!((again.claim(), again.token()), (outer.claim(), outer.token()));
    assert_eq!(holders(&lock).await, Some(2));
    assert_eq!(again.release().await.unwrap(), Release::StillHeld(1));
    assert_eq!(outer.release().await.unwrap(), Release::Released);
    bench.assert_nothing_left().await;
}

async fn an_owner_goes_in_past_all_waiters(bench: &Bench) {
    let client = bench.client().await;
    let mut events = client.events();
    let lock = client.lock_of(bench.kind(), &bench.key("a")).unwrap();
    let owner = Owner::new();
    let outer = lock.lock_with(Options::new().owner(owner.clone())).await.unwrap();
    let waiter = lock.clone();
    let waiting = tokio::spawn(async move { waiter.lock().await.unwrap().release().await.unwrap() });
    heard(&mut events, "somebody waits", |what| matches!(what, What::Waiting { .. })).await;
    let inner = soon("the owner goes in", lock.lock_with(Options::new().owner(owner))).await.unwrap();
    assert!(!waiting.is_finished());
    drop((inner, outer));
    soon("the waiter gets in", waiting).await.unwrap();
}

async fn re_entry_outside_a_scope_is_refused(bench: &Bench) {
    let lock = bench.lock("a").await;
    for error in
        [lock.lock_with(reentrant()).await.unwrap_err(), lock.try_lock_with(reentrant()).await.map(drop).unwrap_err()]
    {
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains("scope"), "{error}");
    }
    bench.assert_nothing_left().await;
}

async fn a_spawned_task_is_nobody(bench: &Bench) {
    let lock = bench.lock("a").await;
    let inside = async {
        let guard = lock.lock_with(reentrant()).await.unwrap();
        let other = lock.clone();
        let spawned = tokio::spawn(async move {
            assert_eq!(Owner::current(), None);
            other.try_lock_with(reentrant()).await.map(|guard| guard.is_some())
        });
        let error = spawned.await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        guard.release().await.unwrap();
    };
    Owner::new().scope(inside).await;
    bench.assert_nothing_left().await;
}

async fn different_owners_exclude_each_other(bench: &Bench) {
    let lock = bench.lock("a").await;
    let guard = lock.lock_with(Options::new().owner(Owner::labelled("same"))).await.unwrap();
    let other = lock.try_lock_with(Options::new().owner(Owner::labelled("same"))).await.unwrap();
    assert!(other.is_none(), "a label is not an identity");
    let scoped = Owner::new().scope(lock.try_lock_with(reentrant())).await.unwrap();
    assert!(scoped.is_none());
    guard.release().await.unwrap();
}

async fn without_asking_for_it_a_scope_does_not_go_in_again(bench: &Bench) {
    let lock = bench.lock("a").await;
    let inside = async {
        let guard = lock.lock_with(reentrant()).await.unwrap();
        assert!(lock.try_lock().await.unwrap().is_none());
        guard.release().await.unwrap();
    };
    Owner::new().scope(inside).await;
}

async fn branches_of_one_scope_are_one_owner(bench: &Bench) {
    let lock = bench.lock("a").await;
    let inside = async {
        let outer = lock.lock_with(reentrant()).await.unwrap();
        let (one, other) = join(lock.lock_with(reentrant()), lock.lock_with(reentrant())).await;
        let (one, other) = (one.unwrap(), other.unwrap());
        assert_eq!(holders(&lock).await, Some(3));
        drop((one, other));
        outer.release().await.unwrap();
    };
    soon("all branches", Owner::new().scope(inside)).await;
    eventually("nothing is left", async || bench.keys_left().await.is_empty()).await;
}

async fn an_owner_that_left_starts_anew(bench: &Bench) {
    let lock = bench.lock("a").await;
    let options = Options::new().owner(Owner::new());
    let first = lock.lock_with(options.clone()).await.unwrap();
    let token = first.token();
    first.release().await.unwrap();
    let second = lock.lock_with(options).await.unwrap();
    assert!(second.token() > token);
    assert_eq!(holders(&lock).await, Some(1));
    assert_eq!(second.release().await.unwrap(), Release::Released);
    bench.assert_nothing_left().await;
}

async fn an_owner_that_lost_its_lock_starts_anew(bench: &Bench) {
    let lock = bench.lock("a").await;
    let owner = Owner::new();
    let lost = lock.lock_with(unrenewed(200).owner(owner.clone())).await.unwrap();
    soon("the lease ends", lost.lost()).await;
    let fresh = soon("the lock is free", lock.lock_with(Options::new().owner(owner.clone()))).await.unwrap();
    assert!(fresh.token() > lost.token());
    // The old guard is nothing to the new hold.
    drop(lost);
    let inner = soon("going in again", lock.lock_with(Options::new().owner(owner))).await.unwrap();
    assert_eq!(inner.claim(), fresh.claim());
    assert_eq!(inner.release().await.unwrap(), Release::StillHeld(1));
    assert_eq!(fresh.release().await.unwrap(), Release::Released);
    bench.assert_nothing_left().await;
}
