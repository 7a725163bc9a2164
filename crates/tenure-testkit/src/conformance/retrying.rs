//! Asking again by a policy.

use super::bench::{Bench, millis};
use super::case::cases;
use super::waiting::{eventually, soon, within};
use crate::History;
use futures_util::future::join_all;
use std::time::Instant;
use tenure_core::{Claim, Client, ErrorKind, Lock, Loss, Options, Owner, Release, Retry};

cases!("retrying":
    so_many_retries_are_one_attempt_more,
    a_wait_bounds_the_retries,
    a_retry_gets_a_lock_that_became_free,
    one_attempt_is_one_attempt,
    who_polls_takes_a_lock_and_gives_it_back,
    who_polls_gets_in_when_a_lease_ends,
    who_polls_gets_in_when_the_holder_is_put_out,
    who_polls_gets_in_when_the_holders_client_is_gone,
    an_owner_who_polls_goes_in_again,
    who_polls_and_gives_up_leaves_nothing,
    who_polls_a_silent_store_is_told,
    tasks_of_one_client_that_poll_do_not_meet,
    clients_that_poll_do_not_meet,
);

/// As a spin lock waits: whoever wants in asks again and again, and is not called.
fn polls() -> Options {
    Options::new().retry(Retry::exponential(millis(1)).cap(millis(20)))
}

async fn holder(lock: &Lock) -> Option<(Claim, u32)> {
    lock.inspect().await.unwrap().map(|held| (held.holder().claim.clone(), held.holder().count))
}

async fn so_many_retries_are_one_attempt_more(bench: &Bench) {
    let holder = bench.lock("a").await.lock().await.unwrap();
    for retries in [0, 1, 4] {
        let (client, tap) = bench.tapped().await;
        let lock = client.lock_of(bench.kind(), &bench.key("a")).unwrap();
        let policy = Retry::fixed(millis(20)).times(retries);
        let error = soon("giving up", lock.lock_with(Options::new().retry(policy))).await.unwrap_err();
        assert_eq!((error.kind(), error.key()), (ErrorKind::Timeout, Some(lock.key())));
        assert_eq!(error.holder().map(|holder| &holder.claim), Some(holder.claim()));
        assert_eq!(tap.acquires(), usize::try_from(retries).unwrap() + 1);
    }
}

async fn a_wait_bounds_the_retries(bench: &Bench) {
    let _holder = bench.lock("a").await.lock().await.unwrap();
    let lock = bench.lock("a").await;
    let (bound, began) = (millis(150), Instant::now());
    let options = Options::new().retry(Retry::exponential(millis(40)).times(1000)).wait(bound);
    let error = lock.lock_with(options).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    let waited = began.elapsed();
    assert!(waited >= bound && waited <= bound + millis(3000), "waited {waited:?} for {bound:?}");
}

async fn a_retry_gets_a_lock_that_became_free(bench: &Bench) {
    let policy = Options::new().retry(Retry::linear(millis(20)));
    for options in [policy.clone(), policy.wait(millis(5000)), polls(), polls().wait(millis(5000))] {
        let holder = bench.lock("a").await.lock().await.unwrap();
        let (client, tap) = bench.tapped().await;
        let lock = client.lock_of(bench.kind(), &bench.key("a")).unwrap();
        let waiting = tokio::spawn(async move { lock.lock_with(options).await.unwrap() });
        eventually("it was asked for in vain a few times", async || tap.acquires() >= 3).await;
        assert!(!waiting.is_finished());
        holder.release().await.unwrap();
        let guard = soon("the lock is obtained", waiting).await.unwrap();
        assert_eq!(guard.release().await.unwrap(), Release::Released);
        bench.assert_nothing_left().await;
    }
}

