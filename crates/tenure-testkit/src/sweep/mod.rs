//! The cancel sweep: acquire, wait, re-enter and release are dropped after every number of polls, and afterwards the store
//! holds what the surviving guards justify, no more and no less.
//!
//! A backend makes a test of each case: `sweep::acquire(&site).await`.

mod cases;
mod cut;

pub use self::cases::{acquire, crowd, inner_release, re_entry, release, set, wait};

use std::time::{Duration, Instant};
use tenure_core::{Client, Guard, Kind, Release};

/// A bound on whatever must happen at all, wide enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);
/// Long before any lease has ended by itself.
const SOON: Duration = Duration::from_secs(5);

/// A store that nobody else uses meanwhile, and a look into it, past the backend.
pub trait Site {
    /// The kinds of locks that are swept.
    const KINDS: &[Kind] = &[Kind::Reentrant];
    /// For how long after a client was closed the store may still be told of it.
    const SETTLES: Duration = Duration::ZERO;

    /// A client that has not spoken to the store yet.
    fn cold(&self) -> Client;

    /// A client that has, with leases so long that a lock left behind is noticed.
    fn client(&self) -> impl Future<Output = Client>;

    /// Whether anybody holds a key, wherever the store keeps it.
    fn is_held(&self, key: &str) -> bool;

    /// How often a guard's claim is in, if all that the store consists of agree.
    fn count_of(&self, guard: &Guard) -> Option<u32>;

    /// How much the store remembers of what was given up: tombstones, each of which takes as much room as any other.
    fn tombstones(&self) -> usize;

    /// What has no business to be there once no lock is held and every client that held one is closed.
    fn left(&self) -> Vec<String>;
}

/// Looks until it is so.
async fn eventually(what: &str, within: Duration, mut so: impl FnMut() -> bool) {
    let deadline = Instant::now() + within;
    while !so() {
        assert!(Instant::now() < deadline, "not within {within:?}: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A future that must be done in time.
async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.unwrap_or_else(|_| panic!("not within {PATIENCE:?}: {what}"))
}

/// The lock `k`, which must be free soon.
async fn gets_in(client: &Client, kind: Kind) -> Guard {
    soon("it gets in", client.lock_of(kind, "k").unwrap().lock()).await.unwrap()
}

async fn releases(guard: Guard) {
    assert_eq!(guard.release().await.unwrap(), Release::Released);
}

/// The store has a guard's claim in so often.
async fn is_in(site: &impl Site, guard: &Guard, count: u32) {
    eventually("its guards are in", SOON, || site.count_of(guard) == Some(count)).await;
}

/// The lock `k` is free before its lease has ended, and each of these can have it.
async fn is_free_for(site: &impl Site, kind: Kind, clients: &[&Client]) {
    eventually("the lock is free", SOON, || !site.is_held("k")).await;
    for client in clients {
        let guard = gets_in(client, kind).await;
        is_in(site, &guard, 1).await;
        releases(guard).await;
    }
}

/// Closes a client that was the last to hold anything.
async fn leaves_nothing<S: Site>(site: &S, client: Client) {
    client.close(PATIENCE).await.unwrap();
    drop(client);
    let deadline = Instant::now() + S::SETTLES;
    loop {
        let left = site.left();
        if left.is_empty() {
            return;
        }
        assert!(Instant::now() < deadline, "left behind: {left:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
