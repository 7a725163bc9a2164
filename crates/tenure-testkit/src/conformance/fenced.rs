//! The re-entrant lock with tokens of its own.

use super::bench::{Bench, millis, renewed, unrenewed};
use super::case::cases;
use super::waiting::{eventually, soon};
use tenure_core::{Client, ErrorKind, Kind, Lock, Release};

cases!("fenced":
    tokens_are_counted_for_ever,
    re_entry_keeps_the_token,
    it_excludes_and_is_waited_for,
    kinds_do_not_mix,
);

fn fenced(bench: &Bench, client: &Client) -> Lock {
    client.fenced(&bench.key("a")).unwrap()
}

async fn tokens_are_counted_for_ever(bench: &Bench) {
    let clients = bench.clients(2).await;
    for token in 1..4 {
        let guard = fenced(bench, &clients[0]).lock().await.unwrap();
        assert_eq!(guard.token(), token);
        guard.release().await.unwrap();
    }
    let forgotten = fenced(bench, &clients[0]).lock_with(unrenewed(200)).await.unwrap();
    assert_eq!(forgotten.token(), 4);
    let next = soon("the lease ends", fenced(bench, &clients[1]).lock()).await.unwrap();
    assert_eq!(next.token(), 5);
    fenced(bench, &clients[0]).force_release().await.unwrap().unwrap();
    let guard = fenced(bench, &clients[1]).try_lock().await.unwrap().expect("it is free");
    assert_eq!(guard.token(), 6);
    guard.release().await.unwrap();
    assert_eq!(fenced(bench, &clients[0]).lock_timeout(millis(5000)).await.unwrap().token(), 7);
}

async fn re_entry_keeps_the_token(bench: &Bench) {
    let client = bench.client().await;
    let outer = fenced(bench, &client).lock_with(renewed(1000)).await.unwrap();
    let inner = outer.reenter().await.unwrap();
    assert_eq!((outer.token(), inner.token()), (1, 1));
    assert_eq!(outer.release().await.unwrap(), Release::StillHeld(1));
    assert_eq!(inner.release().await.unwrap(), Release::Released);
    assert_eq!(fenced(bench, &client).lock().await.unwrap().token(), 2);
}

async fn it_excludes_and_is_waited_for(bench: &Bench) {
    let (one, other) = (bench.client().await, bench.client().await);
    let guard = fenced(bench, &one).lock().await.unwrap();
    assert!(fenced(bench, &other).try_lock().await.unwrap().is_none());
    let lock = fenced(bench, &other);
    let waiting = tokio::spawn(async move { lock.lock().await.unwrap() });
    let held = fenced(bench, &one).inspect().await.unwrap().unwrap();
    assert_eq!((held.kind, held.holder().token), (Kind::Fenced, Some(1)));
    guard.release().await.unwrap();
    assert_eq!(soon("the waiter gets in", waiting).await.unwrap().token(), 2);
    assert!(guard_is_gone(&one, bench).await);
}

async fn guard_is_gone(client: &Client, bench: &Bench) -> bool {
    let lock = fenced(bench, client);
    eventually("it was dropped", async || !lock.is_locked().await.unwrap()).await;
    true
}

async fn kinds_do_not_mix(bench: &Bench) {
    let client = bench.client().await;
    let guard = fenced(bench, &client).lock().await.unwrap();
    for kind in [Kind::Reentrant, Kind::Simple, Kind::Fair, Kind::Read] {
        let lock = client.lock_of(kind, &bench.key("a")).unwrap();
        let error = lock.lock_timeout(millis(5000)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{kind}: {error}");
    }
    guard.release().await.unwrap();
    let other = client.lock(&bench.key("a")).unwrap().lock().await.unwrap();
    let error = fenced(bench, &client).lock_timeout(millis(5000)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    other.release().await.unwrap();
}
