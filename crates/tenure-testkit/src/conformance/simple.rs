//! The simple lock, and kinds that do not mix.

use super::bench::{Bench, millis, renewed, unrenewed};
use super::case::cases;
use super::waiting::{eventually, heard, soon};
use crate::History;
use futures_util::future::join_all;
use tenure_core::{Client, ErrorKind, Kind, Lock, Loss, Owner, Release, What};

cases!("simple":
    it_is_taken_and_given_back,
    others_wait_and_are_woken,
    it_is_renewed_and_ends_when_it_is_not,
    a_late_release_frees_nobody,
    it_can_be_seen_listed_and_forced,
    a_cancelled_attempt_leaves_nothing,
    a_crowd_does_not_meet,
    its_holder_is_refused_instead_of_waiting_for_itself,
    it_is_not_entered_twice,
    a_key_held_as_another_kind_is_a_conflict,
    kinds_wait_for_their_own_only,
);

async fn simple(bench: &Bench) -> (Client, Lock) {
    let client = bench.client().await;
    let lock = client.simple(&bench.key("a")).unwrap();
    (client, lock)
}

async fn it_is_taken_and_given_back(bench: &Bench) {
    let ((_one, lock), (_other, other)) = (simple(bench).await, simple(bench).await);
    let guard = lock.lock().await.unwrap();
    assert_eq!((lock.kind(), guard.kind()), (Kind::Simple, Kind::Simple));
    assert!(other.try_lock().await.unwrap().is_none());
    assert_eq!(guard.release().await.unwrap(), Release::Released);
    let next = other.try_lock().await.unwrap().expect("it is free");
    drop(next);
    eventually("the janitor gives it back", async || !lock.is_locked().await.unwrap()).await;
    bench.assert_nothing_left().await;
}

async fn others_wait_and_are_woken(bench: &Bench) {
    let ((_one, lock), (client, other)) = (simple(bench).await, simple(bench).await);
    let guard = lock.lock_with(renewed(60_000)).await.unwrap();
    let mut events = client.events();
    let waiting = tokio::spawn(async move { other.lock().await.unwrap() });
    heard(&mut events, "it waits", |what| matches!(what, What::Waiting { .. })).await;
    let token = guard.token();
    guard.release().await.unwrap();
    let next = soon("the waiter gets in", waiting).await.unwrap();
    assert!(next.token() > token);
}

async fn it_is_renewed_and_ends_when_it_is_not(bench: &Bench) {
    let ((client, lock), (_other, other)) = (simple(bench).await, simple(bench).await);
    let mut events = client.events();
    let guard = lock.lock_with(renewed(1000)).await.unwrap();
    for _ in 0..4 {
        heard(&mut events, "it is renewed", |what| matches!(what, What::Renewed)).await;
    }
    assert!(guard.is_held() && other.try_lock().await.unwrap().is_none());
    guard.renew().await.unwrap();
    guard.release().await.unwrap();
    let short = lock.lock_with(unrenewed(200)).await.unwrap();
    let next = soon("the lease ends", other.lock()).await.unwrap();
    assert_eq!(short.lost().await, Loss::LeaseEnded);
    assert!(next.token() > short.token());
}

async fn a_late_release_frees_nobody(bench: &Bench) {
    let ((_one, lock), (_other, other)) = (simple(bench).await, simple(bench).await);
    let late = lock.lock_with(unrenewed(200)).await.unwrap();
    let next = soon("the lease ends", other.lock()).await.unwrap();
    assert_eq!(late.release().await.unwrap_err().kind(), ErrorKind::Lost);
    assert!(lock.try_lock().await.unwrap().is_none());
    assert_eq!(next.release().await.unwrap(), Release::Released);
}

async fn it_can_be_seen_listed_and_forced(bench: &Bench) {
    let ((_one, lock), (other, seen)) = (simple(bench).await, simple(bench).await);
    let guard = lock.lock_with(renewed(2000)).await.unwrap();
    let held = seen.inspect().await.unwrap().expect("it is held");
    assert_eq!((held.kind, held.holders.len()), (Kind::Simple, 1));
    let holder = held.holder();
    assert_eq!((&holder.claim, holder.count, holder.token), (guard.claim(), 1, Some(guard.token())));
    assert!(holder.remaining.is_some_and(|left| left <= millis(2000)), "{holder:?}");
    let listed = other.list(&format!("*{}", bench.key("a"))).await.unwrap();
    assert_eq!(
        listed.iter().map(|held| (held.kind, held.key.as_str())).collect::<Vec<_>>(),
        [(Kind::Simple, bench.key("a").as_str())]
    );
    // Whoever looks or forces need not know the kind.
    let unsuspecting = other.lock(&bench.key("a")).unwrap();
    assert!(unsuspecting.is_locked().await.unwrap());
    assert_eq!(unsuspecting.force_release().await.unwrap().map(|held| held.kind), Some(Kind::Simple));
    let why = soon("the holder is told", guard.lost()).await;
    assert!(matches!(why, Loss::Forced | Loss::Gone), "{why:?}");
}

