//! Closing a client.

use super::bench::{Bench, millis, renewed};
use super::case::cases;
use super::waiting::{eventually, heard, soon, waits};
use std::time::{Duration, Instant};
use tenure_core::{Client, ErrorKind, Loss, Release, What};

cases!("closing":
    an_idle_client_closes,
    a_close_waits_for_guards,
    guards_are_renewed_while_a_close_waits,
    a_close_waits_for_the_janitor,
    a_closed_client_takes_no_locks,
    a_close_that_runs_out_of_time_names_what_is_held,
    a_waiter_of_a_closed_client_does_not_get_in,
    a_client_closes_twice,
);

const LONG: Duration = Duration::from_secs(10);

async fn assert_closed(bench: &Bench, client: &Client) {
    let lock = client.lock_of(bench.kind(), &bench.key("closed")).unwrap();
    for error in [
        lock.lock().await.map(drop).unwrap_err(),
        lock.try_lock().await.map(drop).unwrap_err(),
        lock.lock_timeout(millis(50)).await.map(drop).unwrap_err(),
        lock.inspect().await.map(drop).unwrap_err(),
        client.list("*").await.map(drop).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(error.to_string().contains("closed"), "{error}");
    }
}

async fn an_idle_client_closes(bench: &Bench) {
    let client = bench.client().await;
    soon("closing", client.close(LONG)).await.unwrap();
    assert_closed(bench, &client).await;
}

async fn a_close_waits_for_guards(bench: &Bench) {
    let client = bench.client().await;
    let guard = client.lock_of(bench.kind(), &bench.key("a")).unwrap().lock().await.unwrap();
    let inner = guard.reenter().await.unwrap();
    let mut closing = Box::pin(client.close(LONG));
    assert!(waits(&mut closing).await);
    assert_closed(bench, &client).await;
    assert!(guard.is_held());
    assert_eq!(inner.release().await.unwrap(), Release::StillHeld(1));
    assert!(waits(&mut closing).await);
    assert_eq!(guard.release().await.unwrap(), Release::Released);
    soon("closing", closing).await.unwrap();
    bench.assert_nothing_left().await;
}

async fn guards_are_renewed_while_a_close_waits(bench: &Bench) {
    let client = bench.client().await;
    let mut events = client.events();
    let began = Instant::now();
    let guard = client.lock_of(bench.kind(), &bench.key("a")).unwrap().lock_with(renewed(1000)).await.unwrap();
    let mut closing = Box::pin(client.close(LONG));
    assert!(waits(&mut closing).await);
    while began.elapsed() < millis(1500) {
        heard(&mut events, "the lease is renewed", |what| matches!(what, What::Renewed)).await;
    }
    assert_eq!(guard.release().await.unwrap(), Release::Released);
    soon("closing", closing).await.unwrap();
}

async fn a_close_waits_for_the_janitor(bench: &Bench) {
    let client = bench.client().await;
    for name in ["a", "b", "c"] {
        drop(client.lock_of(bench.kind(), &bench.key(name)).unwrap().lock().await.unwrap());
    }
    soon("closing", client.close(LONG)).await.unwrap();
    bench.assert_nothing_left().await;
}

async fn a_closed_client_takes_no_locks(bench: &Bench) {
    let client = bench.client().await;
    let lock = client.lock_of(bench.kind(), &bench.key("a")).unwrap();
    lock.lock().await.unwrap().release().await.unwrap();
    client.close(LONG).await.unwrap();
    assert_closed(bench, &client).await;
    assert_closed(bench, &client.clone()).await;
    bench.assert_nothing_left().await;
}

async fn a_close_that_runs_out_of_time_names_what_is_held(bench: &Bench) {
    let client = bench.client().await;
    let guards = [
        client.lock_of(bench.kind(), &bench.key("a")).unwrap().lock_with(renewed(1000)).await.unwrap(),
        client.lock_of(bench.kind(), &bench.key("b")).unwrap().lock_with(renewed(1000)).await.unwrap(),
    ];
    let error = soon("closing", client.close(millis(100))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    for guard in guards {
        assert!(error.to_string().contains(guard.key().as_str()), "{error}");
        assert_eq!(soon("the guard is lost", guard.lost()).await, Loss::Closed);
        assert!(!guard.is_held());
        assert_eq!(guard.release().await.unwrap_err().kind(), ErrorKind::Lost);
    }
    assert_closed(bench, &client).await;
    eventually("the leases end", async || bench.keys_left().await.is_empty()).await;
}

async fn a_waiter_of_a_closed_client_does_not_get_in(bench: &Bench) {
    let (one, other) = (bench.lock("a").await, bench.client().await);
    let mut events = other.events();
    let guard = one.lock().await.unwrap();
    let waiter = other.lock_of(bench.kind(), &bench.key("a")).unwrap();
    let waiting = tokio::spawn(async move { waiter.lock().await });
    heard(&mut events, "the waiter waits", |what| matches!(what, What::Waiting { .. })).await;
    soon("closing", other.close(LONG)).await.unwrap();
    guard.release().await.unwrap();
    // A guard of a client whose thread has ended would be looked after by nobody.
    let error = soon("the waiter hears of it", waiting).await.unwrap().expect_err("got in on a closed client");
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    eventually("the lock is free", async || !one.is_locked().await.unwrap()).await;
}

async fn a_client_closes_twice(bench: &Bench) {
    let client = bench.client().await;
    client.lock_of(bench.kind(), &bench.key("a")).unwrap().lock().await.unwrap().release().await.unwrap();
    soon("closing", client.close(LONG)).await.unwrap();
    soon("closing again", client.close(LONG)).await.unwrap();
}