async fn one_attempt_is_one_attempt(bench: &Bench) {
    let _holder = bench.lock("a").await.lock().await.unwrap();
    let (client, tap) = bench.tapped().await;
    let lock = client.lock_of(bench.kind(), &bench.key("a")).unwrap();
    assert!(lock.try_lock().await.unwrap().is_none());
    assert_eq!(tap.acquires(), 1);
}

async fn who_polls_takes_a_lock_and_gives_it_back(bench: &Bench) {
    let (one, other) = (bench.lock("a").await, bench.lock("a").await);
    for _ in 0..2 {
        assert!(!one.is_locked().await.unwrap());
        let guard = one.lock_with(polls()).await.unwrap();
        assert!(guard.is_held());
        for lock in [&one, &other] {
            assert!(lock.is_locked().await.unwrap());
            assert_eq!(holder(lock).await, Some((guard.claim().clone(), 1)));
            assert!(lock.try_lock_with(polls()).await.unwrap().is_none());
        }
        assert_eq!(guard.release().await.unwrap(), Release::Released);
        assert!(!other.is_locked().await.unwrap());
    }
    let guard = other.try_lock_with(polls()).await.unwrap().expect("it is free");
    assert_eq!(guard.release().await.unwrap(), Release::Released);
    bench.assert_nothing_left().await;
}

async fn who_polls_gets_in_when_a_lease_ends(bench: &Bench) {
    let (one, other) = (bench.lock("a").await, bench.lock("a").await);
    let (lease, began) = (millis(500), Instant::now());
    let guard = one.lock_with(polls().lease(lease).no_renew()).await.unwrap();
    let next = within(lease + millis(1500), "the lease ends", other.lock_with(polls())).await.unwrap();
    assert!(began.elapsed() + millis(10) >= lease, "{:?}", began.elapsed());
    assert!(next.token() > guard.token());
    assert_eq!(guard.release().await.unwrap_err().kind(), ErrorKind::Lost);
    assert_eq!(holder(&one).await, Some((next.claim().clone(), 1)), "a late release frees nobody");
    assert_eq!(next.release().await.unwrap(), Release::Released);
    bench.assert_nothing_left().await;
}

async fn who_polls_gets_in_when_the_holder_is_put_out(bench: &Bench) {
    let one = bench.lock("a").await;
    let alone = one.lock_with(polls()).await.unwrap();
    one.force_release().await.unwrap().expect("it is held");
    assert!(!one.is_locked().await.unwrap());
    drop(alone);
    let guard = one.lock_with(polls().lease(millis(1000))).await.unwrap();
    let (client, tap) = bench.tapped().await;
    let lock = client.lock_of(bench.kind(), &bench.key("a")).unwrap();
    let waiting = tokio::spawn(async move { lock.lock_with(polls()).await.unwrap() });
    eventually("it was asked for in vain a few times", async || tap.acquires() >= 3).await;
    let forced = bench.lock("a").await.force_release().await.unwrap().expect("it is held");
    assert_eq!(forced.holder().claim, *guard.claim());
    let next = soon("it gets in", waiting).await.unwrap();
    let why = soon("the holder learns of it", guard.lost()).await;
    assert!(matches!(why, Loss::Forced | Loss::Gone), "{why:?}");
    assert_eq!(guard.release().await.unwrap_err().kind(), ErrorKind::Lost);
    assert_eq!(next.release().await.unwrap(), Release::Released);
    bench.assert_nothing_left().await;
}

/// Its lock was renewed until then.
async fn who_polls_gets_in_when_the_holders_client_is_gone(bench: &Bench) {
    let (client, other) = (bench.client().await, bench.lock("a").await);
    let lock = client.lock_of(bench.kind(), &bench.key("a")).unwrap();
    let guard = lock.lock_with(polls().lease(millis(1000))).await.unwrap();
    let first = guard.deadline();
    eventually("it is renewed", async || guard.deadline() > first + millis(100)).await;
    soon("closing", client.close(millis(4_000))).await.unwrap();
    let next = soon("it is free", other.lock_with(polls())).await.unwrap();
    assert_eq!(soon("the guard is lost", guard.lost()).await, Loss::Closed);
    assert_eq!(next.release().await.unwrap(), Release::Released);
}