async fn a_cancelled_attempt_leaves_nothing(bench: &Bench) {
    let (client, tap) = bench.tapped().await;
    let lock = client.simple(&bench.key("a")).unwrap();
    tap.withhold_grants(true);
    let attempt = tokio::spawn({
        let lock = lock.clone();
        async move { lock.lock_with(renewed(60_000)).await.map(drop) }
    });
    eventually("the store has granted it", async || tap.withheld() == 1).await;
    attempt.abort();
    tap.withhold_grants(false);
    let guard = soon("the janitor frees it", lock.lock()).await.unwrap();
    guard.release().await.unwrap();
}

async fn a_crowd_does_not_meet(bench: &Bench) {
    let clients = bench.clients(3).await;
    let history = History::new();
    let tasks = (0..24).map(|number| {
        let lock = clients[number % clients.len()].simple(&bench.key("a")).unwrap();
        let history = history.clone();
        tokio::spawn(async move {
            for _ in 0..4 {
                let asking = history.asking(lock.key().as_str(), &format!("task {number}"));
                let guard = lock.lock_with(renewed(2000)).await.unwrap();
                let hold = asking.granted(guard.token());
                tokio::task::yield_now().await;
                hold.ended();
                guard.release().await.unwrap();
            }
        })
    });
    for task in join_all(tasks).await {
        task.unwrap();
    }
    history.check().assert_clean().assert_at_least(96);
    bench.assert_nothing_left().await;
}

async fn its_holder_is_refused_instead_of_waiting_for_itself(bench: &Bench) {
    let (_client, lock) = simple(bench).await;
    let owner = Owner::new();
    let options = || renewed(2000).owner(owner.clone());
    let guard = lock.lock_with(options()).await.unwrap();
    for attempt in [lock.lock_with(options()).await.map(drop), lock.try_lock_with(options()).await.map(drop)] {
        let error = attempt.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        assert!(error.to_string().contains("wait for itself"), "{error}");
    }
    assert!(guard.is_held());
    guard.release().await.unwrap();
    lock.lock_with(options()).await.unwrap().release().await.unwrap();
}

async fn it_is_not_entered_twice(bench: &Bench) {
    let (_client, lock) = simple(bench).await;
    let guard = lock.lock().await.unwrap();
    let error = guard.reenter().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_eq!(guard.release().await.unwrap(), Release::Released);
}

async fn a_key_held_as_another_kind_is_a_conflict(bench: &Bench) {
    let (client, simple) = simple(bench).await;
    let reentrant = client.lock(&bench.key("a")).unwrap();
    for (held, asked) in [(&simple, &reentrant), (&reentrant, &simple)] {
        let guard = held.lock_with(renewed(2000)).await.unwrap();
        for attempt in [asked.lock().await.map(drop), asked.try_lock().await.map(drop)] {
            let error = attempt.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
            let said = error.to_string();
            assert!(said.contains(&bench.key("a")), "{said}");
            assert!(said.contains(&format!("asked for={} held as={}", asked.kind(), held.kind())), "{said}");
        }
        assert_eq!(held.inspect().await.unwrap().map(|held| held.kind), Some(held.kind()));
        guard.check().unwrap();
        assert_eq!(guard.release().await.unwrap(), Release::Released);
    }
}

async fn kinds_wait_for_their_own_only(bench: &Bench) {
    let (client, simple) = simple(bench).await;
    let guard = simple.lock_with(renewed(60_000)).await.unwrap();
    let mut events = client.events();
    let waiting = tokio::spawn(async move { simple.lock().await.map(drop) });
    heard(&mut events, "it waits", |what| matches!(what, What::Waiting { .. })).await;
    let other = client.lock(&bench.key("a")).unwrap();
    let error = soon("the other kind is answered at once", other.lock()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    guard.release().await.unwrap();
    soon("the waiter gets in", waiting).await.unwrap().unwrap();
}
