//! What one call asks of a store, and what it answers.

use super::StoreError;
use std::time::Duration;
use tenure_kernel::{Key, Kind, Operation, Outcome};

/// One operation on one lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The lock's kind.
    pub kind: Kind,
    /// The lock.
    pub key: Key,
    /// What is asked of it.
    pub operation: Operation,
}

impl Step {
    /// This operation on this lock.
    pub fn new(kind: Kind, key: &Key, operation: Operation) -> Self {
        Self { kind, key: key.clone(), operation }
    }
}

/// The steps of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch<'a> {
    /// At least one; [`Batch::MOST`] at the most.
    pub steps: &'a [Step],
    /// Whether none is to be taken unless all are granted. Then all are acquires, of different keys.
    pub all_or_none: bool,
}

impl<'a> Batch<'a> {
    /// How many steps one call has at the most: enough to make calls rare, few enough to keep each one short. A store may do
    /// nothing else meanwhile.
    pub const MOST: usize = 420;

    /// Each step is taken and answered by itself, in any order.
    pub fn each(steps: &'a [Step]) -> Self {
        Self { steps, all_or_none: false }
    }

    /// One step.
    pub fn one(step: &'a Step) -> Self {
        Self::each(std::slice::from_ref(step))
    }

    /// All steps are granted at one moment, or none is.
    pub fn all_or_none(steps: &'a [Step]) -> Self {
        Self { steps, all_or_none: true }
    }
}

/// What a store answers a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Applied {
    /// The answer to each step, in their order. Of a batch of all or none, all were granted.
    Each(Vec<Result<Outcome, StoreError>>),
    /// Of a batch of all or none, nothing was done, because this step was not granted.
    Stopped {
        /// Which step, counted from zero.
        at: usize,
        /// What it answered, if that could be told.
        answer: Result<Outcome, StoreError>,
    },
    /// The store cannot take these steps at one moment, and has not tried: ask for one after the other.
    Apart,
}

impl Applied {
    /// The answer to the only step.
    pub fn one(outcome: Outcome) -> Self {
        Self::Each(vec![Ok(outcome)])
    }

    /// For how long something is held that these steps have taken or renewed, if they have.
    pub fn holds_for(&self, steps: &[Step]) -> Option<Duration> {
        let Self::Each(answers) = self else { return None };
        let lease = |(step, answer): (&Step, &Result<Outcome, StoreError>)| match answer {
            Ok(Outcome::Granted(_) | Outcome::Renewed) => step.operation.lease(),
            _ => None,
        };
        steps.iter().zip(answers).filter_map(lease).max()
    }

    /// The answer to the only step of a batch.
    ///
    /// # Errors
    ///
    /// What the store failed with, or [`StoreErrorKind::Unexpected`](super::StoreErrorKind::Unexpected) if it gave no answer.
    pub fn single(self) -> Result<Outcome, StoreError> {
        let answer = match self {
            Self::Each(mut answers) => answers.pop(),
            Self::Stopped { answer, .. } => Some(answer),
            Self::Apart => None,
        };
        answer.unwrap_or_else(|| Err(StoreError::new(super::StoreErrorKind::Unexpected, "a step without an answer")))
    }
}