async fn an_owner_who_polls_goes_in_again(bench: &Bench) {
    let (lock, other) = (bench.lock("a").await, bench.lock("a").await);
    let mine = polls().owner(Owner::new());
    let outer = lock.try_lock_with(mine.clone()).await.unwrap().expect("it is free");
    for at_once in [true, false] {
        let inner = if at_once {
            lock.try_lock_with(mine.clone()).await.unwrap().expect("it is in already")
        } else {
            soon("it is in already", lock.lock_with(mine.clone())).await.unwrap()
        };
        assert_eq!(holder(&lock).await, Some((outer.claim().clone(), 2)));
        assert_eq!(inner.release().await.unwrap(), Release::StillHeld(1));
        assert_eq!(holder(&lock).await, Some((outer.claim().clone(), 1)));
        for lock in [&lock, &other] {
            assert!(lock.try_lock_with(polls()).await.unwrap().is_none(), "nobody else");
        }
    }
    assert_eq!(outer.release().await.unwrap(), Release::Released);
    assert_eq!(holder(&lock).await, None);
    bench.assert_nothing_left().await;
}

async fn who_polls_and_gives_up_leaves_nothing(bench: &Bench) {
    let guard = bench.lock("a").await.lock().await.unwrap();
    let (client, tap) = bench.tapped().await;
    let lock = client.lock_of(bench.kind(), &bench.key("a")).unwrap();
    let waiting = tokio::spawn(async move { lock.lock_with(polls()).await.map(drop) });
    eventually("it was asked for in vain a few times", async || tap.acquires() >= 3).await;
    waiting.abort();
    assert!(waiting.await.unwrap_err().is_cancelled());
    client.close(millis(8000)).await.unwrap();
    let asked = tap.acquires();
    guard.release().await.unwrap();
    let next = soon("it is free", bench.lock("a").await.lock_with(polls())).await.unwrap();
    assert_eq!((tap.acquires(), next.release().await.unwrap()), (asked, Release::Released));
}

async fn who_polls_a_silent_store_is_told(bench: &Bench) {
    let (client, tap) = bench.tapped().await;
    let lock = client.lock_of(bench.kind(), &bench.key("a")).unwrap();
    tap.fall_silent();
    let error = soon("it is told", lock.lock_with(polls().wait(millis(300)))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
}

async fn tasks_of_one_client_that_poll_do_not_meet(bench: &Bench) {
    crowd(bench, &[bench.client().await]).await;
}

async fn clients_that_poll_do_not_meet(bench: &Bench) {
    crowd(bench, &bench.clients(16).await).await;
}

/// Sixteen tasks, of which each is in four times.
async fn crowd(bench: &Bench, clients: &[Client]) {
    const TASKS: usize = 16;
    const ROUNDS: usize = 4;
    let history = History::new();
    let tasks = (0..TASKS).map(|number| {
        let lock = clients[number % clients.len()].lock_of(bench.kind(), &bench.key("a")).unwrap();
        let history = history.clone();
        tokio::spawn(async move {
            for _ in 0..ROUNDS {
                let asking = history.asking(lock.key().as_str(), &format!("task {number}"));
                let guard = lock.lock_with(polls().lease(millis(5000))).await.unwrap();
                let hold = asking.granted(guard.token());
                tokio::task::yield_now().await;
                assert!(guard.is_held());
                hold.ended();
                guard.release().await.unwrap();
            }
        })
    });
    for task in join_all(tasks).await {
        task.unwrap();
    }
    let report = history.check();
    report.assert_clean().assert_at_least(TASKS * ROUNDS);
    assert_eq!((report.by_who.len(), report.fewest()), (TASKS, ROUNDS));
    bench.assert_nothing_left().await;
}
