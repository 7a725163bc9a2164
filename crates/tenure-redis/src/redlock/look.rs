//! Looking at locks, and freeing them by force.

use super::Redlock;
use super::acquire::may_have;
use super::node::even_if_dead;
use super::patience::Patience;
use super::votes::Votes;
use std::collections::BTreeMap;
use std::time::Duration;
use tenure_core::{Backend, Key, Kind, Operation, Outcome, Pattern, Sight, StoreError, StoreErrorKind, Token};

/// How long a server is waited for by one who only looks: it is to see also if some are down.
pub(super) const LOOK: Duration = Duration::from_secs(1);

impl Redlock {
    /// Who holds it.
    pub(super) async fn inspect(&self, kind: Kind, key: &Key, within: Duration) -> Result<Outcome, StoreError> {
        let (votes, seen, answered) = self.poll(kind, key, &Operation::Inspect, within.min(LOOK)).await;
        self.agreed(&votes, &seen, answered).map(Outcome::Seen)
    }

    /// Frees a lock on every server; who held it.
    pub(super) async fn force(&self, kind: Kind, key: &Key, within: Duration) -> Result<Outcome, StoreError> {
        let (votes, seen, answered) = self.poll(kind, key, &Operation::ForceRelease, within).await;
        // Those that are silent are told of whom the others have put out.
        for (node, (_, answer)) in self.nodes.iter().zip(&votes.all) {
            for holder in seen.iter().flat_map(|sight| &sight.holders).filter(|_| may_have(answer)) {
                let lease = holder.remaining.unwrap_or_default();
                node.stragglers.expect((kind, key, &holder.claim), lease, Duration::ZERO);
            }
        }
        self.agreed(&votes, &seen, answered).map(Outcome::Forced)
    }

    /// What a majority makes of it.
    fn agreed(&self, votes: &Votes, seen: &[Sight], answered: usize) -> Result<Option<Sight>, StoreError> {
        if answered < self.quorum() {
            return Err(votes.silence());
        }
        Ok(self.of_majority(seen, self.nodes.len() - answered).map(|sight| Sight { votes: votes.told(), ..sight }))
    }

    /// What each server says, what those see that somebody holds it at, and how many answered.
    pub(super) async fn poll(
        &self,
        kind: Kind,
        key: &Key,
        operation: &Operation,
        within: Duration,
    ) -> (Votes, Vec<Sight>, usize) {
        let (mut votes, mut seen, mut answered) = (self.no_votes(), Vec::new(), 0);
        let mut patience = Patience::of_looker(self.quorum(), &self.nodes);
        let mut answers = self.ask(|node| {
            let (key, operation) = (key.clone(), operation.clone());
            async move {
                // To free it by force a second time would show that nobody had it.
                let harmless =
                    |error: &StoreError| operation == Operation::Inspect || error.kind == StoreErrorKind::Unreachable;
                even_if_dead(within, harmless, |within| node.redis.apply_one(kind, &key, &operation, within)).await
            }
        });
        while let Some((at, answer)) = patience.next(&mut answers).await {
            answered += usize::from(answer.is_ok());
            let answer = answer.map(|outcome| match outcome {
                // What was freed is shown as it was.
                Outcome::Forced(sight) => Outcome::Seen(sight),
                outcome => outcome,
            });
            if let Ok(Outcome::Seen(Some(sight))) = &answer {
                seen.push(sight.clone());
            }
            let abstains = self.nodes[at].abstains();
            votes.put(at, answer, abstains);
        }
        (votes, seen, answered)
    }

    /// The sight that a majority shares, or would with those that are silent: nobody else can have the lock then.
    fn of_majority(&self, seen: &[Sight], silent: usize) -> Option<Sight> {
        let alike = |one: &Sight| seen.iter().filter(|other| claims(one) == claims(other)).count();
        let shared =
            seen.iter().max_by_key(|sight| alike(sight)).filter(|sight| alike(sight) + silent >= self.quorum())?;
        // One that granted it late has a token of its own, and one that is slow has the count of before.
        let alike: Vec<&Sight> = seen.iter().filter(|other| claims(shared) == claims(other)).collect();
        let agree = |one: &Sight| alike.iter().filter(|other| entries(one) == entries(other)).count();
        // No server knows who waits.
        alike.iter().max_by_key(|sight| agree(sight)).map(|sight| Sight { waiters: None, ..(*sight).clone() })
    }

    pub(super) async fn list_all(&self, pattern: &Pattern, within: Duration) -> Result<Vec<(Key, Sight)>, StoreError> {
        let mut votes = self.no_votes();
        let mut answers = self.ask(|node| {
            let pattern = pattern.clone();
            async move { node.redis.list(&pattern, within).await }
        });
        let (mut seen, mut answered) = (BTreeMap::<Key, Vec<Sight>>::new(), 0);
        let mut patience = Patience::new(self.quorum(), &self.nodes);
        while let Some((at, answer)) = patience.next(&mut answers).await {
            answered += usize::from(answer.is_ok());
            for (key, sight) in answer.iter().flatten() {
                seen.entry(key.clone()).or_default().push(sight.clone());
            }
            votes.heard(at, answer);
        }
        if answered < self.quorum() {
            return Err(votes.silence());
        }
        let silent = self.nodes.len() - answered;
        let held = seen.into_iter().filter_map(|(key, seen)| self.of_majority(&seen, silent).map(|sight| (key, sight)));
        Ok(held.collect())
    }
}

fn entries(sight: &Sight) -> Vec<(u32, Option<Token>)> {
    sight.holders.iter().map(|holder| (holder.count, holder.token)).collect()
}

fn claims(sight: &Sight) -> Vec<&str> {
    sight.holders.iter().map(|holder| holder.claim.as_str()).collect()
}
