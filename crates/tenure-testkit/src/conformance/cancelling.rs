//! Futures that are dropped before they are done.

use super::bench::{Bench, millis, renewed};
use super::case::cases;
use super::tap::Tap;
use super::waiting::{eventually, eventually_within, heard, soon, waits};
use crate::History;
use futures_util::future::join_all;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};
use tenure_core::{Guard, Lock, Release, What};

cases!("cancelling":
    a_waiter_that_gives_up_leaves_the_line,
    a_lock_that_was_granted_to_one_who_gave_up_is_freed,
    a_re_entry_that_was_granted_to_one_who_gave_up_is_undone,
    a_re_entry_that_is_given_up_is_undone,
    random_cancellations_harm_nobody,
);

async fn a_waiter_that_gives_up_leaves_the_line(bench: &Bench) {
    let lock = bench.lock("a").await;
    let guard = lock.lock().await.unwrap();
    let mut waiters: Vec<_> = (0..4).map(|_| Box::pin(lock.lock())).collect();
    for waiter in &mut waiters {
        assert!(waits(waiter).await);
    }
    // The one that speaks to the store, and one in the middle of the line.
    drop(waiters.remove(2));
    drop(waiters.remove(0));
    guard.release().await.unwrap();
    for waiter in waiters {
        let guard = soon("the others are served", waiter).await.unwrap();
        guard.release().await.unwrap();
    }
    eventually("the lock is free", async || !lock.is_locked().await.unwrap()).await;
}

/// Gives up a request that the store has done, before its answer arrives.
pub(super) async fn give_up_unanswered<F: Future>(tap: &Tap, request: F) {
    tap.withhold_grants(true);
    let before = tap.withheld();
    let done = eventually("the store has done it", async || tap.withheld() > before);
    tokio::select! {
        _ = request => panic!("the answer was to be withheld"),
        () = done => {}
    }
    tap.withhold_grants(false);
}

async fn a_lock_that_was_granted_to_one_who_gave_up_is_freed(bench: &Bench) {
    let ((client, tap), other) = (bench.tapped().await, bench.lock("a").await);
    let lock = client.lock_of(bench.kind(), &bench.key("a")).unwrap();
    give_up_unanswered(&tap, lock.lock()).await;
    drop(soon("the lock is free", other.lock()).await.unwrap());
    give_up_unanswered(&tap, lock.try_lock()).await;
    let guard = soon("the lock is free", other.lock()).await.unwrap();
    assert_eq!(guard.release().await.unwrap(), Release::Released);
}

async fn a_re_entry_that_was_granted_to_one_who_gave_up_is_undone(bench: &Bench) {
    let (client, tap) = bench.tapped().await;
    let lock = client.lock_of(bench.kind(), &bench.key("a")).unwrap();
    let guard = lock.lock().await.unwrap();
    give_up_unanswered(&tap, guard.reenter_with(renewed(500))).await;
    let counted = async || lock.inspect().await.unwrap().expect("the guard holds").holder().count == 1;
    eventually("no entry is counted but the guard's", counted).await;
    assert_eq!(guard.release().await.unwrap(), Release::Released);
    eventually("nothing is left", async || bench.keys_left().await.is_empty()).await;
}

async fn a_re_entry_that_is_given_up_is_undone(bench: &Bench) {
    let lock = bench.lock("a").await;
    let guard = lock.lock_with(renewed(1000)).await.unwrap();
    for _ in 0..20 {
        let mut entering = Box::pin(guard.reenter_with(renewed(1000)));
        waits(&mut entering).await;
    }
    let counted = async || lock.inspect().await.unwrap().expect("the guard holds").holder().count == 1;
    eventually("no entry is counted but the guard's", counted).await;
    assert!(guard.is_held());
    let inner = guard.reenter().await.unwrap();
    assert_eq!(inner.release().await.unwrap(), Release::StillHeld(1));
    assert_eq!(guard.release().await.unwrap(), Release::Released);
    eventually("nothing is left", async || bench.keys_left().await.is_empty()).await;
}

/// Five hundred times, somebody gives up at a moment that nobody chose.
async fn random_cancellations_harm_nobody(bench: &Bench) {
    const TASKS: usize = 10;
    let (clients, history) = (bench.clients(2).await, History::new());
    let tasks = (0..TASKS).map(|number| {
        let lock = clients[number % clients.len()].lock_of(bench.kind(), &bench.key("a")).unwrap();
        tokio::spawn(ask_and_give_up(lock, history.clone(), format!("task {number}"), 500 / TASKS))
    });
    for task in join_all(tasks).await {
        task.unwrap();
    }
    let lock = bench.lock("a").await;
    // Sooner than any lease would end it.
    eventually_within(LEASE / 2, "the lock is free", async || !lock.is_locked().await.unwrap()).await;
    later_holder_is_unharmed(bench).await;
    history.check().assert_clean().assert_at_least(1);
    eventually("nothing is left", async || bench.keys_left().await.is_empty()).await;
}

const LEASE: Duration = millis(2000);

async fn ask_and_give_up(lock: Lock, history: History, who: String, times: usize) {
    let mut given_up = 0;
    while given_up < times {
        let asking = history.asking(lock.key().as_str(), &who);
        let attempt = lock.lock_with(renewed(2000));
        let moment = Duration::from_micros(fastrand::u64(0..5000));
        // Timers know whole milliseconds; a number of polls also hits what happens between two of them.
        let outcome = if fastrand::bool() {
            tokio::time::timeout(moment, attempt).await.ok()
        } else {
            give_up_after(fastrand::u32(1..5), attempt).await
        };
        match outcome {
            None => given_up += 1,
            Some(guard) => {
                let guard: Guard = guard.unwrap();
                let hold = asking.granted(guard.token());
                tokio::time::sleep(Duration::from_micros(fastrand::u64(0..3000))).await;
                assert!(guard.is_held());
                hold.ended();
            }
        }
    }
}

/// Polls a future so often at the most, then drops it.
pub(super) async fn give_up_after<F: Future>(mut polls: u32, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => {
            polls -= 1;
            if polls == 0 { Poll::Ready(None) } else { Poll::Pending }
        }
    })
    .await
}

/// Whatever was given up must not end a hold that comes after it, nor keep it out.
async fn later_holder_is_unharmed(bench: &Bench) {
    let client = bench.client().await;
    let mut events = client.events();
    let guard = soon("getting in", client.lock_of(bench.kind(), &bench.key("a")).unwrap().lock_with(renewed(1000)))
        .await
        .unwrap();
    let began = Instant::now();
    while began.elapsed() < millis(800) {
        heard(&mut events, "the lease is renewed", |what| matches!(what, What::Renewed)).await;
        assert!(guard.is_held());
    }
    assert_eq!(guard.release().await.unwrap(), Release::Released);
}
