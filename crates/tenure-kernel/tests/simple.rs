//! What the simple lock adds to the re-entrant one's invariants, over random histories of three claims.

use proptest::prelude::*;
use std::time::Duration;
use tenure_kernel::{Claim, Kind, Operation, Outcome, Record, Stay, Stepped, Time, step};

fn claim(n: u64) -> Claim {
    Claim::new("client", n)
}

/// An acquire of either kind, perhaps under another claim, or a release.
fn asked() -> impl Strategy<Value = (Kind, Operation, Duration)> {
    let acquire = (0..3u64, prop::option::of(0..3u64)).prop_map(|(n, under)| Operation::Acquire {
        claim: claim(n),
        under: under.map(claim).into_iter().collect(),
        lease: Duration::from_millis(50),
        stay: Stay::No,
    });
    let release = (0..3u64).prop_map(|n| Operation::Release {
        claim: claim(n),
        left: 0,
        change: u32::MAX,
        lease: Duration::ZERO,
        keep: Duration::ZERO,
        cancel: None,
    });
    let kind = prop_oneof![Just(Kind::Reentrant), Just(Kind::Simple)];
    (kind, prop_oneof![3 => acquire, 1 => release], (0..30u64).prop_map(Duration::from_millis))
}

/// Replays a history, showing `check` each step with the record before and after it.
fn replay(history: &[(Kind, Operation, Duration)], mut check: impl FnMut(Kind, &Operation, &Record, &Stepped)) {
    let (mut record, mut watermark, mut now) = (Record::default(), 0, Time::default());
    for (kind, operation, pause) in history {
        now = now.plus(*pause);
        let before = step(*kind, record, &Operation::Inspect, now, watermark).record;
        let stepped = step(*kind, before.clone(), operation, now, watermark);
        check(*kind, operation, &before, &stepped);
        (record, watermark) = (stepped.record, stepped.watermark);
    }
}

proptest! {
    #[test]
    fn nobody_goes_in_twice(history in prop::collection::vec(asked(), 1..60)) {
        replay(&history, |_, _, _, after| {
            if let Some(hold) = after.record.hold.as_ref().filter(|hold| hold.kind == Kind::Simple) {
                assert_eq!(hold.claims.len(), 1);
                let claim = hold.claims[0].claim.clone();
                let again = Operation::Reenter { claim, entry: 1, count: 2, change: 1, lease: Duration::from_millis(1) };
                let now = hold.since;
                assert_eq!(step(Kind::Simple, after.record.clone(), &again, now, 0).outcome, Outcome::NotHeld);
            }
        });
    }

    #[test]
    fn kinds_do_not_mix(history in prop::collection::vec(asked(), 1..60)) {
        replay(&history, |kind, operation, before, after| {
            if let (Operation::Acquire { .. }, Some(hold)) = (operation, &before.hold)
                && hold.kind != kind
            {
                assert_eq!(after.outcome, Outcome::Conflict(hold.kind));
                assert_eq!(&after.record, before);
            }
        });
    }
}
