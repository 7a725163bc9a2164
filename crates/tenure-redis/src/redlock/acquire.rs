//! Taking a lock on a majority: collect the votes, then stamp the token.

use super::Redlock;
use super::calls::Stamp;
use super::votes::{Vote, Votes};
use futures_util::stream::StreamExt;
use redis::Value;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tenure_core::kernel::{Cancelled, FIRST_ENTRY, Grant, Stay};
use tenure_core::{Backend, Claim, Key, Kind, Operation, Outcome, StoreError, StoreErrorKind, Token};

/// A server is waited for no longer than a tenth of a lease, and that long at least.
const LEAST_WAIT: Duration = Duration::from_millis(50);

/// How long those are waited for whose answers change nothing any more.
const JUST_BEHIND: Duration = Duration::from_millis(10);

/// By when a hold may be over: clocks run up to 1 % apart, and reading one costs up to 2 ms.
pub(super) fn validity(lease: Duration) -> Duration {
    lease.saturating_sub(lease / 100 + Duration::from_millis(2))
}

/// How long a single server is waited for.
fn patience(within: Duration, lease: Duration) -> Duration {
    within.min((lease / 10).max(LEAST_WAIT))
}

impl Redlock {
    pub(super) async fn acquire(
        &self,
        (kind, key): (Kind, &Key),
        operation: &Operation,
        (claim, lease): (&Claim, Duration),
        within: Duration,
    ) -> Result<Outcome, StoreError> {
        if lease > self.max_lease {
            let message = format!(
                "a lease is longer than servers abstain after a restart, shorten it or raise `max_lease` in the url of every \
                 client: lease={lease:?} max_lease={:?}",
                self.max_lease
            );
            return Err(StoreError::new(StoreErrorKind::Unsupported, message));
        }
        // Before the first request: it is the client's clock that says how long the hold is good for.
        let began = Instant::now();
        let within = patience(within, lease);
        let Operation::Acquire { under, .. } = operation else { return Ok(Outcome::NotHeld) };
        // No server keeps a line: one that calls whoever has waited longest would call another one than its neighbour.
        let alone = Operation::Acquire { claim: claim.clone(), under: under.clone(), lease, stay: Stay::No };
        let mut votes = Votes::new(self.nodes.iter().map(|node| node.redis.place()), self.quorum());
        let mut answers = self.apply_all(kind, key, &alone, within);
        while let Some((at, answer)) = answers.next().await {
            votes.put(at, answer, self.nodes[at].abstains());
            // One that goes in beside others has their token, which a server that granted it late may not have been told yet.
            let settled = votes.is_won() && (!claim.is_nested() || votes.agreed().is_some());
            if settled || !votes.is_open() {
                break;
            }
        }
        if !votes.is_won() {
            // Whoever is told no is told by whom, as far as they are just behind.
            let rest = async {
                while let Some((at, answer)) = answers.next().await {
                    votes.put(at, answer, self.nodes[at].abstains());
                }
            };
            let _ = tokio::time::timeout(JUST_BEHIND, rest).await;
        }
        if votes.is_won() {
            let token = votes.token();
            if self.stamp((kind, key, claim), token, &votes, within).await && began.elapsed() < validity(lease) {
                self.holds.put(key, claim, token, began + validity(lease));
                // The others may grant it yet, and then have it like these.
                let (nodes, holds) = (self.nodes.clone(), Arc::clone(&self.holds));
                let (key, claim) = (key.clone(), claim.clone());
                tokio::spawn(async move {
                    let mut unanswered = false;
                    while let Some((at, answer)) = answers.next().await {
                        match answer {
                            Ok(Outcome::Granted(_)) => {
                                let stamp = Stamp { kind, key: &key, claim: &claim, token, late: true };
                                let _ = nodes[at].redis.run(&stamp, within).await;
                            }
                            Ok(_) => {}
                            Err(error) => unanswered |= error.kind == StoreErrorKind::Unanswered,
                        }
                    }
                    if !unanswered {
                        holds.arrived(&key, &claim);
                    }
                });
                return Ok(Outcome::Granted(Grant { token, count: 1 }));
            }
        }
        self.undo((kind, key), claim, lease, &votes);
        if votes.is_won() {
            let message =
                format!("the servers took longer than the lease lasts, or forgot it meanwhile: {}", votes.told());
            return Err(StoreError::new(StoreErrorKind::Unreachable, message));
        }
        votes.lost()
    }

    /// Writes the token down wherever the claim holds; whether a majority has it then.
    async fn stamp(
        &self,
        (kind, key, claim): (Kind, &Key, &Claim),
        token: Token,
        votes: &Votes,
        within: Duration,
    ) -> bool {
        let granted = |at: usize| match votes.all[at].1 {
            Vote::Granted(own) => Some((true, own)),
            Vote::Abstains(_, Some(own)) => Some((false, own)),
            _ => None,
        };
        // Whoever handed it out has it.
        let mut stamped = (0..self.nodes.len()).filter(|at| granted(*at) == Some((true, token))).count();
        let mut answers: futures_util::stream::FuturesUnordered<_> = (0..self.nodes.len())
            .filter_map(|at| granted(at).filter(|(_, own)| *own != token).map(|(counts, _)| (at, counts)))
            .map(|(at, counts)| {
                let node = Arc::clone(&self.nodes[at]);
                let (key, claim) = (key.clone(), claim.clone());
                async move {
                    let done =
                        node.redis.run(&Stamp { kind, key: &key, claim: &claim, token, late: false }, within).await;
                    counts && matches!(done, Ok(Value::Int(1))) && node.abstains().is_none()
                }
            })
            .collect();
        while stamped < self.quorum() {
            match answers.next().await {
                Some(done) => stamped += usize::from(done),
                None => return false,
            }
        }
        true
    }

    /// Gives back what was granted, everywhere: also where nothing was heard of it, for it may arrive yet.
    fn undo(&self, (kind, key): (Kind, &Key), claim: &Claim, lease: Duration, votes: &Votes) {
        let within = patience(Duration::MAX, lease);
        for (node, (_, vote)) in self.nodes.iter().zip(&votes.all) {
            // Only where no answer came may the request still arrive.
            let ghost = matches!(vote, Vote::None | Vote::Failed(StoreError { kind: StoreErrorKind::Unanswered, .. }));
            let operation = Operation::Release {
                claim: claim.clone(),
                left: 0,
                change: u32::MAX,
                lease,
                keep: Duration::ZERO,
                cancel: ghost.then_some(Cancelled { entry: FIRST_ENTRY, remember: lease }),
            };
            let (node, key) = (Arc::clone(node), key.clone());
            // In the background: the claim is never asked for again.
            tokio::spawn(async move {
                if let Err(error) = node.redis.apply(kind, &key, &operation, within).await {
                    tracing::debug!(%error, "what a server may have granted ends with its lease");
                }
            });
        }
    }
}
