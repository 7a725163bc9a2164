//! A property test per invariant of the re-entrant lock, over random histories of three claims.

use proptest::prelude::*;
use std::collections::{HashMap, HashSet};
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
    fn apply(&mut self, operation: &Operation) -> Outcome {
        let Stepped { record, watermark, outcome, .. } =
            step(Kind::Reentrant, std::mem::take(&mut self.record), operation, self.now, self.watermark);
        self.record = record;
        self.watermark = watermark;
        outcome
    }

    /// Who is in at this moment.
    fn inside(&self) -> Vec<Claim> {
        self.current()
            .hold
            .map(|hold| hold.claims.into_iter().map(|entered| entered.claim).collect())
            .unwrap_or_default()
    }

    fn ends(&self) -> Option<Time> {
        self.record.hold.as_ref().map(|hold| hold.ends)
    }

    /// The record as it will be judged at this moment.
    fn current(&self) -> Record {
        step(Kind::Reentrant, self.record.clone(), &Operation::Inspect, self.now, self.watermark).record
    }
}

fn claim(n: u64) -> Claim {
    Claim::new("client", n)
}

/// Three claims that take locks for themselves, and two that stand under others.
fn claims() -> impl Strategy<Value = Claim> {
    prop_oneof![3 => (0..3u64).prop_map(claim), 2 => (3..5u64).prop_map(|n| Claim::nested("client", n))]
}

fn millis(range: std::ops::Range<u64>) -> impl Strategy<Value = Duration> {
    range.prop_map(Duration::from_millis)
}

fn operations() -> impl Strategy<Value = Operation> {
    let spots = || (0..5u64, 0..4u32).prop_map(|(claim, entry)| Spot { claim, entry });
    let span = (spots(), spots()).prop_map(|(one, other)| Span { since: one.min(other), until: one.max(other) });
    let spans =
        prop_oneof![3 => spots().prop_map(|spot| vec![Span::one(spot)]), 1 => prop::collection::vec(span, 1..3)];
    let cancel = prop::option::weighted(0.3, (spans, millis(1..80)))
        .prop_map(|given| given.map(|(spans, remember)| Cancelled { spans, remember }));
    prop_oneof![
        4 => (claims(), millis(1..100)).prop_map(|(claim, lease)| acquire(claim, Vec::new(), lease)),
        2 => (claims(), prop::collection::vec(claims(), 1..3), millis(1..100))
            .prop_map(|(claim, under, lease)| acquire(claim, under, lease)),
        2 => (claims(), 1..4u32, 1..5u32, 1..9u32, millis(1..100))
            .prop_map(|(claim, entry, count, change, lease)| Operation::Reenter { claim, entry, count, change, lease }),
        2 => (claims(), millis(1..100)).prop_map(|(claim, lease)| Operation::Renew { claim, lease }),
        3 => (claims(), 0..4u32, 1..9u32, millis(1..100), prop::option::weighted(0.2, millis(1..100)), cancel)
            .prop_map(|(claim, left, change, lease, keep, cancel)| {
                Operation::Release { claim, left, change, lease, keep: keep.unwrap_or_default(), cancel }
            }),
        1 => Just(Operation::ForceRelease),
        1 => Just(Operation::Inspect),
    ]
}

fn acquire(claim: Claim, under: Vec<Claim>, lease: Duration) -> Operation {
    Operation::Acquire { claim, under, lease, stay: Stay::No }
}

/// Random operations with random time between them; about a third of the steps cross the end of a lease.
fn histories() -> impl Strategy<Value = Vec<(Duration, Operation)>> {
    prop::collection::vec((millis(0..60), operations()), 1..60)
}

fn leave(claim: &Claim, keep: Duration) -> Operation {
    let claim = claim.clone();
    Operation::Release { claim, left: 0, change: 9, lease: Duration::from_millis(1), keep, cancel: None }
}

/// Replays a history, showing `check` the store before and after each step.
fn replay(history: &[(Duration, Operation)], mut check: impl FnMut(&Store, &Operation, &Outcome, &Store)) {
    let mut store = Store::default();
    for (pause, operation) in history {
        store.now = store.now.plus(*pause);
        let before = store.clone();
        let outcome = store.apply(operation);
        check(&before, operation, &outcome, &store);
    }
}

