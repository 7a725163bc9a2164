//! How long to wait for the slower ones, once enough have answered.

use super::Answers;
use futures_util::stream::StreamExt;
use std::time::{Duration, Instant};
use tenure_core::StoreError;

/// At the least.
const LEAST: Duration = Duration::from_millis(50);

/// After a majority has answered, the others are waited for as long again: most of them are just behind, and one that hangs
/// is not to make everybody wait for its time-out.
pub(super) struct Patience {
    began: Instant,
    missing: usize,
    until: Option<tokio::time::Instant>,
}

impl Patience {
    pub(super) fn new(quorum: usize) -> Self {
        Self { began: Instant::now(), missing: quorum, until: None }
    }

    /// The next answer, if it comes in time.
    pub(super) async fn next<T>(&mut self, answers: &mut Answers<T>) -> Option<(usize, Result<T, StoreError>)> {
        let answer = match self.until {
            Some(until) => tokio::time::timeout_at(until, answers.next()).await.ok().flatten()?,
            None => answers.next().await?,
        };
        self.missing = self.missing.saturating_sub(usize::from(answer.1.is_ok()));
        if self.missing == 0 && self.until.is_none() {
            self.until = Some(tokio::time::Instant::now() + self.began.elapsed().max(LEAST));
        }
        Some(answer)
    }
}
