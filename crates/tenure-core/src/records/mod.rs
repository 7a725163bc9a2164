//! The record layer: every kind of lock on any store that can read some records, and write them back, at one moment.
//!
//! A store implements [`Records`] and has all of [`Backend`] with that. The layer knows what a lock is: [`run`] takes the
//! kernel's steps, counts tokens, keeps to all or none, and decides [who is to be told](Notices). The store knows how to read,
//! how to write, and how to reach those who are to be told. Why it is so: ADR 25.

mod notices;
mod run;
mod sessions;
#[cfg(test)]
mod tests;

pub use notices::{FreeTo, Freed, Notices};
pub use run::{Done, Entry, Loaded, run};

use crate::{Applied, Backend, Batch, Card, Clock, Label, Port, Step, StoreError};
use std::future::Future;
use std::time::{Duration, Instant};
use tenure_kernel::{Key, Kind, Operation, Outcome, Pattern, Sight, Time, step};

/// A store of records.
///
/// What is not said here is as [`Backend`] says it.
pub trait Records: Send + Sync + 'static {
    /// What this store promises.
    fn label(&self) -> Label;

    /// Where the store is.
    fn address(&self) -> String;

    /// The clock by which guards are judged.
    fn clock(&self) -> Clock {
        Clock::system()
    }

    /// Makes sure that the store can be reached and lets us in.
    fn reach(&self, within: Duration) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Reads the [records of the batch](Batch::keys), [runs](run) the batch on them, writes those that have changed, and the
    /// watermark if it has, and answers. All of it happens at one moment: nobody else reads or writes these records meanwhile, or
    /// the store begins anew. If nothing has changed, nothing is written. After the writing, the store tells those
    /// [whom it concerns](Done::notices).
    fn transact(&self, batch: Batch<'_>, within: Duration) -> impl Future<Output = Result<Applied, StoreError>> + Send;

    /// The next records after those of an earlier page, in an order of the store's own.
    fn page(&self, after: Option<Vec<u8>>, within: Duration) -> impl Future<Output = Result<Page, StoreError>> + Send;

    /// Leaves a client's card in the store for a while; for no time at all, takes it away.
    fn announce(
        &self,
        client: &str,
        card: &Card,
        keep: Duration,
        within: Duration,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// The card of a client, if it left one.
    fn look_up(&self, client: &str, within: Duration) -> impl Future<Output = Result<Option<Card>, StoreError>> + Send;

    /// Whether those who stand in line for this kind are each called in a [`Topic`](crate::Topic) of their own.
    fn calls_apart(&self, _: Kind) -> bool {
        false
    }

    /// Carries wake-ups from the store to the client, for as long as the client lives.
    fn listen(&self, port: Port) -> impl Future<Output = ()> + Send;
}

/// How a store knows which claims are dead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Liveness {
    /// It has one clock that decides for everybody: what was not renewed in time is over.
    Leases,
    /// It notices by itself that a client is gone, as it does of a connection, and [names the dead](Entry::dead). No time ends
    /// anything there but a lock that is kept after its holder has left.
    Sessions,
}

/// A part of all records.
#[derive(Debug, Clone)]
pub struct Page {
    /// The locks, each as it was at some moment of the listing: whoever lists waits for nobody.
    pub entries: Vec<(Key, Entry)>,
    /// The store's time.
    pub now: Time,
    /// How the store knows which claims are dead.
    pub liveness: Liveness,
    /// What to ask for the next page by, if there is one.
    pub next: Option<Vec<u8>>,
}

impl Page {
    /// The held locks among these whose keys match.
    fn held(self, pattern: &Pattern) -> impl Iterator<Item = (Key, Sight)> {
        let Self { entries, now, liveness, .. } = self;
        entries.into_iter().filter(|(key, _)| pattern.matches(key.as_str())).filter_map(move |(key, mut entry)| {
            entry.bury(liveness);
            let record = std::mem::take(&mut entry.record);
            let mut outcome = step(Kind::Reentrant, record, &Operation::Inspect, now, 0).outcome;
            entry.count_waiters(&mut outcome);
            if liveness == Liveness::Sessions {
                sessions::forget_ends(&mut outcome);
            }
            if let Outcome::Seen(Some(sight)) = outcome { Some((key, sight)) } else { None }
        })
    }
}

impl<R: Records> Backend for R {
    fn label(&self) -> Label {
        Records::label(self)
    }

    fn address(&self) -> String {
        Records::address(self)
    }

    fn clock(&self) -> Clock {
        Records::clock(self)
    }

    async fn reach(&self, within: Duration) -> Result<(), StoreError> {
        Records::reach(self, within).await
    }

    async fn apply(&self, batch: Batch<'_>, within: Duration) -> Result<Applied, StoreError> {
        self.transact(batch, within).await
    }

    async fn list(&self, pattern: &Pattern, within: Duration) -> Result<Vec<(Key, Sight)>, StoreError> {
        let began = Instant::now();
        let (mut held, mut after) = (Vec::new(), None);
        loop {
            // A page at a time: what keeps a hold goes between two of them.
            let mut page = self.page(after, within.saturating_sub(began.elapsed())).await?;
            after = page.next.take();
            held.extend(page.held(pattern));
            if after.is_none() {
                return Ok(held);
            }
        }
    }

    async fn announce(&self, client: &str, card: &Card, keep: Duration, within: Duration) -> Result<(), StoreError> {
        Records::announce(self, client, card, keep, within).await
    }

    async fn look_up(&self, client: &str, within: Duration) -> Result<Option<Card>, StoreError> {
        Records::look_up(self, client, within).await
    }

    fn calls_apart(&self, kind: Kind) -> bool {
        Records::calls_apart(self, kind)
    }

    async fn listen(&self, port: Port) {
        Records::listen(self, port).await;
    }
}

impl<'a> Batch<'a> {
    /// The keys of the batch's records, each once, in the order in which everybody locks them.
    pub fn keys(&self) -> Vec<&'a Key> {
        let mut keys: Vec<&Key> = self.steps.iter().map(|step| &step.key).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// Whether any step may need the watermark.
    pub fn counts(&self) -> bool {
        self.steps.iter().any(|Step { operation, .. }| operation.counts())
    }

    /// Whether no step changes anything, whatever the records are.
    pub fn only_looks(&self) -> bool {
        self.steps.iter().all(|Step { operation, .. }| operation.is_look())
    }
}
