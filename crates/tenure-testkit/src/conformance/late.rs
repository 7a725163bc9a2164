//! Answers that come late, and requests that come later.

use super::bench::{Bench, millis, renewed, unrenewed};
use super::case::cases;
use super::waiting::{eventually, eventually_within, heard, soon, waits};
use std::time::Duration;
use tenure_core::{Claim, ErrorKind, Key, Kind, Operation, Outcome, Owner, Retry, Stay, WaitEnd, What};

cases!("late":
    a_close_waits_for_a_release_under_way,
    a_release_that_is_dropped_beside_a_close_is_finished,
    a_re_entry_that_is_let_in_too_late_does_not_wait_for_itself,
    an_acquire_that_arrives_after_its_hold_was_lost_takes_nothing,
    an_acquire_that_was_given_up_while_the_key_was_of_another_kind_takes_nothing,
    who_was_in_does_not_hold_what_another_took_as_another_kind uses Fair,
    a_renewal_that_was_done_but_not_answered_keeps_the_lock_for_nobody,
    a_last_attempt_without_time_for_an_answer_is_no_silence,
    a_silent_store_is_unavailable_to_everyone_in_line,
    a_busy_store_is_no_silence_to_who_is_second_in_line,
    a_store_that_answers_others_is_silent_all_the_same,
    waits_by_policy_end_as_they_began,
);

const LONG: Duration = Duration::from_secs(10);

async fn a_close_waits_for_a_release_under_way(bench: &Bench) {
    let (client, tap) = bench.tapped().await;
    let lock = client.lock_of(bench.kind(), &bench.key("a")).unwrap();
    let guard = lock.lock_with(renewed(60_000)).await.unwrap();
    tap.hold_back(|operation| matches!(operation, Operation::Release { .. }));
    let releasing = tokio::spawn(guard.release());
    eventually("the release is on its way", async || tap.held_back() == 1).await;
    let mut closing = Box::pin(client.close(LONG));
    assert!(waits(&mut closing).await, "the release is not done yet");
    tap.let_through();
    soon("the release is done", releasing).await.unwrap().unwrap();
    soon("closing", closing).await.unwrap();
    bench.assert_nothing_left().await;
}

async fn a_release_that_is_dropped_beside_a_close_is_finished(bench: &Bench) {
    let (client, tap) = bench.tapped().await;
    let lock = client.lock_of(bench.kind(), &bench.key("a")).unwrap();
    let guard = lock.lock_with(renewed(60_000)).await.unwrap();
    tap.hold_back(|operation| matches!(operation, Operation::Release { .. }));
    let releasing = tokio::spawn(guard.release());
    eventually("the release is on its way", async || tap.held_back() == 1).await;
    let mut closing = Box::pin(client.close(LONG));
    assert!(waits(&mut closing).await);
    releasing.abort();
    tap.let_through();
    soon("closing", closing).await.unwrap();
    bench.assert_nothing_left().await;
}

async fn a_re_entry_that_is_let_in_too_late_does_not_wait_for_itself(bench: &Bench) {
    let (client, tap) = bench.tapped().await;
    let lock = client.lock_of(bench.kind(), &bench.key("a")).unwrap();
    let owner = Owner::new();
    let outer = lock.lock_with(renewed(60_000).owner(owner.clone())).await.unwrap();
    tap.withhold_grants(true);
    let entering = tokio::spawn({
        let (lock, options) = (lock.clone(), unrenewed(150).owner(owner));
        async move { lock.lock_with(options).await.map(drop) }
    });
    eventually("the answer is on its way", async || tap.withheld() == 1).await;
    // Longer than the lease that was asked for.
    tokio::time::sleep(millis(200)).await;
    tap.withhold_grants(false);
    tap.deliver_withheld();
    let error = soon("it is told", entering).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    eventually("the entry is undone", async || lock.inspect().await.unwrap().unwrap().holder().count == 1).await;
    outer.check().unwrap();
}

