//! What the dead leave in the file is swept by whoever comes after them, also if nobody stays for long.

mod support;

use libtest_mimic::{Arguments, Failed, Trial};
use std::time::Duration;
use support::{LEASE, PATIENCE, Place, eventually, key, ms, store};
use tenure_core::{Backend, Claim, Kind, Operation, Outcome, Stay};
use tenure_testkit::taker::{Job, Taker, if_taker};

const DEAD: u32 = 6;
/// One who comes writes twice. That nobody of so many sweeps does not happen, and they take a second or two.
const VISITS: u64 = 400;

fn main() {
    if_taker(store);
    let trials = vec![
        Trial::test("short_visits_sweep_what_the_dead_left", short_visits),
        Trial::test("one_who_goes_takes_its_bell_along", bells),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn count(place: &Place, table: &str) -> u32 {
    place.peek().query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
}

/// Processes that end right after they have closed their clients.
fn bells() -> Result<(), Failed> {
    let place = Place::new();
    for _ in 0..10 {
        let (url, key) = (place.url(), "k".to_owned());
        Taker::start(&Job::Relay { url, key, holds: 20, section: ms(1), lease: LEASE }).finish();
    }
    let bells = std::fs::read_dir(format!("{}-wake", place.path.display()))?;
    assert_eq!(bells.count(), 0);
    Ok(())
}

/// Takes and leaves a lock of its own, and goes.
async fn visit(place: &Place, number: u64) {
    let backend = place.backend();
    let claim = Claim::new("visitor", number);
    let acquire = Operation::Acquire { claim: claim.clone(), under: vec![], lease: LEASE, stay: Stay::No };
    backend.apply_one(Kind::Reentrant, &key("visited"), &acquire, PATIENCE).await.unwrap();
    let release = Operation::Release { claim, left: 0, change: 0, lease: LEASE, keep: Duration::ZERO, cancel: None };
    let released = backend.apply_one(Kind::Reentrant, &key("visited"), &release, PATIENCE).await.unwrap();
    assert_eq!(released, Outcome::Released);
}

fn short_visits() -> Result<(), Failed> {
    let place = Place::new();
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        let taker = |number, lease| Taker::start(&Job::Hold { url: place.url(), key: format!("k{number}"), lease });
        let mut holders: Vec<_> = (0..DEAD).map(|number| taker(number, ms(2000))).collect();
        for holder in &mut holders {
            holder.granted();
        }
        let waiters: Vec<_> = (0..DEAD).map(|number| taker(number, LEASE)).collect();
        eventually("all wait", PATIENCE, || count(&place, "waiters") == DEAD).await;
        // Killed as they are dropped.
        drop((waiters, holders));
        eventually("all leases end", PATIENCE, || (0..DEAD).all(|number| !place.is_held(&format!("k{number}")))).await;

        let living = place.client().await;
        let held = living.lock("held")?.lock().await?;
        let other = place.client().await;
        let waiting = tokio::spawn({
            let lock = other.lock("held")?;
            async move { lock.lock().await }
        });
        // Of the living, one has a lock, and another waits for it.
        let swept = || (count(&place, "locks"), count(&place, "waiters")) == (1, 1);
        let mut visits = 0;
        while !swept() {
            assert!(visits < VISITS, "{} locks, {} waiters", count(&place, "locks"), count(&place, "waiters"));
            visit(&place, visits).await;
            visits += 1;
        }
        println!("swept after {visits} visits");
        held.release().await?;
        waiting.await??.release().await?;
        Ok(())
    })
}