/// All that may be asked for, each with what asks for it.
fn everything(lease: Duration) -> Vec<(Spot, Operation)> {
    let claims = (0..5u64).map(|n| if n < 3 { claim(n) } else { Claim::nested("client", n) });
    claims
        .flat_map(|claim| {
            (FIRST_ENTRY..4).map(move |entry| {
                let spot = Spot::of(&claim, entry).unwrap();
                let claim = claim.clone();
                match entry {
                    FIRST_ENTRY => (spot, acquire(claim, Vec::new(), lease)),
                    _ => (spot, Operation::Reenter { claim, entry, count: 9, change: 9, lease }),
                }
            })
        })
        .collect()
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

proptest! {
    #[test]
    fn one_claim_at_a_time(history in histories()) {
        replay(&history, |before, operation, outcome, _| {
            if let (Operation::Acquire { claim, under, .. }, Outcome::Granted(_)) = (operation, outcome) {
                let inside = before.inside();
                if !inside.contains(claim) {
                    assert!(inside.iter().all(|other| under.contains(other)), "{claim} was granted beside {inside:?}");
                }
            }
        });
    }

    #[test]
    fn siblings_exclude_each_other(history in histories(), lease in millis(1..100)) {
        replay(&history, |_, _, _, after| {
            let inside = after.inside();
            let mut store = after.clone();
            let (one, other) = (Claim::nested("client", 50), Claim::nested("client", 51));
            if !inside.is_empty() {
                assert!(matches!(store.apply(&acquire(one.clone(), inside.clone(), lease)), Outcome::Granted(_)));
                assert!(matches!(store.apply(&acquire(other.clone(), inside.clone(), lease)), Outcome::Busy(_)));
                let under_one = [inside, vec![one]].concat();
                assert!(matches!(store.apply(&acquire(other, under_one, lease)), Outcome::Granted(_)));
            }
        });
    }

    #[test]
    fn tokens_only_grow(history in histories()) {
        let mut largest = 0;
        replay(&history, |before, operation, outcome, after| {
            if let (Operation::Acquire { .. }, Outcome::Granted(grant)) = (operation, outcome)
                && before.current().hold.is_none()
            {
                assert!(grant.token > largest && grant.token >= before.now.as_micros());
                largest = grant.token;
            }
            assert_eq!(after.watermark, largest);
        });
    }

    #[test]
    fn asking_twice_is_asking_once(history in histories(), lease in millis(1..100)) {
        replay(&history, |_, operation, outcome, after| {
            let granted = |claim: &Claim| acquire(claim.clone(), Vec::new(), lease);
            if let (Outcome::Granted(first), Some(again)) = (outcome, claim_of(operation).map(granted)) {
                let mut store = after.clone();
                match store.apply(&again) {
                    Outcome::Granted(second) => assert_eq!(second, *first),
                    Outcome::Refused => {}
                    other => panic!("{other:?}"),
                }
                assert_eq!(store.watermark, after.watermark);
            }
        });
    }

    #[test]
    fn re_entry_keeps_the_token(history in histories()) {
        replay(&history, |before, operation, outcome, after| {
            let held = !before.inside().is_empty();
            if let (true, Operation::Acquire { .. } | Operation::Reenter { .. }, Outcome::Granted(grant)) =
                (held, operation, outcome)
            {
                assert_eq!(Some(grant.token), before.current().hold.map(|hold| hold.token));
                assert_eq!(after.watermark, before.watermark);
            }
        });
    }

    #[test]
    fn the_latest_change_counts(history in histories()) {
        // What the changes of each claim would have left behind, had they come in order.
        let mut latest = HashMap::new();
        replay(&history, |before, operation, outcome, after| {
            match (operation, outcome) {
                (Operation::Acquire { claim, .. }, Outcome::Granted(_)) if !before.inside().contains(claim) => {
                    latest.insert(claim.clone(), (0, 1));
                }
                (Operation::Reenter { claim, count, change, .. }, Outcome::Granted(_))
                | (Operation::Release { claim, left: count, change, .. }, Outcome::StillHeld(_))
                    if *change >= latest[claim].0 =>
                {
                    latest.insert(claim.clone(), (*change, *count));
                }
                _ => {}
            }
            for entered in after.record.hold.iter().flat_map(|hold| &hold.claims) {
                assert_eq!(entered.count, latest[&entered.claim].1);
            }
        });
    }

    #[test]
    fn nothing_shortens_a_lease(history in histories()) {
        replay(&history, |before, operation, outcome, after| {
            let asked = match operation {
                Operation::Acquire { lease, .. } | Operation::Reenter { lease, .. } | Operation::Renew { lease, .. } => lease,
                Operation::Release { lease, left, .. } if *left > 0 => lease,
                _ => return,
            };
            if matches!(outcome, Outcome::Granted(_) | Outcome::Renewed | Outcome::StillHeld(_)) {
                assert!(after.ends() >= Some(after.now.plus(*asked)));
                assert!(after.ends() >= before.ends() || before.ends() <= Some(before.now));
            }
        });
    }

    #[test]
    fn only_the_claim_may(history in histories()) {
        replay(&history, |before, operation, outcome, after| {
            let current = before.current();
            let Some(claim) = claim_of(operation) else { return };
            let entered = matches!((operation, outcome), (Operation::Acquire { .. }, Outcome::Granted(_)));
            if current.hold.is_some() && !before.inside().contains(claim) && !entered {
                assert_eq!(after.record.hold, current.hold);
                assert!(matches!(outcome, Outcome::Busy(_) | Outcome::NotHeld | Outcome::Refused));
            }
        });
    }

    #[test]
    fn cancelled_stays_cancelled(history in histories(), lease in millis(1..100)) {
        replay(&history, |_, operation, _, after| {
            if let Operation::Release { cancel: Some(cancel), .. } = operation {
                for (spot, late) in everything(lease) {
                    if !cancel.spans.iter().any(|span| span.has(spot)) {
                        continue;
                    }
                    let mut later = after.clone();
                    later.now = later.now.plus(cancel.remember.saturating_sub(Duration::from_micros(1)));
                    let held = later.current().hold;
                    assert_eq!(later.apply(&late), Outcome::Refused);
                    assert_eq!(later.record.hold, held);
                }
            }
        });
    }

    #[test]
    fn only_what_was_cancelled_is_refused(history in histories(), lease in millis(1..100)) {
        let mut cancelled: Vec<Span> = Vec::new();
        replay(&history, |_, operation, _, after| {
            if let Operation::Release { cancel: Some(cancel), .. } = operation {
                cancelled.extend(&cancel.spans);
            }
            for (spot, asks) in everything(lease) {
                if !cancelled.iter().any(|span| span.has(spot)) {
                    assert_ne!(after.clone().apply(&asks), Outcome::Refused, "{spot} was not cancelled");
                }
            }
            let stranger = acquire(Claim::new("another", 1), Vec::new(), lease);
            assert_ne!(after.clone().apply(&stranger), Outcome::Refused);
        });
    }

    #[test]
    fn what_is_over_takes_no_more_room_the_more_it_is(history in histories()) {
        replay(&history, |_, _, _, after| {
            let mut spans: Vec<Span> = after.record.tombstones.iter().map(|grave| grave.span).collect();
            spans.sort_by_key(|span| span.since);
            assert!(spans.windows(2).all(|pair| pair[0].until < pair[1].since), "{spans:?}");
            let forget: HashSet<Time> = after.record.tombstones.iter().map(|grave| grave.forget).collect();
            assert!(forget.len() <= 1, "those of one client are forgotten together");
        });
    }

    #[test]
    fn a_lease_ends_by_itself(history in histories()) {
        replay(&history, |_, _, _, after| {
            if let Some(hold) = &after.record.hold {
                let mut later = after.clone();
                later.now = hold.ends;
                assert_eq!(later.apply(&Operation::Inspect), Outcome::Seen(None));
                let renew = Operation::Renew { claim: hold.claims[0].claim.clone(), lease: Duration::from_millis(1) };
                assert_eq!(later.apply(&renew), Outcome::NotHeld);
                assert!(matches!(later.apply(&acquire(claim(99), Vec::new(), Duration::from_millis(1))), Outcome::Granted(_)));
            }
        });
    }

    #[test]
    fn leaving_for_good_frees(history in histories()) {
        replay(&history, |_, _, _, after| {
            let mut store = after.clone();
            let mut inside = after.inside();
            while let Some(claim) = inside.pop() {
                let leaves = leave(&claim, Duration::ZERO);
                let outcome = if inside.is_empty() { Outcome::Released } else { Outcome::Left };
                assert_eq!(store.apply(&leaves), outcome);
                assert_eq!(store.inside(), inside);
                assert_eq!(store.apply(&leaves), Outcome::NotHeld);
            }
        });
    }

    #[test]
    fn a_lock_that_is_kept_is_free_when_its_time_is_over(history in histories(), keep in millis(2..100)) {
        replay(&history, |_, _, _, after| {
            let mut store = after.clone();
            if let [claim] = after.inside().as_slice() {
                assert_eq!(store.apply(&leave(claim, keep)), Outcome::Kept);
                let other = acquire(self::claim(99), Vec::new(), Duration::from_millis(1));
                store.now = store.now.plus(keep.saturating_sub(Duration::from_micros(1)));
                assert!(matches!(store.apply(&other), Outcome::Busy(_)));
                store.now = store.now.plus(Duration::from_micros(1));
                assert!(matches!(store.apply(&other), Outcome::Granted(_)));
            }
        });
    }

    #[test]
    fn what_is_written_down_is_read_again(history in histories()) {
        replay(&history, |_, _, _, after| {
            assert_eq!(after.record.to_string().parse(), Ok(after.record.clone()));
        });
    }

    #[test]
    fn looking_changes_nothing(history in histories()) {
        replay(&history, |before, operation, _, after| {
            if matches!(operation, Operation::Inspect) {
                assert_eq!(after.record, before.current());
                assert_eq!(after.watermark, before.watermark);
            }
        });
    }
}

/// A store may have been written to by a version that remembered each entry by itself.
#[test]
fn what_was_cancelled_before_stretches_is_read() {
    let record: Record = "tenure 1\ncancelled 0 61000 client:7\ncancelled 2 62000 client:8^\n".parse().unwrap();
    let written = "tenure 1\nover 61000 7/0 7/0 client\nover 62000 8/2 8/2 client\n";
    assert_eq!(record.to_string(), written);
    assert_eq!(written.parse(), Ok(record));
}
