//! A property test per invariant of the read-write lock, over random histories of five claims and two under them.

use proptest::prelude::*;
use std::collections::HashMap;
use std::time::Duration;
use tenure_kernel::{
    Cancelled, Claim, FIRST_ENTRY, Kind, Operation, Outcome, Record, Span, Spot, Stay, Stepped, Time, Token, step,
};

/// A store's memory of one lock, and its clock.
#[derive(Debug, Clone, Default)]
struct Store {
    record: Record,
    watermark: Token,
    now: Time,
}

impl Store {
    fn apply(&mut self, kind: Kind, operation: &Operation) -> (Outcome, Vec<Claim>) {
        let Stepped { record, watermark, outcome, called } =
            step(kind, std::mem::take(&mut self.record), operation, self.now, self.watermark);
        (self.record, self.watermark) = (record, watermark);
        (outcome, called)
    }

    /// The record as it will be judged at this moment.
    fn current(&self) -> Record {
        step(Kind::Read, self.record.clone(), &Operation::Inspect, self.now, 0).record
    }

    fn is_in_line(&self, claim: &Claim) -> bool {
        self.current().line.iter().any(|waiter| waiter.claim == *claim)
    }
}

/// Claims 0 to 2 read, 3 and 4 write; 5 reads and 6 writes, under others.
fn claim(n: u64) -> Claim {
    if n < 5 { Claim::new("client", n) } else { Claim::nested("client", n) }
}

fn kind_of(claim: &Claim) -> Kind {
    let number: u64 = claim.as_str().trim_start_matches("client:").trim_end_matches('^').parse().unwrap();
    if matches!(number, 0..=2 | 5) { Kind::Read } else { Kind::Write }
}

fn millis(range: std::ops::Range<u64>) -> impl Strategy<Value = Duration> {
    range.prop_map(Duration::from_millis)
}

/// The claim, and so many below it.
fn cancelled(claim: &Claim, below: u64, remember: Duration) -> Cancelled {
    let until = Spot::of(claim, u32::MAX).unwrap();
    let since = Spot { claim: until.claim.saturating_sub(below), entry: FIRST_ENTRY };
    Cancelled { spans: vec![Span { since, until }], remember }
}

fn operations() -> impl Strategy<Value = Operation> {
    let claims = || (0..7u64).prop_map(claim);
    let stay = prop_oneof![
        1 => Just(Stay::No),
        4 => millis(20..200).prop_map(|place| Stay::InLine { place }),
    ];
    let cancel = prop::option::weighted(0.2, (0..2u32, millis(1..80)))
        .prop_map(|given| given.map(|(below, remember)| (u64::from(below), remember)));
    prop_oneof![
        6 => (claims(), prop::collection::vec(claims(), 0..3), millis(1..100), stay).prop_map(
            |(claim, under, lease, stay)| {
                let under = if claim.is_nested() { under } else { Vec::new() };
                Operation::Acquire { claim, under, lease, stay }
            }
        ),
        1 => (claims(), 1..9u32, 1..4u32, millis(1..100))
            .prop_map(|(claim, change, count, lease)| Operation::Reenter { claim, entry: 1, count, change, lease }),
        1 => (claims(), millis(1..100)).prop_map(|(claim, lease)| Operation::Renew { claim, lease }),
        4 => (claims(), 0..2u32, millis(1..100), cancel).prop_map(|(claim, left, lease, cancel)| {
            let cancel = cancel.map(|(below, remember)| cancelled(&claim, below, remember));
            Operation::Release { claim, left, change: 9, lease, keep: Duration::ZERO, cancel }
        }),
        1 => Just(Operation::ForceRelease),
        1 => Just(Operation::Inspect),
    ]
}

fn claim_of(operation: &Operation) -> Option<&Claim> {
    match operation {
        Operation::Acquire { claim, .. }
        | Operation::Reenter { claim, .. }
        | Operation::Renew { claim, .. }
        | Operation::Release { claim, .. } => Some(claim),
        _ => None,
    }
}

fn histories() -> impl Strategy<Value = Vec<(Duration, Operation)>> {
    prop::collection::vec((millis(0..30), operations()), 1..80)
}

