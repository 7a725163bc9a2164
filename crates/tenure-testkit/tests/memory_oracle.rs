//! The memory backend against the specification, on a clock moved by hand.

use tenure_core::{ManualClock, Memory};
use tenure_testkit::oracle::{KINDS, Pace, STEPS, replay, replay_known, seed};

#[tokio::test]
async fn memory_answers_as_specified() {
    let seed = seed();
    for kind in KINDS {
        let clock = ManualClock::new();
        let store = Memory::with_clock(clock.clone());
        let tally = replay(&store, kind, &Pace::Manual(clock), STEPS, seed).await;
        assert_eq!((tally.compared, tally.skipped), (STEPS, 0));
    }
}

#[tokio::test]
async fn memory_answers_known_histories_as_specified() {
    let clock = ManualClock::new();
    replay_known(&Memory::with_clock(clock.clone()), &Pace::Manual(clock)).await;
}
