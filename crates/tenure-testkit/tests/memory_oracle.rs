//! The memory backend against the specification, on a clock moved by hand.

use tenure_core::{ManualClock, Memory};
use tenure_testkit::oracle::{Pace, replay, replay_known, seed};

#[tokio::test]
async fn memory_answers_as_specified() {
    let seed = seed();
    for round in 0..20 {
        let clock = ManualClock::new();
        let store = Memory::with_clock(clock.clone());
        let tally = replay(&store, &Pace::Manual(clock), 1000, seed.wrapping_add(round)).await;
        assert_eq!((tally.compared, tally.skipped), (1000, 0));
    }
}

#[tokio::test]
async fn memory_answers_known_histories_as_specified() {
    let clock = ManualClock::new();
    replay_known(&Memory::with_clock(clock.clone()), &Pace::Manual(clock)).await;
}
