//! What the fenced lock adds to the re-entrant one's invariants.

use crate::support::{histories, millis, replay};
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
    fn tokens_are_counted(history in histories(operations())) {
        let mut last = 0;
        replay(Kind::Fenced, &history, |step| {
            if let Outcome::Granted(grant) = step.outcome {
                let fresh = step.before.current().hold.is_none();
                last += u64::from(fresh);
                assert_eq!(grant.token, last);
            }
        });
    }
}
