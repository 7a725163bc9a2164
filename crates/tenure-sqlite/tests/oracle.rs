//! The SQLite backend against the specification: on a clock moved by hand, and in real time.

mod support;

use std::sync::Arc;
use support::Place;
use tenure_core::ManualClock;
use tenure_sqlite::{Config, Sqlite};
use tenure_testkit::oracle::{Pace, replay, replay_known, seed};

/// Replays that run side by side: most of a replay in real time is waiting for leases to end.
const LANES: u64 = 6;
const STEPS: usize = 250;

fn by_hand(place: &Place, clock: &ManualClock) -> Sqlite {
    Config::at(&place.path).unwrap().pretend("a boot", clock.clone()).into_backend()
}

#[tokio::test]
async fn sqlite_answers_as_specified() {
    let seed = seed();
    for round in 0..10 {
        let (place, clock) = (Place::new(), ManualClock::new());
        let backend = by_hand(&place, &clock);
        let tally = replay(&backend, &Pace::Manual(clock), 1000, seed.wrapping_add(round)).await;
        assert_eq!((tally.compared, tally.skipped), (1000, 0));
        assert_eq!(place.integrity(), "ok");
    }
}

#[tokio::test]
async fn sqlite_answers_known_histories_as_specified() {
    let (place, clock) = (Place::new(), ManualClock::new());
    replay_known(&by_hand(&place, &clock), &Pace::Manual(clock)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite_answers_as_specified_in_real_time() {
    let place = Place::new();
    let backend = Arc::new(place.backend());
    let seed = seed();
    let lanes: Vec<_> = (0..LANES)
        .map(|lane| {
            let backend = Arc::clone(&backend);
            tokio::spawn(async move { replay(&*backend, &Pace::Real, STEPS, seed.wrapping_add(lane)).await })
        })
        .collect();
    for lane in lanes {
        let tally = lane.await.unwrap();
        assert!(tally.compared * 5 > STEPS * 4, "{tally:?}");
    }
}
