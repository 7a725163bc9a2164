//! What the fenced lock adds to the re-entrant one's invariants.

use crate::support::{Store, histories, millis};
use proptest::prelude::*;
use std::time::Duration;
use tenure_kernel::{Claim, Kind, Operation, Outcome, Stay};

fn operations() -> impl Strategy<Value = Operation> {
    let claims = || (0..4u64).prop_map(|n| Claim::new("client", n));
    prop_oneof![
        4 => (claims(), millis(1..100))
            .prop_map(|(claim, lease)| Operation::Acquire { claim, under: Vec::new(), lease, stay: Stay::No }),
        1 => (claims(), millis(1..100))
            .prop_map(|(claim, lease)| Operation::Reenter { claim, entry: 1, count: 2, change: 1, lease }),
        3 => claims().prop_map(|claim| Operation::Release {
            claim,
            left: 0,
            change: 9,
            lease: Duration::ZERO,
            keep: Duration::ZERO,
            cancel: None,
        }),
        1 => Just(Operation::ForceRelease),
    ]
}

proptest! {
    #[test]
    fn tokens_rise_over_those_of_every_kind(history in histories(operations()), others in any::<u64>()) {
        let mut store = Store::new(Kind::Fenced);
        let mut last = 0;
        for (at, (pause, operation)) in history.iter().enumerate() {
            store.now = store.now.plus(*pause);
            // Which kind is asked for is any that goes with what is there.
            let held = store.current().kind();
            let turn = if others >> (at % 64) & 1 == 0 { Kind::Fenced } else { Kind::Reentrant };
            store.kind = held.unwrap_or(turn);
            if let (Outcome::Granted(grant), _) = store.apply(operation) {
                if held.is_none() {
                    assert!(grant.token > last, "{} after {last}", grant.token);
                    assert!(grant.token >= store.now.as_micros());
                }
                last = grant.token;
            }
        }
    }
}
