//! The shop: a stock that is read and written back in two steps, and a doorkeeper who counts who is inside.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// What the lock protects.
pub(crate) struct Shop {
    stock: AtomicU32,
    inside: AtomicU32,
    overlaps: AtomicU32,
    tokens: Mutex<Vec<u64>>,
}

impl Shop {
    pub(crate) fn new(items: u32) -> Self {
        Self { stock: AtomicU32::new(items), inside: 0.into(), overlaps: 0.into(), tokens: Mutex::default() }
    }

    /// The section that must not overlap with another: reads the stock, works, and writes back one less. Says whether
    /// there was anything left to buy.
    pub(crate) async fn buy(&self, token: Option<u64>, section: Duration) -> bool {
        let _inside = self.enter();
        if let Some(token) = token {
            self.tokens.lock().unwrap_or_else(PoisonError::into_inner).push(token);
        }
        let stock = self.stock.load(Ordering::SeqCst);
        if stock == 0 {
            return false;
        }
        tokio::time::sleep(section).await;
        // Not an atomic subtraction, on purpose: this is the write that the lock is there for.
        self.stock.store(stock - 1, Ordering::SeqCst);
        true
    }

    fn enter(&self) -> Inside<'_> {
        if self.inside.fetch_add(1, Ordering::SeqCst) > 0 {
            self.overlaps.fetch_add(1, Ordering::SeqCst);
        }
        Inside(self)
    }

    /// How many items are left.
    pub(crate) fn left(&self) -> u32 {
        self.stock.load(Ordering::SeqCst)
    }

    /// How often somebody came in while somebody else was inside.
    pub(crate) fn overlaps(&self) -> u32 {
        self.overlaps.load(Ordering::SeqCst)
    }

    /// The tokens of those who came in, in the order in which they did.
    pub(crate) fn tokens(&self) -> Vec<u64> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Somebody in the section, however they leave it.
struct Inside<'a>(&'a Shop);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.inside.fetch_sub(1, Ordering::SeqCst);
    }
}
