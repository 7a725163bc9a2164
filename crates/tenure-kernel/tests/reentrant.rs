//! A property test per invariant of the re-entrant lock, over random histories of three claims.

use proptest::prelude::*;
use std::time::Duration;
use tenure_kernel::reentrant::{Record, Stepped, step};
use tenure_kernel::{Cancelled, Claim, FIRST_ENTRY, Operation, Outcome, Stay, Time, Token};

/// A store's memory of one lock, and its clock.
#[derive(Debug, Clone, Default)]
struct Store {
    record: Record,
    watermark: Token,
    now: Time,
}

impl Store {
    fn apply(&mut self, operation: &Operation) -> Outcome {
        let Stepped { record, watermark, outcome } =
            step(std::mem::take(&mut self.record), operation, self.now, self.watermark);
        self.record = record;
        self.watermark = watermark;
        outcome
    }

    fn ends(&self) -> Option<Time> {
        self.record.hold.as_ref().map(|hold| hold.ends)
    }

    /// The record as it will be judged at this moment.
    fn current(&self) -> Record {
        step(self.record.clone(), &Operation::Inspect, self.now, self.watermark).record
    }
}

fn claim(n: u64) -> Claim {
    Claim::new("client", n)
}

fn claims() -> impl Strategy<Value = Claim> {
    (0..3u64).prop_map(claim)
}

fn millis(range: std::ops::Range<u64>) -> impl Strategy<Value = Duration> {
    range.prop_map(Duration::from_millis)
}

fn operations() -> impl Strategy<Value = Operation> {
    let cancel = prop::option::weighted(0.3, (0..3u32, millis(1..80)))
        .prop_map(|given| given.map(|(entry, remember)| Cancelled { entry, remember }));
    prop_oneof![
        4 => (claims(), millis(1..100)).prop_map(|(claim, lease)| Operation::Acquire { claim, lease, stay: Stay::No }),
        2 => (claims(), 1..4u32, 1..5u32, 1..9u32, millis(1..100))
            .prop_map(|(claim, entry, count, change, lease)| Operation::Reenter { claim, entry, count, change, lease }),
        2 => (claims(), millis(1..100)).prop_map(|(claim, lease)| Operation::Renew { claim, lease }),
        3 => (claims(), 0..4u32, 1..9u32, millis(1..100), cancel)
            .prop_map(|(claim, left, change, lease, cancel)| Operation::Release { claim, left, change, lease, cancel }),
        1 => Just(Operation::ForceRelease),
        1 => Just(Operation::Inspect),
    ]
}

/// Random operations with random time between them; about a third of the steps cross the end of a lease.
fn histories() -> impl Strategy<Value = Vec<(Duration, Operation)>> {
    prop::collection::vec((millis(0..60), operations()), 1..60)
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
            if let (Operation::Acquire { claim, .. }, Outcome::Granted(_)) = (operation, outcome) {
                let other = before.current().hold.filter(|hold| hold.claim != *claim);
                assert!(other.is_none(), "{claim} was granted beside {other:?}");
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
        replay(&history, |_, _, outcome, after| {
            if let (Outcome::Granted(first), Some(hold)) = (outcome, &after.record.hold) {
                let again = Operation::Acquire { claim: hold.claim.clone(), lease, stay: Stay::No };
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
            if let (Operation::Reenter { .. }, Outcome::Granted(grant)) = (operation, outcome) {
                assert_eq!(Some(grant.token), before.current().hold.map(|hold| hold.token));
                assert_eq!(after.watermark, before.watermark);
            }
        });
    }

    #[test]
    fn the_latest_change_counts(history in histories()) {
        // What the changes of the current hold would have left behind, had they come in order.
        let mut latest = (0, 1);
        replay(&history, |before, operation, outcome, after| {
            match (operation, outcome) {
                (Operation::Acquire { .. }, Outcome::Granted(_)) if before.current().hold.is_none() => latest = (0, 1),
                (Operation::Reenter { count, change, .. }, Outcome::Granted(_))
                | (Operation::Release { left: count, change, .. }, Outcome::StillHeld(_)) if *change >= latest.0 => {
                    latest = (*change, *count);
                }
                _ => {}
            }
            if let Some(hold) = &after.record.hold {
                assert_eq!(hold.count, latest.1);
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
            if current.hold.as_ref().is_some_and(|hold| hold.claim != *claim) {
                assert_eq!(after.record.hold, current.hold);
                assert!(matches!(outcome, Outcome::Busy(_) | Outcome::NotHeld | Outcome::Refused));
            }
        });
    }

    #[test]
    fn cancelled_stays_cancelled(history in histories(), lease in millis(1..100)) {
        replay(&history, |_, operation, _, after| {
            if let Operation::Release { claim, cancel: Some(cancel), .. } = operation {
                let mut later = after.clone();
                later.now = later.now.plus(cancel.remember.saturating_sub(Duration::from_micros(1)));
                let claim = claim.clone();
                let late = if cancel.entry == FIRST_ENTRY {
                    Operation::Acquire { claim, lease, stay: Stay::No }
                } else {
                    Operation::Reenter { claim, entry: cancel.entry, count: 9, change: 9, lease }
                };
                let held = later.current().hold;
                assert_eq!(later.apply(&late), Outcome::Refused);
                assert_eq!(later.record.hold, held);
            }
        });
    }

    #[test]
    fn a_lease_ends_by_itself(history in histories()) {
        replay(&history, |_, _, _, after| {
            if let Some(hold) = &after.record.hold {
                let mut later = after.clone();
                later.now = hold.ends;
                assert_eq!(later.apply(&Operation::Inspect), Outcome::Seen(None));
                let renew = Operation::Renew { claim: hold.claim.clone(), lease: Duration::from_millis(1) };
                assert_eq!(later.apply(&renew), Outcome::NotHeld);
                let next = Operation::Acquire { claim: claim(99), lease: Duration::from_millis(1), stay: Stay::No };
                assert!(matches!(later.apply(&next), Outcome::Granted(_)));
            }
        });
    }

    #[test]
    fn leaving_for_good_frees(history in histories()) {
        replay(&history, |_, _, _, after| {
            if let Some(hold) = &after.record.hold {
                let mut store = after.clone();
                let leave = Operation::Release {
                    claim: hold.claim.clone(),
                    left: 0,
                    change: 9,
                    lease: Duration::from_millis(1),
                    cancel: None,
                };
                assert_eq!(store.apply(&leave), Outcome::Released);
                assert_eq!(store.record.hold, None);
                assert_eq!(store.apply(&leave), Outcome::NotHeld);
            }
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
