//! Eight clients that want one lock over and over, with a record of who held it when.

use super::set::{PATIENCE, Set};
use crate::support::ms;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tenure_core::{Client, ErrorKind, Lock};
use tenure_testkit::history::boottime_now;
use tenure_testkit::{History, Report};
use tokio::task::JoinSet;

pub(crate) const CLIENTS: usize = 8;
const KEY: &str = "raced for";
/// So many holds show that it goes on.
const SOME: usize = 8;

/// What a racer does with the lock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Section {
    pub(crate) length: Duration,
    /// How long it stays away afterwards. The lock is not fair: who comes back at once may be in again before the others.
    pub(crate) pause: Duration,
}

impl Section {
    pub(crate) const SHORT: Self = Self { length: Duration::from_millis(2), pause: Duration::from_millis(3) };
    pub(crate) const EMPTY: Self = Self { length: Duration::ZERO, pause: Duration::ZERO };
}

pub(crate) struct Race {
    pub(crate) clients: Vec<Client>,
    history: History,
    count: Arc<Count>,
    racers: JoinSet<Vec<String>>,
}

/// How many holds there were, and how many are still to be begun.
struct Count {
    held: AtomicUsize,
    left: AtomicUsize,
}

impl Race {
    pub(crate) async fn start(set: &Set, section: Section, holds: usize) -> Self {
        let (history, mut clients, mut racers) = (History::new(), Vec::new(), JoinSet::new());
        for _ in 0..CLIENTS {
            clients.push(set.client().await);
        }
        let count = Arc::new(Count { held: AtomicUsize::new(0), left: AtomicUsize::new(holds) });
        for (n, client) in clients.iter().enumerate() {
            let lock = client.lock(KEY).unwrap();
            racers.spawn(race(lock, format!("client {n}"), section, history.clone(), Arc::clone(&count)));
        }
        Self { clients, history, count, racers }
    }

    /// Lets them race for so long, and until some more were in.
    pub(crate) async fn on(&self, length: Duration) {
        let held = || self.count.held.load(Ordering::Relaxed);
        let (began, enough) = (Instant::now(), held() + SOME);
        while began.elapsed() < length || held() < enough {
            assert!(began.elapsed() < length + PATIENCE, "hardly anybody gets in\n{}", self.history.check());
            tokio::time::sleep(ms(10)).await;
        }
    }

    /// Ends it.
    pub(crate) async fn end(self) -> Report {
        self.count.left.store(0, Ordering::Relaxed);
        self.finish().await
    }

    /// Waits for its end.
    pub(crate) async fn finish(mut self) -> Report {
        let mut unsure = Vec::new();
        while let Some(ended) = self.racers.join_next().await {
            unsure.extend(ended.expect("a racer goes on until the end"));
        }
        if !unsure.is_empty() {
            println!("{} releases were not certain, the first: {}", unsure.len(), unsure[0]);
        }
        self.history.check()
    }
}

/// Takes the lock as long as there is anything to be had; what it heard of releases that were not certain.
async fn race(lock: Lock, who: String, section: Section, history: History, count: Arc<Count>) -> Vec<String> {
    let mut unsure = Vec::new();
    let one_more = || count.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok();
    while one_more() {
        let asking = history.asking(KEY, &who);
        let guard = lock.lock_timeout(PATIENCE).await.expect("the lock");
        let record = asking.granted(guard.token());
        let mut valid_at = boottime_now();
        if !section.length.is_zero() {
            // Stops at the end of its work or of its lease, whichever comes first.
            let _ = guard.run(tokio::time::sleep(section.length)).await;
        }
        // The time is taken before the look: a task put off between the two must not claim more than it had.
        let now = boottime_now();
        if guard.is_held() {
            valid_at = now;
        }
        record.ended_at(valid_at);
        count.held.fetch_add(1, Ordering::Relaxed);
        if let Err(error) = guard.release().await {
            // A lock that only a bare majority had granted is on too few servers when one of them fails.
            let kinds = [ErrorKind::Unavailable, ErrorKind::Unknown, ErrorKind::Lost];
            assert!(kinds.contains(&error.kind()), "{error}");
            unsure.push(error.to_string());
        }
        if !section.pause.is_zero() {
            tokio::time::sleep(section.pause).await;
        }
    }
    unsure
}
