//! A shop's stock: read, think, write. Without the lock, two buyers read the same number.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tenure::{Client, Error};

/// How long it takes to sell one.
pub(crate) const SALE: Duration = Duration::from_millis(2);

/// What is on the shelves, of every product. All who sell see the same.
#[derive(Clone, Default)]
pub(crate) struct Shelves(Arc<Mutex<HashMap<String, u32>>>);

impl Shelves {
    pub(crate) fn put(&self, product_id: &str, count: u32) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(product_id.to_owned(), count);
    }

    pub(crate) fn count(&self, product_id: &str) -> u32 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(product_id).copied().unwrap_or_default()
    }
}

/// One of the services that sell.
pub(crate) struct StockService {
    pub(crate) locks: Client,
    pub(crate) shelves: Shelves,
}

impl StockService {
    /// Sells one, and says how many are left; none if there is none to sell.
    #[tenure::locked(client = self.locks, prefix = "stock_lock:", key = "{product_id}", lease = "6s",
                     retry = exponential("60ms", tries = 100))]
    pub(crate) async fn deduct(&self, product_id: &str) -> Result<Option<u32>, Error> {
        let Some(left) = self.shelves.count(product_id).checked_sub(1) else { return Ok(None) };
        tokio::time::sleep(SALE).await;
        self.shelves.put(product_id, left);
        Ok(Some(left))
    }

    /// The same for threads.
    #[tenure::locked(client = self.locks, prefix = "stock_lock:", key = "{product_id}", lease = "6s",
                     retry = exponential("60ms", tries = 100))]
    pub(crate) fn deduct_blocking(&self, product_id: &str) -> Result<Option<u32>, Error> {
        let Some(left) = self.shelves.count(product_id).checked_sub(1) else { return Ok(None) };
        std::thread::sleep(SALE);
        self.shelves.put(product_id, left);
        Ok(Some(left))
    }

    /// The same with the lock switched off, to see what it is for.
    #[tenure::locked(client = self.locks, key = "{product_id}", enabled = false)]
    pub(crate) async fn deduct_unlocked(&self, product_id: &str) -> Result<Option<u32>, Error> {
        let Some(left) = self.shelves.count(product_id).checked_sub(1) else { return Ok(None) };
        tokio::time::sleep(SALE).await;
        self.shelves.put(product_id, left);
        Ok(Some(left))
    }
}
