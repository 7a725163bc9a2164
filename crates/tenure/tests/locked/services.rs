//! A stock that is sold out exactly, and methods that call each other.

use super::reentrant::ReentrantService;
use super::stock::{Shelves, StockService};
use super::stores::{Place, on_every_store};
use std::sync::Arc;
use tokio::task::JoinSet;

const PRODUCT: &str = "PROD_001";
const BUYERS: usize = 100;
const ITEMS: u32 = 50;

/// Four services that sell from one stock.
async fn services(place: &Place, shelves: &Shelves) -> Vec<Arc<StockService>> {
    let mut services = Vec::new();
    for _ in 0..4 {
        services.push(Arc::new(StockService { locks: place.client().await, shelves: shelves.clone() }));
    }
    services
}

/// How many were sold, by buyers who are tasks or threads.
async fn sell(place: &Place, shelves: &Shelves, threads: bool) -> u32 {
    shelves.put(PRODUCT, ITEMS);
    let (services, mut buyers) = (services(place, shelves).await, JoinSet::new());
    for buyer in 0..BUYERS {
        let service = Arc::clone(&services[buyer % services.len()]);
        if threads {
            buyers.spawn_blocking(move || service.deduct_blocking(PRODUCT));
        } else {
            buyers.spawn(async move { service.deduct(PRODUCT).await });
        }
    }
    let sold = buyers.join_all().await.into_iter().map(|sold| u32::from(sold.expect("a sale or none").is_some()));
    sold.sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_of_fifty_are_sold_to_a_hundred_buyers() {
    on_every_store(async |place| {
        let shelves = Shelves::default();
        assert_eq!((sell(&place, &shelves, false).await, shelves.count(PRODUCT)), (ITEMS, 0));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_of_fifty_are_sold_to_a_hundred_threads() {
    on_every_store(async |place| {
        let shelves = Shelves::default();
        assert_eq!((sell(&place, &shelves, true).await, shelves.count(PRODUCT)), (ITEMS, 0));
    })
    .await;
}

/// The negative control: the sale does go wrong without the lock, and it is counted that it ran without.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn too_many_are_sold_without_the_lock() {
    let (shelves, mut buyers) = (Shelves::default(), JoinSet::new());
    shelves.put(PRODUCT, ITEMS);
    let locks = tenure::connect("memory:").await.unwrap();
    let (service, before) = (Arc::new(StockService { locks, shelves }), tenure::unlocked_runs());
    for _ in 0..BUYERS {
        let service = Arc::clone(&service);
        buyers.spawn(async move { service.deduct_unlocked(PRODUCT).await.unwrap().is_some() });
    }
    let sold = buyers.join_all().await.into_iter().filter(|sold| *sold).count();
    assert!(sold > ITEMS as usize, "{sold} sold");
    assert_eq!(tenure::unlocked_runs() - before, BUYERS as u64);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_method_that_calls_another_goes_in_again() {
    on_every_store(async |place| {
        let service = Arc::new(ReentrantService { locks: place.client().await });
        assert_eq!(service.method_b().await.unwrap(), 1);
        assert_eq!(service.method_a().await.unwrap(), 2);
        let threads = Arc::clone(&service);
        let nested = tokio::task::spawn_blocking(move || threads.method_a_blocking());
        assert_eq!(nested.await.unwrap().unwrap(), 2);
        assert!(!service.locks.lock("reentrant_lock_test").unwrap().is_locked().await.unwrap());
        if let Some(server) = &place.redis {
            assert!(server.keys("*reentrant_lock_test*").is_empty());
        }
    })
    .await;
}
