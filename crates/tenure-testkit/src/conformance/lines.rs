//! Those in a fair lock's line who never get their turn, and what becomes of those behind them.

use super::bench::{Bench, millis, renewed, unrenewed};
use super::case::cases;
use super::fair::{dead_in_line, fair, line_up};
use super::waiting::{eventually_within, soon, within};
use futures_util::future::join_all;
use std::sync::{Arc, Mutex};
use tenure_core::kernel::Waiter;
use tenure_core::{ErrorKind, Loss, Options, Place};

cases!("lines":
    ends_of_leases_keep_the_order,
    waits_in_vain_keep_nobody_out,
    the_dead_take_no_longer_for_being_many,
    those_behind_one_who_gave_up_move_up,
);

/// Nobody releases: each gets in because the lease before it has ended.
async fn ends_of_leases_keep_the_order(bench: &Bench) {
    let clients = bench.clients(3).await;
    let first = fair(bench, &clients[0]).lock_with(unrenewed(1000)).await.unwrap();
    let served = Arc::new(Mutex::new(Vec::new()));
    let mut waiters = Vec::new();
    for number in 0..8 {
        let waiting = line_up(bench, &clients[number % clients.len()], unrenewed(300)).await;
        let served = Arc::clone(&served);
        waiters.push(tokio::spawn(async move {
            let guard = waiting.await.unwrap().unwrap();
            served.lock().unwrap().push(number);
            assert_eq!(guard.lost().await, Loss::LeaseEnded);
            guard.token()
        }));
    }
    let mut last = first.token();
    for waiter in waiters {
        let token = soon("a waiter is served", waiter).await.unwrap();
        assert!(token > last, "tokens follow the order");
        last = token;
    }
    assert_eq!(*served.lock().unwrap(), (0..8).collect::<Vec<_>>());
}

async fn waits_in_vain_keep_nobody_out(bench: &Bench) {
    let clients = bench.clients(4).await;
    let guard = fair(bench, &clients[0]).lock_with(renewed(60_000)).await.unwrap();
    let in_vain = clients[1..].iter().map(|client| async {
        for _ in 0..5 {
            let error = fair(bench, client).lock_timeout(millis(100)).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
        }
    });
    join_all(in_vain).await;
    guard.release().await.unwrap();
    // A place that was not given up would be kept for three seconds, and one attempt does not push in.
    let lock = fair(bench, &clients[0]);
    eventually_within(Waiter::PLACE / 2, "it is to be had", async || lock.try_lock().await.unwrap().is_some()).await;
}

/// Neither how many they are nor how often they asked adds to the time for which their places are kept.
async fn the_dead_take_no_longer_for_being_many(bench: &Bench) {
    let (one, other) = (bench.client().await, bench.client().await);
    let lock = fair(bench, &one);
    let guard = lock.lock().await.unwrap();
    for _ in 0..5 {
        for number in 1..=4 {
            dead_in_line(bench, &lock, number, Waiter::PLACE).await;
        }
    }
    let waiting = line_up(bench, &other, Options::new()).await;
    guard.release().await.unwrap();
    // Whoever waits looks once a second.
    let next = within(Waiter::PLACE + millis(2500), "the next gets in", waiting).await.unwrap().unwrap();
    next.release().await.unwrap();
}

async fn those_behind_one_who_gave_up_move_up(bench: &Bench) {
    let clients = bench.clients(4).await;
    let _guard = fair(bench, &clients[0]).lock().await.unwrap();
    let (places, mut waiters) = ([(); 3].map(|()| Place::new()), Vec::new());
    for (client, place) in clients[1..].iter().zip(&places) {
        waiters.push(line_up(bench, client, Options::new().place(place)).await);
    }
    assert_eq!(places.each_ref().map(Place::position), [Some(1), Some(2), Some(3)]);
    waiters[1].abort();
    // Sooner than the place of one who died would be lost.
    within(millis(2500), "the last moves up", async {
        let mut position = places[2].position();
        while position != Some(2) {
            position = places[2].moved_from(position).await;
        }
    })
    .await;
    assert_eq!(places[0].position(), Some(1));
    assert!(!waiters[0].is_finished() && !waiters[2].is_finished());
    for waiter in waiters {
        waiter.abort();
    }
}
