//! The re-entrant lock with tokens of its own.

use super::bench::{Bench, millis, renewed, unrenewed};
use super::case::cases;
use super::waiting::{eventually, soon};
use tenure_core::{Client, ErrorKind, Kind, Lock, Release};

cases!("fenced":
    tokens_rise_for_ever,
    tokens_rise_over_those_of_other_kinds,
    re_entry_keeps_the_token,
    it_excludes_and_is_waited_for,
    kinds_do_not_mix,
);

fn fenced(bench: &Bench, client: &Client) -> Lock {
    client.fenced(&bench.key("a")).unwrap()
}

async fn tokens_rise_for_ever(bench: &Bench) {
    let clients = bench.clients(2).await;
    let mut last = 0;
    let mut rises = |token| {
        assert!(token > last, "{token} after {last}");
        last = token;
    };
    for _ in 0..3 {
        let guard = fenced(bench, &clients[0]).lock().await.unwrap();
        rises(guard.token());
        guard.release().await.unwrap();
    }
    let forgotten = fenced(bench, &clients[0]).lock_with(unrenewed(200)).await.unwrap();
    rises(forgotten.token());
    let next = soon("the lease ends", fenced(bench, &clients[1]).lock()).await.unwrap();
    rises(next.token());
    fenced(bench, &clients[0]).force_release().await.unwrap().unwrap();
    let guard = fenced(bench, &clients[1]).try_lock().await.unwrap().expect("it is free");
    rises(guard.token());
    guard.release().await.unwrap();
    rises(fenced(bench, &clients[0]).lock_timeout(millis(5000)).await.unwrap().token());
}

/// Whoever guards a write does not ask as which kind its lock is held.
async fn tokens_rise_over_those_of_other_kinds(bench: &Bench) {
    let client = bench.client().await;
    let mut last = 0;
    for _ in 0..3 {
        for kind in Kind::ALL.iter().copied().filter(|kind| !kind.has_permits() && *kind != Kind::Latch) {
            let guard = client.lock_of(kind, &bench.key("a")).unwrap().lock_timeout(millis(5000)).await.unwrap();
            assert!(guard.token() > last, "{kind}: {} after {last}", guard.token());
            last = guard.token();
            guard.release().await.unwrap();
        }
    }
}

async fn re_entry_keeps_the_token(bench: &Bench) {
    let client = bench.client().await;
    let outer = fenced(bench, &client).lock_with(renewed(1000)).await.unwrap();
    let token = outer.token();
    let inner = outer.reenter().await.unwrap();
    assert_eq!((outer.token(), inner.token()), (token, token));
    assert_eq!(outer.release().await.unwrap(), Release::StillHeld(1));
    assert_eq!(inner.release().await.unwrap(), Release::Released);
    assert!(fenced(bench, &client).lock().await.unwrap().token() > token);
}

async fn it_excludes_and_is_waited_for(bench: &Bench) {
    let (one, other) = (bench.client().await, bench.client().await);
    let guard = fenced(bench, &one).lock().await.unwrap();
    assert!(fenced(bench, &other).try_lock().await.unwrap().is_none());
    let lock = fenced(bench, &other);
    let waiting = tokio::spawn(async move { lock.lock().await.unwrap() });
    let held = fenced(bench, &one).inspect().await.unwrap().unwrap();
    assert_eq!((held.kind, held.holder().token), (Kind::Fenced, Some(guard.token())));
    let token = guard.token();
    guard.release().await.unwrap();
    assert!(soon("the waiter gets in", waiting).await.unwrap().token() > token);
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
