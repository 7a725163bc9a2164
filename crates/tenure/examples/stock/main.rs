//! A hundred buyers, fifty items: `cargo run -p tenure --example stock [URL]`.

mod service;

use service::{Shelves, StockService};
use std::sync::Arc;
use tokio::task::JoinSet;

const PRODUCT: &str = "PROD_001";
const BUYERS: usize = 100;
const ITEMS: u32 = 50;

#[tokio::main]
async fn main() -> Result<(), tenure::Error> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "memory:".to_owned());
    let (locks, shelves) = (tenure::connect(&url).await?, Shelves::default());
    let service = Arc::new(StockService { locks, shelves: shelves.clone() });

    for how in ["tasks with the lock", "threads with the lock", "tasks without the lock"] {
        shelves.put(PRODUCT, ITEMS);
        let mut buyers = JoinSet::new();
        for _ in 0..BUYERS {
            let service = Arc::clone(&service);
            match how {
                "tasks with the lock" => buyers.spawn(async move { service.deduct(PRODUCT).await }),
                "threads with the lock" => buyers.spawn_blocking(move || service.deduct_blocking(PRODUCT)),
                _ => buyers.spawn(async move { service.deduct_unlocked(PRODUCT).await }),
            };
        }
        let mut sold = 0;
        for bought in buyers.join_all().await {
            sold += u32::from(bought?.is_some());
        }
        println!("{how}: {sold} of {ITEMS} sold, {} left", shelves.count(PRODUCT));
    }
    Ok(())
}
