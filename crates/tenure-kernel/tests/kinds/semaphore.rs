//! The semaphore's invariants, over random histories of those who take permits, wait for them and give them back.

use crate::support::{Store, histories, millis, replay};
use proptest::prelude::*;
use std::time::Duration;
use tenure_kernel::{
    Cancelled, Claim, FIRST_ENTRY, Kind, Operation, Outcome, Record, Span, Spot, Stay, Supplying, Want,
};

fn claim(n: u64) -> Claim {
    Claim::new("client", n)
}

/// The claim, and the one below it.
fn cancelled(claim: &Claim, remember: Duration) -> Cancelled {
    let until = Spot::of(claim, FIRST_ENTRY).unwrap();
    let since = Spot { claim: until.claim.saturating_sub(1), ..until };
    Cancelled { spans: vec![Span { since, until }], remember }
}

fn operations(kind: Kind) -> impl Strategy<Value = Operation> {
    let claims = || (0..5u64).prop_map(claim);
    let stay = prop_oneof![1 => Just(Stay::No), 4 => millis(20..200).prop_map(|place| Stay::InLine { place })];
    let want = move |claim: u64, count: u32| match kind {
        Kind::Permits => Want::Named((0..count).map(|at| Claim::new("permit", 10 * claim + u64::from(at))).collect()),
        _ => Want::Some(count),
    };
    let cancel = || prop::option::weighted(0.2, millis(1..80));
    let supplying = prop_oneof![
        Just(Supplying::Look),
        (0..6u32).prop_map(Supplying::Begin),
        (0..6u32).prop_map(Supplying::Set),
        (-3..4i64).prop_map(Supplying::Add),
        Just(Supplying::Drain),
    ];
    let ids = prop::collection::vec((0..5u64, 0..3u64).prop_map(|(n, at)| Claim::new("permit", 10 * n + at)), 1..4);
    prop_oneof![
        8 => (0..5u64, 1..4u32, prop::option::of(0..5u32), millis(1..100), stay).prop_map(
            move |(number, count, of, lease, stay)| {
                Operation::Take { claim: claim(number), want: want(number, count), of, lease, stay }
            }
        ),
        4 => (claims(), cancel()).prop_map(|(claim, remember)| {
            let cancel = remember.map(|remember| cancelled(&claim, remember));
            let (lease, keep) = (Duration::ZERO, Duration::ZERO);
            Operation::Release { claim, left: 0, change: 9, lease, keep, cancel }
        }),
        3 => (ids, any::<bool>()).prop_map(|(ids, all)| Operation::GiveBack { ids, all, cancel: None }),
        1 => (claims(), millis(1..100)).prop_map(|(claim, lease)| Operation::Renew { claim, lease }),
        2 => supplying.prop_map(Operation::Supply),
        1 => Just(Operation::ForceRelease),
    ]
}

fn taken(record: &Record) -> i64 {
    record.shares.iter().map(|share| i64::from(share.count)).sum()
}

fn available(store: &Store) -> i64 {
    let record = store.current();
    record.supply.map_or(0, |(_, total)| total - taken(&record))
}

const KINDS: [Kind; 2] = [Kind::Semaphore, Kind::Permits];

fn kinds() -> impl Strategy<Value = (Kind, Vec<(Duration, Operation)>)> {
    (0..2usize).prop_flat_map(|at| (Just(KINDS[at]), histories(operations(KINDS[at]))))
}

/// Whether there are never so many.
fn falls_short(record: &Record, want: u32) -> bool {
    record.supply.is_some_and(|(_, total)| total > 0 && total < i64::from(want))
}

