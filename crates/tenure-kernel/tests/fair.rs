//! What the fair lock adds to the re-entrant one's invariants, over random histories of four claims and one under them.

use proptest::prelude::*;
use std::time::Duration;
use tenure_kernel::{
    Busy, Cancelled, Claim, FIRST_ENTRY, Kind, Operation, Outcome, Record, Span, Spot, Stay, Stepped, Time, Token, step,
};

/// A store's memory of one lock, and its clock.
#[derive(Debug, Clone, Default)]
struct Store {
    record: Record,
    watermark: Token,
    now: Time,
}

impl Store {
    fn apply(&mut self, operation: &Operation) -> (Outcome, Vec<Claim>) {
        let Stepped { record, watermark, outcome, called } =
            step(Kind::Fair, std::mem::take(&mut self.record), operation, self.now, self.watermark);
        (self.record, self.watermark) = (record, watermark);
        (outcome, called)
    }

    /// The record as it will be judged at this moment.
    fn current(&self) -> Record {
        step(Kind::Fair, self.record.clone(), &Operation::Inspect, self.now, 0).record
    }

    /// Who stands in line at this moment.
    fn line(&self) -> Vec<Claim> {
        self.current().line.into_iter().map(|waiter| waiter.claim).collect()
    }
}

fn claim(n: u64) -> Claim {
    if n < 4 { Claim::new("client", n) } else { Claim::nested("client", n) }
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
    let claims = || (0..5u64).prop_map(claim);
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
        1 => (claims(), 1..9u32, millis(1..100))
            .prop_map(|(claim, change, lease)| Operation::Reenter { claim, entry: 1, count: 2, change, lease }),
        4 => (claims(), 0..2u32, millis(1..100), cancel).prop_map(|(claim, left, lease, cancel)| {
            let cancel = cancel.map(|(below, remember)| cancelled(&claim, below, remember));
            Operation::Release { claim, left, change: 9, lease, keep: Duration::ZERO, cancel }
        }),
        1 => Just(Operation::ForceRelease),
        1 => Just(Operation::Inspect),
    ]
}

/// Replays a history, showing `check` the store before and after each step.
fn replay(history: &[(Duration, Operation)], mut check: impl FnMut(&Store, &Operation, &Outcome, &[Claim], &Store)) {
    let mut store = Store::default();
    for (pause, operation) in history {
        store.now = store.now.plus(*pause);
        let before = store.clone();
        let (outcome, called) = store.apply(operation);
        check(&before, operation, &outcome, &called, &store);
    }
}

fn histories() -> impl Strategy<Value = Vec<(Duration, Operation)>> {
    prop::collection::vec((millis(0..40), operations()), 1..80)
}

