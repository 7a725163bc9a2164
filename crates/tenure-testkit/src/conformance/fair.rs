//! First come, first served.

use super::bench::{Bench, millis, renewed, unrenewed};
use super::case::cases;
use super::waiting::{eventually, heard, soon, within};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tenure_core::kernel::Waiter;
use tenure_core::{Client, ErrorKind, Guard, Kind, Lock, Operation, Options, Outcome, Place, Release, Stay, What};
use tokio::task::JoinHandle;

cases!("fair":
    waiters_of_many_clients_are_served_in_order,
    a_waiter_is_called_and_no_other needs PushedWakeups,
    one_attempt_does_not_push_in,
    one_who_gave_up_is_passed_over,
    one_who_timed_out_leaves_the_line,
    one_who_died_in_line_is_passed_over,
    a_place_is_kept_however_long_the_wait,
    a_lock_that_vanishes_strands_nobody,
    a_waiter_sees_where_it_stands,
    the_line_is_seen_by_others,
    a_holder_goes_in_again_past_the_line,
    giving_up_is_said_until_it_is_heard,
    kinds_do_not_mix,
    one_who_polls_keeps_its_place,
    one_who_polls_asks_as_often_as_it_said,
);

pub(super) fn fair(bench: &Bench, client: &Client) -> Lock {
    client.fair(&bench.key("a")).unwrap()
}

/// Lets a client wait; it stands in line when this returns.
pub(super) async fn line_up(
    bench: &Bench,
    client: &Client,
    options: Options,
) -> JoinHandle<Result<Guard, tenure_core::Error>> {
    let (lock, mut events) = (fair(bench, client), client.events());
    let waiting = tokio::spawn(async move { lock.lock_with(options).await });
    heard(&mut events, "it waits", |what| matches!(what, What::Waiting { .. })).await;
    waiting
}

async fn waiters_of_many_clients_are_served_in_order(bench: &Bench) {
    let clients = bench.clients(4).await;
    let first = fair(bench, &clients[0]).lock().await.unwrap();
    let served = Arc::new(Mutex::new(Vec::new()));
    let mut waiters = Vec::new();
    for number in 0..24 {
        let waiting = line_up(bench, &clients[number % clients.len()], Options::new()).await;
        let served = Arc::clone(&served);
        waiters.push(tokio::spawn(async move {
            let guard = waiting.await.unwrap().unwrap();
            served.lock().unwrap().push(number);
            let token = guard.token();
            guard.release().await.unwrap();
            token
        }));
    }
    let mut last = first.token();
    first.release().await.unwrap();
    for waiter in waiters {
        let token = soon("a waiter is served", waiter).await.unwrap();
        assert!(token > last, "tokens follow the order");
        last = token;
    }
    assert_eq!(*served.lock().unwrap(), (0..24).collect::<Vec<_>>());
    bench.assert_nothing_left().await;
}

/// The others would only look by themselves, a second later; so many of them would have asked by then.
async fn a_waiter_is_called_and_no_other(bench: &Bench) {
    let mut best = usize::MAX;
    for _ in 0..5 {
        let holder = bench.client().await;
        let guard = fair(bench, &holder).lock().await.unwrap();
        let (client, tap) = bench.tapped().await;
        let mut waiters = Vec::new();
        for _ in 0..20 {
            waiters.push(line_up(bench, &client, Options::new()).await);
        }
        let before = tap.acquires();
        guard.release().await.unwrap();
        let first = soon("the first gets in", waiters.remove(0)).await.unwrap().unwrap();
        best = best.min(tap.acquires() - before);
        for waiter in &waiters {
            waiter.abort();
        }
        first.release().await.unwrap();
        client.close(millis(5000)).await.unwrap();
    }
    assert!(best <= 2, "{best} asked when one was called");
}

async fn one_attempt_does_not_push_in(bench: &Bench) {
    let (one, other, third) = (bench.client().await, bench.client().await, bench.client().await);
    let guard = fair(bench, &one).lock().await.unwrap();
    let waiting = line_up(bench, &other, Options::new()).await;
    assert!(fair(bench, &third).try_lock().await.unwrap().is_none());
    assert_eq!(guard.release().await.unwrap(), Release::Released);
    let next = soon("the waiter gets in", waiting).await.unwrap().unwrap();
    assert!(fair(bench, &third).try_lock().await.unwrap().is_none());
    next.release().await.unwrap();
    assert!(fair(bench, &third).try_lock().await.unwrap().is_some());
}

