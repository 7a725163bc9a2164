//! The latch's invariants, over random histories of those who set it and count it down.

use crate::support::{histories, replay};
use proptest::prelude::*;
use tenure_kernel::{Claim, Counting, Kind, Latch, Operation, Outcome};

fn operations() -> impl Strategy<Value = Operation> {
    let ids = prop::option::of((0..4u64).prop_map(|n| Claim::new("worker", n)));
    prop_oneof![
        1 => Just(Counting::Look),
        1 => Just(Counting::Wait(None)),
        2 => (0..5u32).prop_map(Counting::Begin),
        1 => (0..5u32).prop_map(Counting::Set),
        6 => ids.prop_map(Counting::Down),
        1 => Just(Counting::Delete),
    ]
    .prop_map(Operation::Count)
}

fn seen(outcome: &Outcome) -> Latch {
    match outcome {
        Outcome::Latch(latch) => *latch,
        other => panic!("{other:?}"),
    }
}

proptest! {
    #[test]
    fn it_opens_when_it_was_counted_down(count in 1..50u32) {
        let down = Operation::Count(Counting::Down(None));
        let mut history = vec![(std::time::Duration::ZERO, Operation::Count(Counting::Begin(count)))];
        history.extend((0..count).map(|_| (std::time::Duration::ZERO, down.clone())));
        let mut left = count + 1;
        replay(Kind::Latch, &history, |step| {
            left -= 1;
            assert_eq!(seen(step.outcome).count, left);
        });
        assert_eq!(left, 0);
    }

    #[test]
    fn an_id_counts_once(history in histories(operations())) {
        let mut counted: Vec<Claim> = Vec::new();
        replay(Kind::Latch, &history, |step| {
            let latch = seen(step.outcome);
            match step.operation {
                Operation::Count(Counting::Down(Some(id))) if latch.was > 0 => {
                    let again = counted.contains(id);
                    assert_eq!(latch.count, latch.was - u32::from(!again));
                    counted.push(id.clone());
                }
                Operation::Count(Counting::Set(_)) => counted.clear(),
                _ => {}
            }
            if latch.count == 0 {
                counted.clear();
            }
        });
    }

    #[test]
    fn it_is_not_counted_below_zero(history in histories(operations())) {
        replay(Kind::Latch, &history, |step| {
            let latch = seen(step.outcome);
            assert_eq!(latch.count == 0, step.after.record.is_empty());
            if matches!(step.operation, Operation::Count(Counting::Down(_))) {
                assert!(latch.count <= latch.was && latch.was - latch.count <= 1);
            }
        });
    }

    #[test]
    fn to_begin_changes_no_latch_that_is_shut(history in histories(operations())) {
        replay(Kind::Latch, &history, |step| {
            if let Operation::Count(Counting::Begin(count)) = step.operation {
                let latch = seen(step.outcome);
                assert_eq!(latch.count, if latch.was > 0 { latch.was } else { *count });
            }
        });
    }

    #[test]
    fn once_open_the_round_is_another(history in histories(operations())) {
        let (mut last, mut open) = (0, true);
        replay(Kind::Latch, &history, |step| {
            if let Some(round) = seen(step.outcome).round {
                assert!(if open { round > last } else { round == last });
                last = round;
            }
            open = seen(step.outcome).count == 0;
        });
    }
}
