//! Claims that stand under others: what a holder runs goes in beside it, and its siblings wait.

use super::bench::{Bench, renewed, unrenewed};
use super::case::cases;
use super::waiting::{eventually, heard, soon};
use tenure_core::{ErrorKind, Guard, Lock, Loss, Release, What};

cases!("nested":
    it_goes_in_beside_those_above_it,
    siblings_exclude_each_other,
    grandchildren_go_in_too,
    the_lock_is_free_when_the_last_is_out,
    one_that_died_keeps_its_siblings_out_for_its_lease_only,
    it_is_renewed_re_entered_and_counted,
    strangers_wait_for_all,
    all_are_seen_and_all_are_put_out,
    without_anybody_above_it_takes_the_lock,
    a_simple_lock_refuses_it,
    a_lineage_that_is_none_is_refused,
);

/// A holder, and the lock as a program of its would have it.
async fn held(bench: &Bench) -> (Guard, Lock) {
    let guard = bench.lock("a").await.lock_with(renewed(60_000)).await.unwrap();
    (guard, bench.lock("a").await)
}

async fn it_goes_in_beside_those_above_it(bench: &Bench) {
    let (outer, lock) = held(bench).await;
    let inner = lock.lock_with(renewed(2000).under(&outer.lineage())).await.unwrap();
    assert_eq!(inner.token(), outer.token());
    assert_eq!(inner.lineage(), format!("{}/{}", outer.claim(), inner.claim()));
    assert_eq!(inner.release().await.unwrap(), Release::Left);
    assert!(outer.is_held());
    assert_eq!(outer.release().await.unwrap(), Release::Released);
    bench.assert_nothing_left().await;
}

async fn siblings_exclude_each_other(bench: &Bench) {
    let (outer, lock) = held(bench).await;
    let client = bench.client().await;
    let sibling = client.lock_of(bench.kind(), &bench.key("a")).unwrap();
    let under = || renewed(60_000).under(&outer.lineage());
    let inner = lock.lock_with(under()).await.unwrap();
    assert!(sibling.try_lock_with(under()).await.unwrap().is_none());
    let mut events = client.events();
    let waiting = tokio::spawn({
        let (sibling, under) = (sibling.clone(), under());
        async move { sibling.lock_with(under).await.unwrap() }
    });
    heard(&mut events, "it waits", |what| matches!(what, What::Waiting { .. })).await;
    inner.release().await.unwrap();
    let next = soon("the sibling gets in", waiting).await.unwrap();
    assert_eq!(next.token(), outer.token());
}

async fn grandchildren_go_in_too(bench: &Bench) {
    let (outer, lock) = held(bench).await;
    let child = lock.lock_with(renewed(2000).under(&outer.lineage())).await.unwrap();
    let grandchild = lock.lock_with(renewed(2000).under(&child.lineage())).await.unwrap();
    assert!(lock.try_lock_with(renewed(2000).under(&child.lineage())).await.unwrap().is_none(), "a sibling of it");
    let seen = lock.inspect().await.unwrap().unwrap();
    let claims: Vec<_> = seen.holders.iter().map(|held| held.holder.claim.clone()).collect();
    assert_eq!(claims, [outer.claim(), child.claim(), grandchild.claim()].map(Clone::clone));
    assert_eq!(grandchild.release().await.unwrap(), Release::Left);
    assert_eq!(child.release().await.unwrap(), Release::Left);
}

async fn the_lock_is_free_when_the_last_is_out(bench: &Bench) {
    let (outer, lock) = held(bench).await;
    let inner = lock.lock_with(renewed(1000).under(&outer.lineage())).await.unwrap();
    assert_eq!(outer.release().await.unwrap(), Release::Left);
    let stranger = bench.lock("a").await;
    assert!(stranger.try_lock().await.unwrap().is_none());
    inner.check().unwrap();
    assert_eq!(inner.release().await.unwrap(), Release::Released);
    assert!(stranger.try_lock().await.unwrap().is_some_and(|guard| guard.token() > 0));
}