async fn one_who_gave_up_is_passed_over(bench: &Bench) {
    let clients = bench.clients(3).await;
    let guard = fair(bench, &clients[0]).lock().await.unwrap();
    let gone = line_up(bench, &clients[1], Options::new()).await;
    let waiting = line_up(bench, &clients[2], Options::new()).await;
    gone.abort();
    assert!(gone.await.unwrap_err().is_cancelled());
    // At once, although the place of one who died would be kept for three seconds.
    guard.release().await.unwrap();
    within(millis(2500), "the next gets in", waiting).await.unwrap().unwrap().release().await.unwrap();
    eventually("nothing is left", async || bench.keys_left().await.is_empty()).await;
}

async fn one_who_timed_out_leaves_the_line(bench: &Bench) {
    let (one, other) = (bench.client().await, bench.client().await);
    let guard = fair(bench, &one).lock().await.unwrap();
    let error = fair(bench, &other).lock_timeout(millis(300)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert_eq!(error.holder().map(|holder| &holder.claim), Some(guard.claim()));
    let lock = fair(bench, &one);
    eventually("nobody waits", async || lock.inspect().await.unwrap().unwrap().line.is_empty()).await;
}

/// Puts somebody in line who is never heard of again.
pub(super) async fn dead_in_line(bench: &Bench, lock: &Lock, number: u64, place: Duration) {
    let claim = tenure_core::Claim::new("00000000-dead-4000-8000-000000000000", number);
    let (lease, stay) = (Duration::from_secs(60), Stay::InLine { place });
    let acquire = Operation::Acquire { claim, under: Vec::new(), lease, stay };
    let outcome = bench.apply(Kind::Fair, lock.key(), &acquire).await;
    assert!(matches!(outcome, Outcome::Busy(_)), "{outcome:?}");
}

async fn one_who_died_in_line_is_passed_over(bench: &Bench) {
    let (one, other) = (bench.client().await, bench.client().await);
    let lock = fair(bench, &one);
    let guard = lock.lock().await.unwrap();
    dead_in_line(bench, &lock, 1, Waiter::PLACE).await;
    dead_in_line(bench, &lock, 2, Waiter::PLACE).await;
    let died = Instant::now();
    let waiting = line_up(bench, &other, Options::new()).await;
    guard.release().await.unwrap();
    let next = soon("the next gets in", waiting).await.unwrap().unwrap();
    let took = died.elapsed();
    assert!(took + millis(100) >= Waiter::PLACE, "the dead were passed over before their time: {took:?}");
    next.release().await.unwrap();
}

/// Longer than a place is kept for one who does not ask again.
async fn a_place_is_kept_however_long_the_wait(bench: &Bench) {
    let clients = bench.clients(3).await;
    let guard = fair(bench, &clients[0]).lock().await.unwrap();
    let began = Instant::now();
    let first = line_up(bench, &clients[1], Options::new()).await;
    let second = line_up(bench, &clients[2], Options::new()).await;
    eventually("a place would have been lost", async || began.elapsed() > Waiter::PLACE + millis(500)).await;
    assert!(!first.is_finished() && !second.is_finished());
    guard.release().await.unwrap();
    let first = soon("the first gets in", first).await.unwrap().unwrap();
    assert!(!second.is_finished());
    first.release().await.unwrap();
    soon("the second gets in", second).await.unwrap().unwrap().release().await.unwrap();
}

/// Its lease is over before its time, as when a store lost it.
async fn a_lock_that_vanishes_strands_nobody(bench: &Bench) {
    let (one, other) = (bench.client().await, bench.client().await);
    let guard = fair(bench, &one).lock_with(unrenewed(1000)).await.unwrap();
    let waiting = line_up(bench, &other, Options::new()).await;
    std::mem::forget(guard);
    let next = within(millis(1000 + 1500), "the waiter gets in", waiting).await.unwrap().unwrap();
    next.release().await.unwrap();
}

async fn a_waiter_sees_where_it_stands(bench: &Bench) {
    let clients = bench.clients(3).await;
    let guard = fair(bench, &clients[0]).lock().await.unwrap();
    let (one, other) = (Place::new(), Place::new());
    let first = line_up(bench, &clients[1], Options::new().place(&one)).await;
    let second = line_up(bench, &clients[2], Options::new().place(&other)).await;
    assert_eq!((one.position(), other.position()), (Some(1), Some(2)));
    guard.release().await.unwrap();
    let first = soon("the first gets in", first).await.unwrap().unwrap();
    assert_eq!(one.position(), None);
    soon("the second moves up", async {
        let mut position = other.position();
        while position != Some(1) {
            position = other.moved_from(position).await;
        }
    })
    .await;
    first.release().await.unwrap();
    drop(soon("the second gets in", second).await.unwrap().unwrap());
    assert_eq!(other.position(), None);
}

async fn the_line_is_seen_by_others(bench: &Bench) {
    let clients = bench.clients(3).await;
    let lock = fair(bench, &clients[0]);
    let guard = lock.lock().await.unwrap();
    let waiting =
        [line_up(bench, &clients[1], Options::new()).await, line_up(bench, &clients[2], Options::new()).await];
    let held = lock.inspect().await.unwrap().unwrap();
    assert_eq!((held.kind, held.waiters), (Kind::Fair, Some(2)));
    assert_eq!(held.holder().claim, *guard.claim());
    let line: Vec<&str> = held.line.iter().map(|place| place.waiting.claim.client()).collect();
    assert_eq!(line, [clients[1].id(), clients[2].id()]);
    assert!(held.line.iter().all(|place| place.waiting.kind == Kind::Fair));
    assert!(held.line[0].waiting.waited >= held.line[1].waiting.waited);
    for waiter in waiting {
        waiter.abort();
    }
}

async fn a_holder_goes_in_again_past_the_line(bench: &Bench) {
    let (one, other) = (bench.client().await, bench.client().await);
    let outer = fair(bench, &one).lock_with(renewed(1000)).await.unwrap();
    let waiting = line_up(bench, &other, Options::new()).await;
    let inner = outer.reenter().await.unwrap();
    assert_eq!(inner.token(), outer.token());
    assert_eq!(outer.release().await.unwrap(), Release::StillHeld(1));
    assert_eq!(inner.release().await.unwrap(), Release::Released);
    soon("the waiter gets in", waiting).await.unwrap().unwrap().release().await.unwrap();
    bench.assert_nothing_left().await;
}

async fn giving_up_is_said_until_it_is_heard(bench: &Bench) {
    let holder = bench.client().await;
    let lock = fair(bench, &holder);
    let guard = lock.lock().await.unwrap();
    let (client, tap) = bench.tapped().await;
    let waiting = line_up(bench, &client, Options::new()).await;
    tap.lose_releases(true);
    waiting.abort();
    eventually("it was said in vain", async || tap.lost_releases() >= 2).await;
    assert_eq!(lock.inspect().await.unwrap().unwrap().line.len(), 1);
    tap.lose_releases(false);
    eventually("it was heard", async || lock.inspect().await.unwrap().unwrap().line.is_empty()).await;
    guard.release().await.unwrap();
}

async fn kinds_do_not_mix(bench: &Bench) {
    let client = bench.client().await;
    let (key, fair) = (bench.key("a"), fair(bench, &client));
    let guard = fair.lock().await.unwrap();
    for kind in [Kind::Reentrant, Kind::Simple, Kind::Read, Kind::Write] {
        let error = client.lock_of(kind, &key).unwrap().try_lock().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{kind}: {error}");
        assert!(error.to_string().contains("held as=fair"), "{error}");
        let error = client.lock_of(kind, &key).unwrap().lock_timeout(millis(5000)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{kind}: {error}");
    }
    assert_eq!(fair.inspect().await.unwrap().unwrap().holder().claim, *guard.claim());
    guard.release().await.unwrap();
    for kind in [Kind::Reentrant, Kind::Simple, Kind::Read, Kind::Write] {
        let guard = client.lock_of(kind, &key).unwrap().lock().await.unwrap();
        let error = fair.lock_timeout(millis(5000)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{kind}: {error}");
        guard.release().await.unwrap();
    }
    eventually("nothing is left", async || bench.keys_left().await.is_empty()).await;
}

/// Its pauses are longer than a place is kept, and the line waits for none of them.
async fn one_who_polls_keeps_its_place(bench: &Bench) {
    let clients = bench.clients(3).await;
    let guard = fair(bench, &clients[0]).lock().await.unwrap();
    let retry = tenure_core::Retry::fixed(Waiter::PLACE * 10);
    let polls = line_up(bench, &clients[1], Options::new().retry(retry)).await;
    let waits = line_up(bench, &clients[2], Options::new()).await;
    guard.release().await.unwrap();
    let first = soon("the one who polls gets in", polls).await.unwrap().unwrap();
    assert!(!waits.is_finished());
    first.release().await.unwrap();
    drop(soon("the other gets in", waits).await.unwrap().unwrap());
}

/// What is said in line does not use its retries up.
async fn one_who_polls_asks_as_often_as_it_said(bench: &Bench) {
    let (holder, client) = (bench.client().await, bench.client().await);
    let guard = fair(bench, &holder).lock().await.unwrap();
    let retry = tenure_core::Retry::fixed(millis(1500)).times(2);
    let began = Instant::now();
    let error = fair(bench, &client).lock_with(Options::new().retry(retry)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(began.elapsed() >= millis(3000), "two pauses of 1.5 s took {:?}", began.elapsed());
    guard.release().await.unwrap();
}
