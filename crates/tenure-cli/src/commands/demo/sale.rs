//! The sale: every buyer is a task of its own, and all of them want the same thing.

use super::progress::Progress;
use super::shop::Shop;
use super::verdict::Verdict;
use crate::exit::{Failure, Reason};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tenure::{Error, Lock};
use tokio::task::JoinSet;

/// A sale to be held.
pub(crate) struct Sale {
    /// What keeps buyers apart; none to see what happens without.
    pub(crate) lock: Option<Lock>,
    pub(crate) buyers: u32,
    pub(crate) items: u32,
    /// How long one purchase takes.
    pub(crate) section: Duration,
}

/// What one buyer went home with.
struct Visit {
    bought: bool,
    waited: Duration,
}

impl Sale {
    /// Lets all buyers in at once and waits until the last has gone.
    pub(crate) async fn hold(&self, mut progress: Progress) -> Result<Verdict, Failure> {
        let shop = Arc::new(Shop::new(self.items));
        let began = Instant::now();
        let mut buyers = JoinSet::new();
        for _ in 0..self.buyers {
            buyers.spawn(visit(self.lock.clone(), Arc::clone(&shop), self.section));
        }
        let (mut sold, mut refused, mut longest_wait) = (0, 0, Duration::ZERO);
        loop {
            let visit = tokio::select! {
                biased;
                visit = buyers.join_next() => visit,
                never = progress.tell() => match never {},
            };
            let Some(visit) = visit else { break };
            let visit =
                visit.map_err(|error| Failure::new(Reason::Nothing, format!("a buyer came to grief: {error}")))??;
            *if visit.bought { &mut sold } else { &mut refused } += 1;
            longest_wait = longest_wait.max(visit.waited);
            progress.one_more();
        }
        Ok(Verdict {
            items: self.items,
            sold,
            refused,
            left: shop.left(),
            took: began.elapsed(),
            longest_wait,
            overlaps: shop.overlaps(),
            tokens: self.lock.is_some().then(|| shop.tokens()),
        })
    }
}

/// One buyer: waits for the lock, buys if there is anything left, and lets the next one in.
async fn visit(lock: Option<Lock>, shop: Arc<Shop>, section: Duration) -> Result<Visit, Error> {
    let came = Instant::now();
    let Some(lock) = lock else {
        return Ok(Visit { bought: shop.buy(None, section).await, waited: Duration::ZERO });
    };
    let guard = lock.lock().await?;
    let waited = came.elapsed();
    // Should the lock be lost, the purchase is dropped before anything is written.
    let bought = guard.run(shop.buy(Some(guard.token()), section)).await?;
    guard.release().await?;
    Ok(Visit { bought, waited })
}
