//! A store's memory of one key, and random histories of what is asked of it.

use proptest::prelude::*;
use std::time::Duration;
use tenure_kernel::{Claim, Kind, Operation, Outcome, Record, Stepped, Time, Token, step};

/// A store's memory of one key, and its clock.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    pub(crate) kind: Kind,
    pub(crate) record: Record,
    pub(crate) watermark: Token,
    pub(crate) now: Time,
}

impl Store {
    pub(crate) fn new(kind: Kind) -> Self {
        Self { kind, record: Record::default(), watermark: 0, now: Time::default() }
    }

    pub(crate) fn apply(&mut self, operation: &Operation) -> (Outcome, Vec<Claim>) {
        let Stepped { record, watermark, outcome, called } =
            step(self.kind, std::mem::take(&mut self.record), operation, self.now, self.watermark);
        (self.record, self.watermark) = (record, watermark);
        (outcome, called)
    }

    /// The record as it will be judged at this moment.
    pub(crate) fn current(&self) -> Record {
        step(self.kind, self.record.clone(), &Operation::Inspect, self.now, 0).record
    }
}

/// What came of one step.
pub(crate) struct Step<'a> {
    pub(crate) before: &'a Store,
    pub(crate) operation: &'a Operation,
    pub(crate) outcome: &'a Outcome,
    pub(crate) called: &'a [Claim],
    pub(crate) after: &'a Store,
}

/// Replays a history, showing each step to `check`.
pub(crate) fn replay(kind: Kind, history: &[(Duration, Operation)], mut check: impl FnMut(Step<'_>)) {
    let mut store = Store::new(kind);
    for (pause, operation) in history {
        store.now = store.now.plus(*pause);
        let before = store.clone();
        let (outcome, called) = store.apply(operation);
        let written = store.record.to_string();
        assert_eq!(written.parse().as_ref(), Ok(&store.record), "{written}");
        check(Step { before: &before, operation, outcome: &outcome, called: &called, after: &store });
    }
}

pub(crate) fn millis(range: std::ops::Range<u64>) -> impl Strategy<Value = Duration> {
    range.prop_map(Duration::from_millis)
}

/// Operations one after the other, with pauses.
pub(crate) fn histories(
    operations: impl Strategy<Value = Operation>,
) -> impl Strategy<Value = Vec<(Duration, Operation)>> {
    prop::collection::vec((millis(0..40), operations), 1..80)
}
