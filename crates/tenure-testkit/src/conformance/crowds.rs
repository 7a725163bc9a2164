//! Many at once.

use super::bench::{Bench, millis, renewed};
use super::case::cases;
use crate::History;
use futures_util::future::join_all;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

cases!("crowds":
    the_stock_sale_sells_what_is_there,
    everyone_is_served_and_nobody_meets,
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