proptest! {
    #[test]
    fn never_over_granted((kind, history) in kinds()) {
        replay(kind, &history, |step| {
            let (before, after) = (step.before.current(), &step.after.record);
            if taken(after) > taken(&before) {
                let total = after.supply.map_or(0, |(_, total)| total);
                assert!(taken(after) <= total, "{} of {total}", taken(after));
            }
        });
    }

    #[test]
    fn a_lease_ends_by_itself((kind, history) in kinds()) {
        replay(kind, &history, |step| {
            let mut store = step.after.clone();
            let Some(first) = store.record.shares.iter().map(|share| share.ends).min() else { return };
            let before = available(&store);
            store.now = first;
            assert!(available(&store) > before);
            assert!(store.current().shares.iter().all(|share| share.ends > first));
        });
    }

    #[test]
    fn asking_twice_is_asking_once((kind, history) in kinds()) {
        replay(kind, &history, |step| {
            if let (Operation::Take { .. }, Outcome::Granted(_)) = (step.operation, step.outcome) {
                let mut store = step.after.clone();
                assert_eq!(store.apply(step.operation).0, *step.outcome);
                assert_eq!(taken(&store.record), taken(&step.after.record));
            }
        });
    }

    #[test]
    fn who_came_first_is_served_first((kind, history) in kinds()) {
        replay(kind, &history, |step| {
            let fresh = taken(&step.after.record) > taken(&step.before.current());
            if let (Operation::Take { claim, want, .. }, true) = (step.operation, fresh) {
                let line = step.before.current().line;
                let before = line.iter().take_while(|waiter| waiter.claim != *claim);
                let stays = before.filter(|waiter| !falls_short(&step.after.record, waiter.want));
                let needed: i64 = stays.map(|waiter| i64::from(waiter.want)).sum();
                let there = match step.before.current().supply {
                    Some(_) => available(step.before),
                    None => step.after.record.supply.map_or(0, |(_, total)| total),
                };
                assert!(there >= needed + i64::from(want.count()));
            }
        });
    }

    #[test]
    fn who_can_be_served_is_called(history in histories(operations(Kind::Semaphore))) {
        let mut called: Vec<Claim> = Vec::new();
        replay(Kind::Semaphore, &history, |step| {
            let line = &step.after.record.line;
            let mut left = step.after.record.supply.map_or(0, |(_, total)| total - taken(&step.after.record));
            // Who can never be served is told so.
            let served = line.iter().filter(|waiter| {
                let told = falls_short(&step.after.record, waiter.want);
                left -= if told { 0 } else { i64::from(waiter.want) };
                told || left >= 0
            });
            let served: Vec<Claim> = served.map(|waiter| waiter.claim.clone()).collect();
            for claim in step.called {
                assert!(served.contains(claim), "{claim} was called and is told to wait");
                assert!(!called.contains(claim), "{claim} was called twice");
            }
            called.extend_from_slice(step.called);
            assert!(served.iter().all(|claim| called.contains(claim)), "{served:?} of {called:?}");
            called.retain(|claim| served.contains(claim));
        });
    }

    #[test]
    fn one_who_wants_more_than_there_are_is_told((kind, history) in kinds()) {
        replay(kind, &history, |step| {
            if let (Operation::Take { claim, want, .. }, Some((_, total))) = (step.operation, step.after.record.supply)
                && total > 0
                && i64::from(want.count()) > total
            {
                let held = matches!(step.outcome, Outcome::Granted(_) | Outcome::Refused);
                assert!(held || *step.outcome == Outcome::Short(total), "{:?}", step.outcome);
                assert!(!step.after.record.line.iter().any(|waiter| waiter.claim == *claim) || held);
            }
        });
    }

    #[test]
    fn given_back_all_or_none(history in histories(operations(Kind::Permits))) {
        replay(Kind::Permits, &history, |step| {
            if let Operation::GiveBack { ids, all: true, .. } = step.operation {
                let before = step.before.current();
                let all = ids.iter().all(|id| before.shares.iter().any(|share| share.claim == *id));
                assert_eq!(*step.outcome != Outcome::NotHeld, all);
                assert_eq!(taken(&before) == taken(&step.after.record), !all);
            }
        });
    }

    #[test]
    fn cancelled_stays_cancelled((kind, history) in kinds()) {
        replay(kind, &history, |step| {
            if let Operation::Take { claim, .. } = step.operation {
                let spot = Spot::of(claim, FIRST_ENTRY).unwrap();
                let cancelled = step.before.current().tombstones.iter().any(|grave| grave.span.has(spot));
                assert_eq!(*step.outcome == Outcome::Refused, cancelled);
            }
        });
    }
}