async fn one_that_died_keeps_its_siblings_out_for_its_lease_only(bench: &Bench) {
    let (outer, lock) = held(bench).await;
    let inner = lock.lock_with(unrenewed(300).under(&outer.lineage())).await.unwrap();
    let sibling = bench.lock("a").await;
    let next = soon("its lease ends", sibling.lock_with(renewed(1000).under(&outer.lineage()))).await.unwrap();
    assert!(!inner.is_held() && outer.is_held());
    assert_eq!(inner.release().await.unwrap_err().kind(), ErrorKind::Lost);
    // The same when nobody above is left.
    outer.release().await.unwrap();
    let stranger = bench.lock("a").await;
    drop(next);
    soon("the lock is free", stranger.lock()).await.unwrap().release().await.unwrap();
    bench.assert_nothing_left().await;
}

async fn it_is_renewed_re_entered_and_counted(bench: &Bench) {
    let (outer, _) = held(bench).await;
    let client = bench.client().await;
    let lock = client.lock_of(bench.kind(), &bench.key("a")).unwrap();
    let mut events = client.events();
    let inner = lock.lock_with(renewed(1000).under(&outer.lineage())).await.unwrap();
    for _ in 0..4 {
        heard(&mut events, "it is renewed", |what| matches!(what, What::Renewed)).await;
    }
    let twice = inner.reenter().await.unwrap();
    let count = async || lock.inspect().await.unwrap().unwrap().holders[1].holder.count;
    assert_eq!(count().await, 2);
    assert_eq!(inner.release().await.unwrap(), Release::StillHeld(1));
    assert_eq!(count().await, 1);
    twice.check().unwrap();
    drop(twice);
    eventually("the janitor takes it out", async || lock.inspect().await.unwrap().unwrap().holders.len() == 1).await;
    outer.check().unwrap();
}

async fn strangers_wait_for_all(bench: &Bench) {
    let (outer, lock) = held(bench).await;
    let inner = lock.lock_with(renewed(60_000).under(&outer.lineage())).await.unwrap();
    let client = bench.client().await;
    let mut events = client.events();
    let stranger = client.lock_of(bench.kind(), &bench.key("a")).unwrap();
    let waiting = tokio::spawn(async move { stranger.lock().await.unwrap() });
    heard(&mut events, "it waits", |what| matches!(what, What::Waiting { .. })).await;
    outer.release().await.unwrap();
    assert!(lock.try_lock().await.unwrap().is_none(), "one is still in");
    let token = inner.token();
    inner.release().await.unwrap();
    assert!(soon("the stranger gets in", waiting).await.unwrap().token() > token);
}

async fn all_are_seen_and_all_are_put_out(bench: &Bench) {
    let (outer, lock) = held(bench).await;
    let inner = lock.lock_with(renewed(1000).under(&outer.lineage())).await.unwrap();
    let forced = bench.lock("a").await.force_release().await.unwrap().expect("it is held");
    assert_eq!(forced.holders.len(), 2);
    for guard in [&inner, &outer] {
        guard.renew().await.ok();
        let why = soon("it is told", guard.lost()).await;
        assert!(matches!(why, Loss::Forced | Loss::Gone), "{why:?}");
    }
}

async fn without_anybody_above_it_takes_the_lock(bench: &Bench) {
    let (outer, lock) = held(bench).await;
    let lineage = outer.lineage();
    outer.release().await.unwrap();
    let inner = lock.lock_with(renewed(1000).under(&lineage)).await.unwrap();
    assert!(bench.lock("a").await.try_lock().await.unwrap().is_none());
    assert_eq!(inner.release().await.unwrap(), Release::Released);
    let short = lock.lock_with(unrenewed(200).under(&lineage)).await.unwrap();
    soon("it ends by itself", bench.lock("a").await.lock()).await.unwrap().release().await.unwrap();
    assert!(!short.is_held());
}

async fn a_simple_lock_refuses_it(bench: &Bench) {
    let client = bench.client().await;
    let lock = client.simple(&bench.key("a")).unwrap();
    let outer = lock.lock_with(renewed(2000)).await.unwrap();
    let other = bench.client().await.simple(&bench.key("a")).unwrap();
    let error = other.lock_with(renewed(2000).under(&outer.lineage())).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    assert!(error.to_string().contains("wait for itself"), "{error}");
}

async fn a_lineage_that_is_none_is_refused(bench: &Bench) {
    let lock = bench.lock("a").await;
    for lineage in ["", "x", "a:1/", "a:1//b:2", "a:1\n", "a:1 b:2", &"a:1/".repeat(2000)] {
        let error = lock.lock_with(renewed(1000).under(lineage)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{lineage:?}: {error}");
    }
    assert!(!lock.is_locked().await.unwrap());
}
