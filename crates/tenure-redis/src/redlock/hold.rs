//! Holds on a majority: re-entered and given back. `holds` knows what they are, and `renew` keeps them.

use super::acquire::validity;
use super::node::even_if_dead;
use super::patience::Patience;
use super::{Answers, Redlock, go_on};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tenure_core::kernel::Grant;
use tenure_core::{Backend, Claim, Key, Kind, Operation, Outcome, StoreError};

impl Redlock {
    /// Goes in once more, where a majority has the claim.
    pub(super) async fn reenter(
        &self,
        kind: Kind,
        key: &Key,
        operation: &Operation,
        within: Duration,
    ) -> Result<Outcome, StoreError> {
        let Operation::Reenter { claim, count, change, lease, .. } = operation else { return Ok(Outcome::NotHeld) };
        let began = Instant::now();
        let said = self.majority(self.apply_everywhere(kind, key, operation, within)).await?;
        let Some(held) = self.holds.get(key, claim) else { return Ok(said) };
        if let Outcome::Granted(grant) = &said {
            self.holds.change(key, claim, |held| {
                (held.count, held.change) = (*count, *change);
                held.last(*lease, began + validity(*lease));
            });
            return Ok(Outcome::Granted(Grant { token: held.token, count: grant.count }));
        }
        Ok(said)
    }

    /// Leaves, on every server.
    pub(super) async fn release(
        &self,
        kind: Kind,
        key: &Key,
        operation: &Operation,
        within: Duration,
    ) -> Result<Outcome, StoreError> {
        let Operation::Release { claim, left, change, lease, keep, .. } = operation else {
            return Ok(Outcome::NotHeld);
        };
        let mut operation = operation.clone();
        // From here on no renewal that is under way puts it back, where it would come after the release.
        let held = if *left == 0 { self.holds.leave(key, claim) } else { self.holds.get(key, claim) };
        // Whoever leaves for good asks for no lease any more, but the servers have it for as long as was asked before.
        let lease = held.as_ref().map_or(*lease, |held| held.lease.max(*lease));
        if held.as_ref().is_some_and(|held| held.on_its_way)
            && let Operation::Release { left: 0, cancel, .. } = &mut operation
        {
            let all = self.given_up.cancel(key, claim, lease);
            match cancel {
                Some(cancel) => {
                    cancel.remember = cancel.remember.max(all.remember);
                    cancel.spans.retain(|span| !all.spans.contains(span));
                    cancel.spans.extend(all.spans);
                }
                None => *cancel = Some(all),
            }
        }
        let may_have = |at: usize| held.as_ref().is_none_or(|held| held.on[at]);
        let telling = (0..self.nodes.len()).map(|at| {
            // What stays taken for a while is not to be freed by being told late.
            let owed = *left == 0 && keep.is_zero() && may_have(at);
            go_on(at, self.tell(at, (kind, key, claim), operation.clone(), lease, (owed, within, false)))
        });
        let said = self.majority(telling.collect()).await;
        match &said {
            Ok(Outcome::StillHeld(_)) => {
                self.holds.change(key, claim, |held| (held.count, held.change) = (*left, *change));
            }
            Ok(_) => self.holds.remove(key, claim),
            Err(_) => {}
        }
        said
    }

    /// Takes back what is left of a hold that is lost, in the background.
    pub(super) fn give_back(&self, kind: Kind, key: &Key, claim: &Claim, lease: Duration) {
        for at in 0..self.nodes.len() {
            let leave = self.given_up.leave(key, claim, lease);
            tokio::spawn(self.tell(at, (kind, key, claim), leave, lease, (true, lease, false)));
        }
    }

    /// Tells a server that a claim leaves; if it may have it, also when it answers again. Those who wait are told of it, or not.
    pub(super) fn tell(
        &self,
        at: usize,
        (kind, key, claim): (Kind, &Key, &Claim),
        operation: Operation,
        lease: Duration,
        (owed, within, quiet): (bool, Duration, bool),
    ) -> impl Future<Output = Result<Outcome, StoreError>> + Send + use<> {
        let (node, key, claim) = (Arc::clone(&self.nodes[at]), key.clone(), claim.clone());
        if owed {
            node.stragglers.expect((kind, &key, &claim), lease, within);
        }
        async move {
            // To leave twice is to leave once, and whoever releases may end before the server is told again.
            let answer = if quiet {
                let retract = |within| node.redis.retract(kind, &key, &claim, &operation, within);
                even_if_dead(within, |_| true, retract).await
            } else {
                even_if_dead(within, |_| true, |within| node.redis.apply_one(kind, &key, &operation, within)).await
            };
            node.heard(&answer);
            if owed {
                node.stragglers.heard(&key, &claim, &answer);
            }
            answer
        }
    }

    /// What a majority of the servers say, of the same to all of them.
    async fn majority(&self, mut answers: Answers<Outcome>) -> Result<Outcome, StoreError> {
        let mut votes = self.no_votes();
        let mut said: Vec<Outcome> = Vec::new();
        let mut patience = Patience::new(self.quorum(), &self.nodes);
        while let Some((at, answer)) = patience.next(&mut answers).await {
            said.extend(answer.as_ref().ok().cloned());
            votes.put(at, answer, None);
        }
        let (no, yes): (Vec<Outcome>, Vec<Outcome>) =
            said.into_iter().partition(|outcome| matches!(outcome, Outcome::NotHeld | Outcome::Refused));
        if yes.len() >= self.quorum() {
            // Where others are in beside it, which need not be everywhere, it has left and they are still in.
            let left = yes.iter().find(|outcome| **outcome == Outcome::Left);
            return Ok(left.or(yes.first()).cloned().unwrap_or(Outcome::NotHeld));
        }
        // Too few are left that might have it.
        if self.nodes.len() - no.len() < self.quorum() || yes.len() + no.len() == self.nodes.len() {
            return Ok(no.into_iter().next().unwrap_or(Outcome::NotHeld));
        }
        Err(votes.silence())
    }
}
