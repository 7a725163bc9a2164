//! When to ask again, if the lock is busy.

use super::way::Way;
use crate::Retry;
use std::time::Duration;

/// When to ask again, if the lock is busy.
#[derive(Debug, Clone, Copy)]
pub(super) enum Again {
    WhenCalled,
    /// By a policy of the caller's.
    After(Duration),
    /// The policy's retries are used up.
    Never,
}

/// A policy of the caller's, if there is one, and how far it has got.
pub(super) struct Schedule {
    policy: Option<Box<<Retry as IntoIterator>::IntoIter>>,
    /// What is left of a pause that was broken off to keep a place in line.
    rest: Duration,
}

impl Schedule {
    pub(super) fn new(retry: Option<Retry>) -> Self {
        Self { policy: retry.map(|retry| Box::new(retry.into_iter())), rest: Duration::ZERO }
    }

    pub(super) fn next(&mut self) -> Again {
        let rest = std::mem::take(&mut self.rest);
        match &mut self.policy {
            None => Again::WhenCalled,
            Some(_) if !rest.is_zero() => Again::After(rest),
            Some(policy) => policy.next().map_or(Again::Never, Again::After),
        }
    }

    /// How much of a pause to make now. What it is broken off for is no retry.
    pub(super) fn begin(&mut self, pause: Duration, way: &Way) -> Duration {
        let now = way.silence().min(pause);
        self.rest = pause.saturating_sub(now);
        now
    }
}