async fn an_acquire_that_arrives_after_its_hold_was_lost_takes_nothing(bench: &Bench) {
    let (client, tap) = bench.tapped().await;
    let lock = client.lock_of(bench.kind(), &bench.key("a")).unwrap();
    tap.lose_acquires(true);
    let locking = tokio::spawn({
        let lock = lock.clone();
        async move { lock.lock_with(unrenewed(200)).await.unwrap() }
    });
    eventually("the first attempt is lost", async || !tap.lost_acquires().is_empty()).await;
    tap.lose_acquires(false);
    let guard = soon("the second arrives", locking).await.unwrap();
    soon("the lease ends", guard.lost()).await;
    drop(guard);
    let (kind, key, operation) = tap.lost_acquires().swap_remove(0);
    eventually("the first is refused when it arrives", async || {
        let outcome = bench.apply(kind, &key, &operation).await;
        if matches!(outcome, Outcome::Granted(_)) {
            // The janitor had not come to it yet: undone, as if it had not arrived.
            lock.force_release().await.unwrap();
        }
        outcome == Outcome::Refused
    })
    .await;
}

async fn an_acquire_that_was_given_up_while_the_key_was_of_another_kind_takes_nothing(bench: &Bench) {
    let other = if bench.kind() == Kind::Simple { Kind::Reentrant } else { Kind::Simple };
    let holder = bench.client().await;
    let guard = holder.lock_of(other, &bench.key("a")).unwrap().lock().await.unwrap();
    let (client, tap) = bench.tapped().await;
    let lock = client.lock_of(bench.kind(), &bench.key("a")).unwrap();
    tap.lose_acquires(true);
    let locking = tokio::spawn(async move { lock.lock().await.map(drop) });
    eventually("it is on its way", async || !tap.lost_acquires().is_empty()).await;
    locking.abort();
    assert!(locking.await.unwrap_err().is_cancelled());
    client.close(LONG).await.unwrap();
    guard.release().await.unwrap();
    for (kind, key, operation) in tap.lost_acquires() {
        assert_eq!(bench.apply(kind, &key, &operation).await, Outcome::Refused);
    }
}

async fn who_was_in_does_not_hold_what_another_took_as_another_kind(bench: &Bench) {
    let key = Key::new(&bench.key("a")).unwrap();
    let claim = |number| Claim::new("00000000-0000-4000-8000-000000000000", number);
    let (lease, keep) = (LONG, Duration::ZERO);
    let acquire = |number| Operation::Acquire { claim: claim(number), under: Vec::new(), lease, stay: Stay::No };
    for other in [Kind::Simple, Kind::Reentrant, Kind::Read].into_iter().filter(|other| !other.goes_with(bench.kind()))
    {
        assert!(matches!(bench.apply(bench.kind(), &key, &acquire(1)).await, Outcome::Granted(_)));
        bench.apply(bench.kind(), &key, &Operation::ForceRelease).await;
        assert!(matches!(bench.apply(other, &key, &acquire(2)).await, Outcome::Granted(_)));
        for operation in [
            Operation::Reenter { claim: claim(1), entry: 1, count: 2, change: 1, lease },
            Operation::Renew { claim: claim(1), lease },
            Operation::Release { claim: claim(1), left: 1, change: 2, lease, keep, cancel: None },
            Operation::Release { claim: claim(1), left: 0, change: 3, lease, keep, cancel: None },
        ] {
            assert_eq!(bench.apply(bench.kind(), &key, &operation).await, Outcome::NotHeld, "{other}: {operation:?}");
        }
        assert!(matches!(bench.apply(other, &key, &Operation::ForceRelease).await, Outcome::Forced(Some(_))));
    }
}

async fn a_renewal_that_was_done_but_not_answered_keeps_the_lock_for_nobody(bench: &Bench) {
    let (client, tap) = bench.tapped().await;
    let lock = client.lock_of(bench.kind(), &bench.key("a")).unwrap();
    let guard = lock.lock_with(unrenewed(2000)).await.unwrap();
    tokio::time::sleep(millis(1500)).await;
    tap.forget_to_answer_renewals();
    assert_eq!(guard.renew().await.unwrap_err().kind(), ErrorKind::Unavailable);
    soon("the lease ends as far as we know", guard.lost()).await;
    // Within a second, where the store would have kept it for one and a half more.
    let other = bench.lock("a").await;
    eventually_within(millis(1000), "nobody holds it", async || !other.is_locked().await.unwrap()).await;
}

