//! Taking a lock, waiting for it, giving it back.

use super::bench::{Bench, millis, renewed};
use super::case::cases;
use super::waiting::{eventually, heard, soon, waits};
use crate::History;
use futures_util::future::join_all;
use std::sync::{Arc, Mutex};
use std::time::Instant;
use tenure_core::{ErrorKind, Lock, Release, What};

cases!("basics":
    a_lock_is_taken_and_given_back,
    a_held_lock_is_not_to_be_had,
    a_timeout_names_the_key_and_the_holder,
    a_timeout_in_the_local_line_names_the_holder_too,
    a_waiter_gets_in_when_the_holder_leaves,
    a_waiter_of_the_same_client_gets_in_when_the_holder_leaves,
    waiters_of_one_client_are_served_in_order,
    tasks_that_share_a_lock_exclude_each_other,
    locks_on_different_keys_do_not_meet,
);

async fn a_lock_is_taken_and_given_back(bench: &Bench) {
    let lock = bench.lock("a").await;
    assert!(!lock.is_locked().await.unwrap());
    let guard = lock.lock().await.unwrap();
    assert!(guard.is_held());
    assert_eq!((guard.key(), lock.key().as_str()), (lock.key(), &*bench.key("a")));
    assert!(lock.is_locked().await.unwrap());
    assert_eq!(guard.release().await.unwrap(), Release::Released);
    assert!(!lock.is_locked().await.unwrap());
    bench.assert_nothing_left().await;
}

async fn a_held_lock_is_not_to_be_had(bench: &Bench) {
    let (one, other) = (bench.lock("a").await, bench.lock("a").await);
    let guard = one.lock().await.unwrap();
    assert!(one.try_lock().await.unwrap().is_none(), "the same client got in twice");
    assert!(other.try_lock().await.unwrap().is_none(), "another client got in");
    guard.release().await.unwrap();
    let guard = other.try_lock().await.unwrap().expect("the lock is free");
    guard.release().await.unwrap();
    bench.assert_nothing_left().await;
}

async fn a_timeout_names_the_key_and_the_holder(bench: &Bench) {
    let (one, other) = (bench.lock("a").await, bench.lock("a").await);
    let guard = one.lock().await.unwrap();
    // A client's card follows its first lock.
    eventually("the holder has left its card", async || other.inspect().await.unwrap().unwrap().card().is_some()).await;
    let (bound, began) = (millis(200), Instant::now());
    let error = other.lock_timeout(bound).await.unwrap_err();
    let waited = began.elapsed();
    assert!(waited >= bound && waited <= bound + millis(3000), "waited {waited:?} for {bound:?}");
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert_eq!(error.key(), Some(one.key()));
    assert_eq!(error.holder().map(|holder| &holder.claim), Some(guard.claim()));
    let card = error.holder_card().expect("the holder has left its card");
    assert_eq!((card.pid, card.host.is_empty(), &*card.label), (std::process::id(), false, "conformance"));
    let text = error.to_string();
    assert!(text.contains(&bench.key("a")) && text.contains(&format!("{} pid {}", card.host, card.pid)), "{text}");
    assert!(guard.is_held());
}

async fn a_timeout_in_the_local_line_names_the_holder_too(bench: &Bench) {
    let (one, other) = (bench.lock("a").await, bench.lock("a").await);
    let guard = one.lock().await.unwrap();
    let mut first = Box::pin(other.lock());
    assert!(waits(&mut first).await);
    // Behind it in the client's line, this one never gets to ask the store.
    let second = other.lock_timeout(millis(200));
    let error = tokio::select! {
        _ = &mut first => panic!("got in beside the holder"),
        second = second => second.unwrap_err(),
    };
    assert_eq!((error.kind(), error.key()), (ErrorKind::Timeout, Some(one.key())));
    assert_eq!(error.holder().map(|holder| &holder.claim), Some(guard.claim()), "{error}");
}

async fn a_waiter_gets_in_when_the_holder_leaves(bench: &Bench) {
    let (one, other) = (bench.client().await, bench.client().await);
    let key = bench.key("a");
    waiter_gets_in(
        &one.lock_of(bench.kind(), &key).unwrap(),
        &other.lock_of(bench.kind(), &key).unwrap(),
        &mut other.events(),
    )
    .await;
}

async fn a_waiter_of_the_same_client_gets_in_when_the_holder_leaves(bench: &Bench) {
    let client = bench.client().await;
    let lock = client.lock_of(bench.kind(), &bench.key("a")).unwrap();
    waiter_gets_in(&lock, &lock.clone(), &mut client.events()).await;
}

/// The lease is far too long for a waiter to get in by its end.
async fn waiter_gets_in(holder: &Lock, waiter: &Lock, events: &mut tenure_core::Events) {
    let guard = holder.lock().await.unwrap();
    let waiter = waiter.clone();
    let waiting = tokio::spawn(async move { waiter.lock().await.unwrap() });
    heard(events, "the waiter waits", |what| matches!(what, What::Waiting { .. })).await;
    assert!(!waiting.is_finished());
    let token = guard.token();
    guard.release().await.unwrap();
    let guard = soon("the waiter gets in", waiting).await.unwrap();
    assert!(guard.is_held() && guard.token() > token);
    assert_eq!(guard.release().await.unwrap(), Release::Released);
}

async fn waiters_of_one_client_are_served_in_order(bench: &Bench) {
    let lock = bench.lock("a").await;
    let guard = lock.lock().await.unwrap();
    let served = Arc::new(Mutex::new(Vec::new()));
    let mut waiting = Vec::new();
    for number in 0..12 {
        let (lock, served) = (lock.clone(), Arc::clone(&served));
        let mut waiter = Box::pin(async move {
            let guard = lock.lock().await.unwrap();
            served.lock().unwrap().push(number);
            guard.release().await.unwrap();
        });
        // The first poll is what gets in line.
        assert!(waits(&mut waiter).await);
        waiting.push(waiter);
    }
    guard.release().await.unwrap();
    soon("everyone is served", join_all(waiting)).await;
    assert_eq!(*served.lock().unwrap(), (0..12).collect::<Vec<_>>());
    bench.assert_nothing_left().await;
}

async fn tasks_that_share_a_lock_exclude_each_other(bench: &Bench) {
    let lock = bench.lock("a").await;
    let history = History::new();
    let task = |who: &'static str| {
        let (lock, history) = (lock.clone(), history.clone());
        tokio::spawn(async move {
            for _ in 0..50 {
                let asking = history.asking(lock.key().as_str(), who);
                let guard = lock.lock_with(renewed(2000)).await.unwrap();
                let hold = asking.granted(guard.token());
                tokio::task::yield_now().await;
                hold.ended();
                guard.release().await.unwrap();
            }
        })
    };
    let (one, other) = (task("one"), task("other"));
    one.await.unwrap();
    other.await.unwrap();
    history.check().assert_clean().assert_at_least(100);
}

async fn locks_on_different_keys_do_not_meet(bench: &Bench) {
    let client = bench.client().await;
    let one = client.lock_of(bench.kind(), &bench.key("a")).unwrap().lock().await.unwrap();
    let other = client
        .lock_of(bench.kind(), &bench.key("a:b"))
        .unwrap()
        .try_lock()
        .await
        .unwrap()
        .expect("another key is free");
    assert_eq!(one.release().await.unwrap(), Release::Released);
    assert!(other.is_held());
    assert!(client.lock_of(bench.kind(), &bench.key("a:b")).unwrap().is_locked().await.unwrap());
    other.release().await.unwrap();
}
