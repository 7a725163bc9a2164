//! Many at once.

use super::bench::{Bench, millis, renewed};
use super::case::cases;
use super::waiting::heard;
use crate::History;
use futures_util::future::join_all;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;
use tenure_core::What;

cases!("crowds":
    the_stock_sale_sells_what_is_there,
    everyone_is_served_and_nobody_meets,
    one_behind_two_who_gave_up_is_called,
);

/// A hundred buyers, fifty items: a counter that is read, thought about, and written.
async fn the_stock_sale_sells_what_is_there(bench: &Bench) {
    let clients = bench.clients(4).await;
    let history = History::new();
    let (stock, sold) = (Arc::new(AtomicU32::new(50)), Arc::new(AtomicU32::new(0)));
    let buyers = (0..100).map(|buyer| {
        let lock = clients[buyer % clients.len()].lock_of(bench.kind(), &bench.key("stock")).unwrap();
        let (history, stock, sold) = (history.clone(), Arc::clone(&stock), Arc::clone(&sold));
        tokio::spawn(async move {
            let asking = history.asking(lock.key().as_str(), &format!("buyer {buyer}"));
            let guard = lock.lock_with(renewed(2000)).await.unwrap();
            let hold = asking.granted(guard.token());
            let there = stock.load(Ordering::SeqCst);
            if there > 0 {
                // The section takes its time; nothing is waited for.
                tokio::time::sleep(millis(20)).await;
                stock.store(there - 1, Ordering::SeqCst);
                sold.fetch_add(1, Ordering::SeqCst);
            }
            hold.ended();
            guard.release().await.unwrap();
        })
    });
    for buyer in join_all(buyers).await {
        buyer.unwrap();
    }
    assert_eq!((stock.load(Ordering::SeqCst), sold.load(Ordering::SeqCst)), (0, 50));
    history.check().assert_clean().assert_at_least(100);
    bench.assert_nothing_left().await;
}

async fn everyone_is_served_and_nobody_meets(bench: &Bench) {
    const ROUNDS: usize = 4;
    let clients = bench.clients(4).await;
    let history = History::new();
    let tasks = (0..64).map(|number| {
        let lock = clients[number % clients.len()].lock_of(bench.kind(), &bench.key("a")).unwrap();
        let history = history.clone();
        tokio::spawn(async move {
            for round in 0..ROUNDS {
                let asking = history.asking(lock.key().as_str(), &format!("task {number}"));
                let guard = lock.lock_with(renewed(2000)).await.unwrap();
                let hold = asking.granted(guard.token());
                tokio::task::yield_now().await;
                assert!(guard.is_held());
                hold.ended();
                if round % 2 == 0 {
                    guard.release().await.unwrap();
                } else {
                    drop(guard);
                }
            }
        })
    });
    for task in join_all(tasks).await {
        task.unwrap();
    }
    let report = history.check();
    report.assert_clean().assert_at_least(64 * ROUNDS);
    assert_eq!((report.by_who.len(), report.fewest()), (64, ROUNDS));
    super::waiting::eventually("nothing is left", async || bench.keys_left().await.is_empty()).await;
}

/// Those who gave up are still listened for, in case they come again; a release must not be lost on them.
async fn one_behind_two_who_gave_up_is_called(bench: &Bench) {
    // Well before it would look again by itself. A machine that pauses gets another chance.
    let (soon, mut last) = (millis(500), millis(0));
    for _ in 0..4 {
        let clients = bench.clients(4).await;
        let locks: Vec<_> =
            clients.iter().map(|client| client.lock_of(bench.kind(), &bench.key("a")).unwrap()).collect();
        let guard = locks[0].lock().await.unwrap();
        let (one, other) = tokio::join!(locks[1].lock_timeout(millis(100)), locks[2].lock_timeout(millis(100)));
        assert!(one.is_err() && other.is_err());
        let (mut events, lock) = (clients[3].events(), locks[3].clone());
        let waiting = tokio::spawn(async move { lock.lock().await.unwrap() });
        heard(&mut events, "it waits", |what| matches!(what, What::Waiting { .. })).await;
        // It has to be in line before the release, and stands there once it can hear.
        tokio::time::sleep(millis(50)).await;
        let released = Instant::now();
        guard.release().await.unwrap();
        waiting.await.unwrap().release().await.unwrap();
        last = released.elapsed();
        if last < soon {
            return;
        }
    }
    panic!("it was not called, and got in after {last:?}");
}