proptest! {
    #[test]
    fn who_came_first_is_served_first(history in histories()) {
        replay(&history, |before, operation, outcome, _, _| {
            if let (Operation::Acquire { claim, .. }, Outcome::Granted(_)) = (operation, outcome)
                && before.current().hold.is_none()
            {
                assert!(before.line().first().is_none_or(|first| first == claim), "{claim} before {:?}", before.line());
            }
        });
    }

    #[test]
    fn a_place_is_kept_for_who_asks_again(history in histories()) {
        replay(&history, |before, operation, outcome, _, after| {
            if let (Operation::Acquire { claim, stay: Stay::InLine { place }, .. }, Outcome::Busy(busy)) =
                (operation, outcome)
            {
                let (was, is) = (before.line(), after.line());
                let place_of = |line: &[Claim]| line.iter().position(|other| other == claim);
                assert_eq!(place_of(&is), Some(place_of(&was).unwrap_or(was.len())));
                assert_eq!(busy.ahead.map(|ahead| ahead as usize), place_of(&is));
                let kept = after.record.line.iter().find(|waiter| waiter.claim == *claim).unwrap();
                assert!(kept.ends >= after.now.plus(*place));
            }
        });
    }

    #[test]
    fn who_does_not_ask_again_is_passed_over(history in histories(), lease in millis(1..100)) {
        replay(&history, |_, _, _, _, after| {
            let mut store = after.clone();
            store.now = store.record.forget_at();
            let stranger = Operation::Acquire { claim: claim(9), under: Vec::new(), lease, stay: Stay::No };
            let (outcome, _) = store.apply(&stranger);
            assert!(matches!(outcome, Outcome::Granted(_)), "{outcome:?}");
        });
    }

    #[test]
    fn who_waits_is_told_when_the_last_holder_ends(history in histories()) {
        replay(&history, |_, _, outcome, _, after| {
            if let Outcome::Busy(Busy { holder: Some(_), again: Some(again), .. }) = outcome {
                let held_at = |now| Store { now, ..after.clone() }.current().hold.is_some();
                let end = after.now.plus(*again);
                assert!(!held_at(end) && held_at(Time::from_micros(end.as_micros() - 1)), "{again:?}");
            }
        });
    }

    #[test]
    fn who_gives_up_leaves_the_line(history in histories()) {
        replay(&history, |_, operation, _, _, after| {
            if let Operation::Release { claim, left: 0, .. } = operation {
                assert!(!after.line().contains(claim));
            }
        });
    }

    #[test]
    fn who_comes_first_is_called(history in histories()) {
        let mut last: Option<Claim> = None;
        replay(&history, |_, operation, _, called, after| {
            // A look at this moment changes nothing, so that it is the step's own work.
            let first = if after.record.hold.is_none() { after.record.line.first() } else { None };
            let first = first.map(|waiter| waiter.claim.clone());
            if let Some(first) = &first {
                let (news, is_called) = (last.as_ref() != Some(first), called.contains(first));
                // One who stands under the last holder was called when that got in.
                assert!(is_called == news || (news && first.is_nested()), "{operation:?} called {called:?} not {first}");
            } else {
                assert!(called.iter().all(Claim::is_nested), "{called:?}");
            }
            last = first;
        });
    }

    #[test]
    fn one_attempt_takes_no_place(history in histories(), lease in millis(1..100)) {
        replay(&history, |_, _, _, _, after| {
            let mut store = after.clone();
            let stranger = Operation::Acquire { claim: claim(9), under: Vec::new(), lease, stay: Stay::No };
            let (outcome, _) = store.apply(&stranger);
            let free = after.current().hold.is_none() && after.line().is_empty();
            assert_eq!(matches!(outcome, Outcome::Granted(_)), free);
            assert_eq!(store.line(), after.line());
        });
    }

    #[test]
    fn re_entry_does_not_wait_in_line(history in histories(), lease in millis(1..100)) {
        replay(&history, |_, _, _, _, after| {
            let Some(hold) = after.current().hold else { return };
            let inside: Vec<Claim> = hold.claims.iter().map(|entered| entered.claim.clone()).collect();
            for again in &inside {
                let reenter = Operation::Reenter { claim: again.clone(), entry: 7, count: 2, change: 9, lease };
                // One who was cancelled while it was in is not let in again.
                let spot = Spot::of(again, 7).unwrap();
                let cancelled = after.current().tombstones.iter().any(|grave| grave.span.has(spot));
                let outcome = after.clone().apply(&reenter).0;
                assert!(matches!(outcome, Outcome::Granted(_)) != cancelled, "{outcome:?}");
            }
            let beside = Operation::Acquire { claim: Claim::nested("client", 50), under: inside, lease, stay: Stay::No };
            assert!(matches!(after.clone().apply(&beside).0, Outcome::Granted(_)));
        });
    }
}

/// The last one left stands under one who has left, and whose lease was longer.
#[test]
fn a_long_lease_is_over_when_its_holder_has_left_and_another_lives() {
    let millis = Duration::from_millis;
    let acquire = |number, under: &[u64], lease| {
        let under = under.iter().copied().map(claim).collect();
        Operation::Acquire { claim: claim(number), under, lease: millis(lease), stay: Stay::No }
    };
    let leave = Operation::Release {
        claim: claim(0),
        left: 0,
        change: 1,
        lease: millis(1),
        keep: Duration::ZERO,
        cancel: None,
    };
    let mut store = Store::default();
    store.apply(&acquire(0, &[], 100));
    store.apply(&acquire(4, &[0], 40));
    assert_eq!(store.apply(&leave).0, Outcome::Left);
    let Outcome::Busy(busy) = store.apply(&acquire(1, &[], 100)).0 else { panic!("it is held") };
    assert_eq!(busy.again, Some(millis(40)));
}
