//! Holds on a majority: kept, re-entered and given back.

use super::acquire::validity;
use super::calls::Join;
use super::patience::Patience;
use super::votes::Votes;
use super::{Node, Redlock};
use futures_util::stream::StreamExt;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tenure_core::kernel::{Cancelled, FIRST_ENTRY, Grant};
use tenure_core::{Backend, Claim, Key, Kind, Operation, Outcome, Renewal, StoreError, Token};

/// What this client holds.
#[derive(Default)]
pub(super) struct Holds(Mutex<HashMap<(Key, Claim), Held>>);

/// A hold, as a server must know it that does not.
#[derive(Clone, Copy)]
struct Held {
    token: Token,
    count: u32,
    change: u32,
    /// From then on it is over, whatever the servers say.
    ends: Instant,
    /// Whether the request for it may still be on its way to some server, and must not arrive after the release.
    on_its_way: bool,
}

impl Holds {
    fn lock(&self) -> MutexGuard<'_, HashMap<(Key, Claim), Held>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn put(&self, key: &Key, claim: &Claim, token: Token, ends: Instant) {
        self.lock().insert((key.clone(), claim.clone()), Held { token, count: 1, change: 0, ends, on_its_way: true });
    }

    /// Every server has answered.
    pub(super) fn arrived(&self, key: &Key, claim: &Claim) {
        self.change(key, claim, |held| held.on_its_way = false);
    }

    fn get(&self, key: &Key, claim: &Claim) -> Option<Held> {
        self.lock().get(&(key.clone(), claim.clone())).copied()
    }

    fn change(&self, key: &Key, claim: &Claim, change: impl FnOnce(&mut Held)) {
        if let Some(held) = self.lock().get_mut(&(key.clone(), claim.clone())) {
            change(held);
        }
    }

    fn remove(&self, key: &Key, claim: &Claim) {
        self.lock().remove(&(key.clone(), claim.clone()));
    }
}

impl Redlock {
    fn votes(&self) -> Votes {
        Votes::new(self.nodes.iter().map(|node| node.redis.place()), self.quorum())
    }

    /// Makes holds last, where a majority still has them.
    pub(super) async fn renew_all(&self, renewals: &[Renewal], within: Duration) -> Result<Vec<bool>, StoreError> {
        let (began, quorum) = (Instant::now(), self.quorum());
        let mut votes = self.votes();
        let mut answers = self.ask(|node| {
            let renewals = renewals.to_vec();
            async move { node.redis.renew(&renewals, within).await }
        });
        let (mut yes, mut no) = (vec![0; renewals.len()], vec![0; renewals.len()]);
        let mut gone: Vec<(usize, usize)> = Vec::new();
        while let Some((at, answer)) = answers.next().await {
            match answer {
                Ok(held) => {
                    votes.put(at, Ok(Outcome::Renewed), None);
                    for (place, held) in held.into_iter().enumerate() {
                        if held {
                            yes[place] += 1;
                        } else {
                            no[place] += 1;
                            gone.push((at, place));
                        }
                    }
                }
                Err(error) => votes.put(at, Err(error), None),
            }
            // The slowest are not waited for once all is clear.
            if (0..renewals.len()).all(|place| yes[place] >= quorum || no[place] >= quorum) {
                break;
            }
        }
        let nodes = self.nodes.len();
        let mut held = Vec::with_capacity(renewals.len());
        for (place, renewal) in renewals.iter().enumerate() {
            let lasts = yes[place] >= quorum;
            if !lasts && nodes - no[place] >= quorum {
                // It may be held yet. What is left of it is left alone.
                return Err(votes.silence());
            }
            // One that was over before it was renewed stays so: somebody else may have had it since.
            let known = self.holds.get(&renewal.key, &renewal.claim);
            let in_time = known.is_none_or(|known| Instant::now() < known.ends);
            held.push(lasts && in_time);
        }
        for (renewal, held) in renewals.iter().zip(&held) {
            if *held {
                let ends = began + validity(renewal.lease);
                self.holds.change(&renewal.key, &renewal.claim, |held| held.ends = held.ends.max(ends));
            } else {
                self.holds.remove(&renewal.key, &renewal.claim);
            }
        }
        for (at, place) in gone {
            if held[place] {
                self.join(&self.nodes[at], &renewals[place], within);
            }
        }
        Ok(held)
    }

    /// Puts a hold into a server that has lost it. It does not count before it is renewed there.
    fn join(&self, node: &Arc<Node>, renewal: &Renewal, within: Duration) {
        let Renewal { kind, key, claim, lease } = renewal.clone();
        let Some(Held { token, count, change, .. }) = self.holds.get(&key, &claim).filter(|_| !claim.is_nested())
        else {
            return;
        };
        let node = Arc::clone(node);
        tokio::spawn(async move {
            let join = Join { kind, key: &key, claim: &claim, token, lease, count, change };
            if let Err(error) = node.redis.run(&join, within).await {
                tracing::debug!(%error, "a server that came back could not be given the lock");
            }
        });
    }

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
        let said = self.majority(kind, key, operation, within).await?;
        let Some(held) = self.holds.get(key, claim) else { return Ok(said) };
        if let Outcome::Granted(grant) = &said {
            self.holds.change(key, claim, |held| {
                (held.count, held.change) = (*count, *change);
                held.ends = held.ends.max(began + validity(*lease));
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
        let Operation::Release { claim, left, change, .. } = operation else { return Ok(Outcome::NotHeld) };
        let mut operation = operation.clone();
        if self.holds.get(key, claim).is_some_and(|held| held.on_its_way)
            && let Operation::Release { left: 0, lease, cancel: cancel @ None, .. } = &mut operation
        {
            *cancel = Some(Cancelled { entry: FIRST_ENTRY, remember: *lease });
        }
        let said = self.majority(kind, key, &operation, within).await;
        match &said {
            Ok(Outcome::StillHeld(_)) => {
                self.holds.change(key, claim, |held| (held.count, held.change) = (*left, *change));
            }
            Ok(_) => self.holds.remove(key, claim),
            Err(_) => {}
        }
        said
    }

    /// What a majority of the servers say, of the same to all of them.
    async fn majority(
        &self,
        kind: Kind,
        key: &Key,
        operation: &Operation,
        within: Duration,
    ) -> Result<Outcome, StoreError> {
        let mut votes = self.votes();
        let mut said: Vec<Outcome> = Vec::new();
        let mut patience = Patience::new(self.quorum());
        let mut answers = self.apply_all(kind, key, operation, within);
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
