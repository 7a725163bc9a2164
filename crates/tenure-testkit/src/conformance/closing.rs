//! Closing a client.

use super::bench::{Bench, millis, renewed};
use super::case::cases;
use super::waiting::{eventually, heard, soon, waits};
use futures_util::future::join;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};
use tenure_core::{Client, ErrorKind, Loss, Release, What};

cases!("closing":
    an_idle_client_closes,
    a_close_waits_for_guards,
    guards_are_renewed_while_a_close_waits,
    a_close_waits_for_the_janitor,
    a_closed_client_takes_no_locks,
    a_close_tells_those_who_hold_and_releases_what_they_held,
    a_close_drops_what_runs_under_locks_before_it_releases_them,
    the_last_handle_waits_until_dropped_guards_are_released,
    a_waiter_of_a_closed_client_does_not_get_in,
    a_client_closes_twice,
    two_who_close_at_once_have_both_released_all,
    a_close_that_is_cancelled_releases_what_it_took_away,
);

const LONG: Duration = Duration::from_secs(10);

async fn assert_closed(bench: &Bench, client: &Client) {
    let lock = client.lock_of(bench.kind(), &bench.key("closed")).unwrap();
    for error in [
        lock.lock().await.map(drop).unwrap_err(),
        lock.try_lock().await.map(drop).unwrap_err(),
        lock.lock_timeout(LONG).await.map(drop).unwrap_err(),
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

/// Their leases are so long that nothing but a release frees them.
async fn a_close_tells_those_who_hold_and_releases_what_they_held(bench: &Bench) {
    let client = bench.client().await;
    let mut guards = Vec::new();
    for number in 0..20 {
        let lock = client.lock_of(bench.kind(), &bench.key(&number.to_string())).unwrap();
        guards.push(lock.lock_with(renewed(60_000)).await.unwrap());
    }
    soon("closing", client.close(millis(4_000))).await.unwrap();
    for guard in guards {
        assert_eq!(soon("the guard is lost", guard.lost()).await, Loss::Closed);
        assert!(!guard.is_held());
        assert_eq!(guard.release().await.unwrap_err().kind(), ErrorKind::Lost);
    }
    assert_closed(bench, &client).await;
    bench.assert_nothing_left().await;
}

/// What one of them has taken from its holders, and not given back yet, the other one waits for.
async fn two_who_close_at_once_have_both_released_all(bench: &Bench) {
    let client = bench.client().await;
    let lock = client.lock_of(bench.kind(), &bench.key("a")).unwrap();
    let guard = lock.lock_with(renewed(60_000)).await.unwrap();
    let both = join(client.close(millis(4_000)), client.close(millis(4_000)));
    let (one, other) = soon("closing", both).await;
    assert_eq!((one.is_ok(), other.is_ok()), (true, true), "{one:?} {other:?}");
    bench.assert_nothing_left().await;
    drop(guard);
}

async fn a_close_that_is_cancelled_releases_what_it_took_away(bench: &Bench) {
    let client = bench.client().await;
    let lock = client.lock_of(bench.kind(), &bench.key("a")).unwrap();
    let guard = lock.lock_with(renewed(60_000)).await.unwrap();
    let mut closing = Box::pin(client.close(LONG * 10));
    assert!(waits(&mut closing).await);
    drop(closing);
    // By now it waits for its holder to finish; the next one is cancelled while it waits for it to drop what it did.
    let mut closing = Box::pin(client.close(millis(2_000)));
    tokio::select! {
        biased;
        loss = guard.lost() => assert_eq!(loss, Loss::Closed),
        closed = &mut closing => panic!("the holder was not told first: {closed:?}"),
    }
    drop(closing);
    soon("closing", client.close(LONG)).await.unwrap();
    bench.assert_nothing_left().await;
    drop(guard);
}

/// The next holder gets in only after the work was dropped.
async fn a_close_drops_what_runs_under_locks_before_it_releases_them(bench: &Bench) {
    let (client, other) = (bench.client().await, bench.client().await);
    let running = Arc::new(AtomicBool::new(false));
    let lock = client.lock_of(bench.kind(), &bench.key("a")).unwrap();
    let flag = Arc::clone(&running);
    let holder = tokio::spawn(async move {
        let work = async {
            let _running = Running::new(&flag);
            pending::<()>().await;
        };
        lock.run_with(renewed(60_000), work).await
    });
    eventually("it runs", async || running.load(SeqCst)).await;
    let next = other.lock_of(bench.kind(), &bench.key("a")).unwrap();
    let flag = Arc::clone(&running);
    let waiting = tokio::spawn(async move {
        let guard = next.lock().await.unwrap();
        (guard, flag.load(SeqCst))
    });
    soon("closing", client.close(millis(4_000))).await.unwrap();
    let (guard, overlapped) = soon("the next is in", waiting).await.unwrap();
    assert!(!overlapped, "the work was still there");
    let error = soon("the holder hears of it", holder).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Lost);
    guard.release().await.unwrap();
}

/// Says whether the work is there.
struct Running(Arc<AtomicBool>);

impl Running {
    fn new(flag: &Arc<AtomicBool>) -> Self {
        flag.store(true, SeqCst);
        Self(Arc::clone(flag))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.store(false, SeqCst);
    }
}

/// The process may end right after.
async fn the_last_handle_waits_until_dropped_guards_are_released(bench: &Bench) {
    let other = bench.lock("a").await;
    for _ in 0..20 {
        let client = Client::builder().flush_within(LONG).connect(bench.store()).await.unwrap();
        let lock = client.lock_of(bench.kind(), &bench.key("a")).unwrap();
        let guard = lock.lock_with(renewed(60_000)).await.unwrap();
        drop((guard, lock, client));
        assert!(!other.is_locked().await.unwrap(), "it was left held");
    }
    bench.assert_nothing_left().await;
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
