//! How long to wait for the slower ones, once enough have answered.

use super::{Answers, Node};
use futures_util::stream::StreamExt;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tenure_core::StoreError;

/// At the least.
const LEAST: Duration = Duration::from_millis(50);

/// After a majority has answered, the others are waited for as long again: most of them are just behind. One that hangs is
/// not to make everybody wait for its time-out, and not at all if it was silent the last time already.
pub(super) struct Patience<'a> {
    began: Instant,
    missing: usize,
    /// Who has not answered yet.
    pending: Vec<Option<&'a Arc<Node>>>,
    until: Option<tokio::time::Instant>,
    /// Whether those are waited for as well that were silent the last time.
    hopes: bool,
}

impl<'a> Patience<'a> {
    pub(super) fn new(quorum: usize, nodes: &'a [Arc<Node>]) -> Self {
        let pending = nodes.iter().map(Some).collect();
        Self { began: Instant::now(), missing: quorum, pending, until: None, hopes: false }
    }

    /// For one who wants to know what each of them says.
    pub(super) fn of_looker(quorum: usize, nodes: &'a [Arc<Node>]) -> Self {
        Self { hopes: true, ..Self::new(quorum, nodes) }
    }

    /// The next answer, if it comes in time.
    pub(super) async fn next<T>(&mut self, answers: &mut Answers<T>) -> Option<(usize, Result<T, StoreError>)> {
        let answer = match self.until {
            Some(_) if !self.hopes && self.pending.iter().flatten().all(|node| node.is_behind()) => return None,
            Some(until) => match tokio::time::timeout_at(until, answers.next()).await {
                Ok(answer) => answer?,
                Err(_) => {
                    self.pending.iter().flatten().for_each(|node| node.found_late());
                    return None;
                }
            },
            None => answers.next().await?,
        };
        self.pending[answer.0] = None;
        self.missing = self.missing.saturating_sub(usize::from(answer.1.is_ok()));
        if self.missing == 0 && self.until.is_none() {
            self.until = Some(tokio::time::Instant::now() + self.began.elapsed().max(LEAST));
        }
        Some(answer)
    }
}