/// Replays a history, showing `check` the store before and after each step.
fn replay(history: &[(Duration, Operation)], mut check: impl FnMut(&Store, &Operation, &Outcome, &Store)) {
    let mut store = Store::default();
    for (pause, operation) in history {
        store.now = store.now.plus(*pause);
        let before = store.clone();
        let kind = claim_of(operation).map_or(Kind::Read, kind_of);
        let (outcome, _) = store.apply(kind, operation);
        check(&before, operation, &outcome, &store);
    }
}

fn acquire(claim: Claim, under: &[Claim], lease: Duration) -> Operation {
    Operation::Acquire { claim, under: under.to_vec(), lease, stay: Stay::No }
}

proptest! {
    #[test]
    fn a_writer_is_alone(history in histories()) {
        replay(&history, |before, operation, outcome, _| {
            if let (Operation::Acquire { claim, under, .. }, Outcome::Granted(_)) = (operation, outcome) {
                let shares = before.current().shares;
                if shares.iter().any(|share| share.claim == *claim) {
                    return;
                }
                for share in shares.iter().filter(|share| !under.contains(&share.claim)) {
                    let both_read = share.kind == Kind::Read && kind_of(claim) == Kind::Read;
                    assert!(both_read, "{claim} was granted beside {share:?}");
                }
            }
        });
    }

    #[test]
    fn readers_are_together(history in histories(), lease in millis(1..100)) {
        replay(&history, |_, _, _, after| {
            let current = after.current();
            let written = current.kind() == Some(Kind::Write);
            let wanted = current.line.iter().any(|waiter| waiter.kind == Kind::Write);
            let (outcome, _) = after.clone().apply(Kind::Read, &acquire(Claim::new("client", 50), &[], lease));
            assert_eq!(matches!(outcome, Outcome::Granted(_)), !written && !wanted);
        });
    }

    #[test]
    fn each_ends_by_itself(history in histories()) {
        replay(&history, |before, operation, outcome, after| {
            for share in &before.current().shares {
                let own = claim_of(operation) == Some(&share.claim);
                let leaves = own && matches!(operation, Operation::Release { left: 0, .. });
                if leaves || matches!(outcome, Outcome::Forced(_)) {
                    continue;
                }
                let is = after.record.shares.iter().find(|other| other.claim == share.claim);
                let is = is.unwrap_or_else(|| panic!("{operation:?} put {share:?} out"));
                assert!(is.ends >= share.ends && (own || is.ends == share.ends));
            }
            assert!(after.record.shares.iter().all(|share| share.ends > after.now));
        });
    }

    #[test]
    fn tokens_only_grow(history in histories()) {
        let mut largest = 0;
        let mut known: HashMap<Claim, Token> = HashMap::new();
        replay(&history, |before, operation, outcome, _| {
            if let (Operation::Acquire { claim, under, .. }, Outcome::Granted(grant)) = (operation, outcome) {
                let shares = before.current().shares;
                let is = |other: &Claim| shares.iter().find(|share| share.claim == *other);
                if is(claim).is_some() {
                    assert_eq!(known.get(claim), Some(&grant.token));
                } else if let Some(writer) = under.iter().filter_map(is).find(|share| share.kind == Kind::Write) {
                    assert_eq!(grant.token, writer.token);
                } else {
                    assert!(grant.token > largest && grant.token >= before.now.as_micros());
                    largest = grant.token;
                }
                known.insert(claim.clone(), grant.token);
            }
        });
    }

    #[test]
    fn asking_twice_is_asking_once(history in histories()) {
        replay(&history, |_, operation, outcome, after| {
            if let (Operation::Acquire { claim, .. }, Outcome::Granted(_)) = (operation, outcome) {
                let mut store = after.clone();
                assert_eq!(&store.apply(kind_of(claim), operation).0, outcome);
                assert_eq!(store.record, after.record);
            }
        });
    }

    #[test]
    fn new_readers_wait_for_a_waiting_writer(history in histories()) {
        replay(&history, |before, operation, outcome, _| {
            if let (Operation::Acquire { claim, under, .. }, Outcome::Granted(_)) = (operation, outcome)
                && kind_of(claim) == Kind::Read
                && !before.is_in_line(claim)
            {
                let current = before.current();
                let is_in = |claim: &Claim| current.shares.iter().any(|share| share.claim == *claim);
                let writer = current.line.iter().find(|waiter| waiter.kind == Kind::Write);
                assert!(writer.is_none() || is_in(claim) || under.iter().any(is_in), "{claim} before {writer:?}");
            }
        });
    }

    #[test]
    fn readers_who_waited_for_a_writer_go_before_the_next(history in histories()) {
        // Readers that were in line while a writer was seen to be in.
        let mut waited: Vec<Claim> = Vec::new();
        replay(&history, |before, operation, outcome, after| {
            waited.retain(|claim| before.is_in_line(claim));
            if let (Operation::Acquire { claim, under, .. }, Outcome::Granted(_)) = (operation, outcome)
                && kind_of(claim) == Kind::Write
            {
                let shares = before.current().shares;
                let kin = shares.iter().any(|share| under.contains(&share.claim) || share.claim == *claim);
                assert!(kin || waited.is_empty(), "{claim} before {waited:?}");
            }
            let (record, looked) = (after.current(), *operation == Operation::Inspect);
            waited.retain(|claim| after.is_in_line(claim));
            if !looked && record.kind() == Some(Kind::Write) {
                let readers = record.line.iter().filter(|waiter| waiter.kind == Kind::Read);
                waited.extend(readers.map(|waiter| waiter.claim.clone()));
            }
        });
    }

    #[test]
    fn one_of_two_who_upgrade_is_refused(history in histories(), lease in millis(50..100)) {
        replay(&history, |_, _, _, after| {
            let mut store = Store { record: Record::default(), ..after.clone() };
            let readers = [Claim::new("client", 0), Claim::new("client", 1)];
            for reader in &readers {
                store.apply(Kind::Read, &acquire(reader.clone(), &[], lease));
            }
            let stay = Stay::InLine { place: lease };
            let upgrade = |number, reader: &Claim| {
                let claim = Claim::nested("client", number);
                Operation::Acquire { claim, under: vec![reader.clone()], lease, stay }
            };
            let (one, other) = (upgrade(50, &readers[0]), upgrade(51, &readers[1]));
            assert!(matches!(store.apply(Kind::Write, &one).0, Outcome::Busy(busy) if busy.ahead == Some(0)));
            let before = store.record.clone();
            assert_eq!(store.apply(Kind::Write, &other).0, Outcome::Deadlock(Claim::nested("client", 50)));
            assert_eq!(store.record, before, "nothing was changed");
            let leave = Operation::Release {
                claim: readers[1].clone(), left: 0, change: 9, lease, keep: Duration::ZERO, cancel: None,
            };
            let (_, called) = store.apply(Kind::Read, &leave);
            assert_eq!(called, [Claim::nested("client", 50)]);
            assert!(matches!(store.apply(Kind::Write, &one).0, Outcome::Granted(_)));
        });
    }

    #[test]
    fn cancelled_stays_cancelled(history in histories(), lease in millis(1..100)) {
        replay(&history, |_, operation, _, after| {
            if let Operation::Release { claim, left: 0, cancel: Some(_), .. } = operation {
                let mut store = after.clone();
                let again = acquire(claim.clone(), &[], lease);
                assert_eq!(store.apply(kind_of(claim), &again).0, Outcome::Refused);
                assert!(!store.is_in_line(claim));
            }
        });
    }

    #[test]
    fn only_the_claim_may(history in histories(), lease in millis(1..100)) {
        replay(&history, |_, _, _, after| {
            let stranger = Claim::new("client", 50);
            for operation in [
                Operation::Renew { claim: stranger.clone(), lease },
                Operation::Reenter { claim: stranger.clone(), entry: 1, count: 2, change: 9, lease },
                Operation::Release {
                    claim: stranger.clone(), left: 0, change: 9, lease, keep: Duration::ZERO, cancel: None,
                },
            ] {
                let mut store = after.clone();
                assert_eq!(store.apply(Kind::Write, &operation).0, Outcome::NotHeld);
                assert_eq!(store.current().shares, after.current().shares);
            }
        });
    }

    #[test]
    fn a_record_is_read_as_it_was_written(history in histories()) {
        replay(&history, |_, _, _, after| {
            assert_eq!(after.record.to_string().parse::<Record>().unwrap(), after.record);
        });
    }
}
