//! The SQLite backend against the specification: on a clock moved by hand, and in real time.

mod support;

use std::sync::Arc;
use support::Place;
use tenure_core::ManualClock;
use tenure_sqlite::{Config, Sqlite};
use tenure_testkit::oracle::{KINDS, Pace, STEPS, replay, replay_known, replay_side_by_side, seed};

fn by_hand(place: &Place, clock: &ManualClock) -> Sqlite {
    Config::at(&place.path).unwrap().pretend("a boot", clock.clone()).into_backend()
}

#[tokio::test]
async fn sqlite_answers_as_specified() {
    let seed = seed();
    for kind in KINDS {
        let (place, clock) = (Place::new(), ManualClock::new());
        let backend = by_hand(&place, &clock);
        let tally = replay(&backend, kind, &Pace::Manual(clock), STEPS, seed).await;
        assert_eq!((tally.compared, tally.skipped), (STEPS, 0));
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
    for kind in KINDS {
        replay_side_by_side(&backend, kind, 1000, seed).await;
    }
}