async fn a_last_attempt_without_time_for_an_answer_is_no_silence(bench: &Bench) {
    let _held = bench.lock("a").await.lock_with(renewed(60_000)).await.unwrap();
    let (client, tap) = bench.tapped().await;
    let lock = client.lock_of(bench.kind(), &bench.key("a")).unwrap();
    let mut events = client.events();
    let policy = Retry::fixed(millis(50));
    let waiting = tokio::spawn(async move { lock.lock_with(renewed(1000).retry(policy).wait(millis(300))).await });
    heard(&mut events, "it was seen off", |what| matches!(what, What::Waiting { .. })).await;
    tap.fall_silent();
    let error = soon("the wait ends", waiting).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
}

async fn a_silent_store_is_unavailable_to_everyone_in_line(bench: &Bench) {
    let (client, tap) = bench.tapped().await;
    let lock = client.lock_of(bench.kind(), &bench.key("a")).unwrap();
    tap.fall_silent();
    let (one, other) = tokio::join!(lock.lock_timeout(millis(300)), lock.lock_timeout(millis(300)));
    for outcome in [one, other] {
        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Unavailable);
    }
}

/// It never came to ask, and the store is too busy to say who has the lock; but it answers.
async fn a_busy_store_is_no_silence_to_who_is_second_in_line(bench: &Bench) {
    let _held = bench.lock("a").await.lock_with(renewed(60_000)).await.unwrap();
    let (client, tap) = bench.tapped().await;
    let lock = client.lock_of(bench.kind(), &bench.key("a")).unwrap();
    tap.go_blind();
    let (one, other) = tokio::join!(lock.lock_timeout(millis(300)), lock.lock_timeout(millis(200)));
    for outcome in [one, other] {
        let error = outcome.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    }
}

/// Nobody has said that the lock is busy, whatever else the store has said meanwhile.
async fn a_store_that_answers_others_is_silent_all_the_same(bench: &Bench) {
    let (client, tap) = bench.tapped().await;
    let lock = client.lock_of(bench.kind(), &bench.key("a")).unwrap();
    let _other = client.lock_of(bench.kind(), &bench.key("b")).unwrap().lock_with(renewed(300)).await.unwrap();
    let mut events = client.events();
    tap.lose_acquires(true);
    let waiting = tokio::spawn(async move { lock.lock_timeout(millis(600)).await });
    heard(&mut events, "the store answers", |what| matches!(what, What::Renewed)).await;
    let error = soon("the wait ends", waiting).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    tap.lose_acquires(false);
}

async fn waits_by_policy_end_as_they_began(bench: &Bench) {
    let _held = bench.lock("a").await.lock_with(renewed(60_000)).await.unwrap();
    let client = bench.client().await;
    let lock = client.lock_of(bench.kind(), &bench.key("a")).unwrap();
    let mut events = client.events();
    assert!(lock.try_lock().await.unwrap().is_none());
    let policy = Retry::fixed(millis(10)).times(2);
    lock.lock_with(renewed(1000).retry(policy)).await.unwrap_err();
    let waiting = heard(&mut events, "it waits", |_| true).await;
    assert!(matches!(waiting.what, What::Waiting { .. }), "one attempt is no wait: {waiting:?}");
    let ended = heard(&mut events, "it waits no longer", |_| true).await;
    assert!(matches!(ended.what, What::Waited { end: WaitEnd::TimedOut, .. }), "{ended:?}");
    let given_up = tokio::spawn(async move { lock.lock().await.map(drop) });
    heard(&mut events, "it waits", |what| matches!(what, What::Waiting { .. })).await;
    given_up.abort();
    let cancelled = |what: &What| matches!(what, What::Waited { end: WaitEnd::Cancelled, .. });
    heard(&mut events, "it was cancelled", cancelled).await;
}
