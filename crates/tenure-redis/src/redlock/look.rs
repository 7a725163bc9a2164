//! Looking at locks, and freeing them by force.

use super::Redlock;
use super::patience::Patience;
use super::votes::Votes;
use std::collections::BTreeMap;
use std::time::Duration;
use tenure_core::{Backend, Key, Kind, Operation, Outcome, Pattern, Sight, StoreError, Token};

impl Redlock {
    /// Who holds on a majority.
    pub(super) async fn inspect(&self, kind: Kind, key: &Key, within: Duration) -> Result<Outcome, StoreError> {
        let seen = self.seen(kind, key, &Operation::Inspect, within).await?;
        Ok(Outcome::Seen(self.of_majority(&seen)))
    }

    /// Frees a lock on every server; who held it on a majority.
    pub(super) async fn force(&self, kind: Kind, key: &Key, within: Duration) -> Result<Outcome, StoreError> {
        let seen = self.seen(kind, key, &Operation::ForceRelease, within).await?;
        Ok(Outcome::Forced(self.of_majority(&seen)))
    }

    /// What each server that answers shows, if a majority does.
    async fn seen(
        &self,
        kind: Kind,
        key: &Key,
        operation: &Operation,
        within: Duration,
    ) -> Result<Vec<Sight>, StoreError> {
        let mut votes = Votes::new(self.nodes.iter().map(|node| node.redis.place()), self.quorum());
        let (mut seen, mut answered) = (Vec::new(), 0);
        let mut patience = Patience::new(self.quorum());
        let mut answers = self.apply_all(kind, key, operation, within);
        while let Some((at, answer)) = patience.next(&mut answers).await {
            if let Ok(outcome) = &answer {
                answered += 1;
                if let Outcome::Seen(Some(sight)) | Outcome::Forced(Some(sight)) = outcome {
                    seen.push(sight.clone());
                }
            }
            votes.put(at, answer, None);
        }
        if answered < self.quorum() { Err(votes.silence()) } else { Ok(seen) }
    }

    /// The sight that a majority shares.
    fn of_majority(&self, seen: &[Sight]) -> Option<Sight> {
        let alike = |one: &Sight| seen.iter().filter(|other| claims(one) == claims(other)).count();
        let shared = seen.iter().find(|sight| alike(sight) >= self.quorum())?;
        // One that granted it late has a token of its own, and one that is slow has the count of before.
        let alike: Vec<&Sight> = seen.iter().filter(|other| claims(shared) == claims(other)).collect();
        let agree = |one: &Sight| alike.iter().filter(|other| entries(one) == entries(other)).count();
        alike.iter().max_by_key(|sight| agree(sight)).map(|sight| (*sight).clone())
    }

    pub(super) async fn list_all(&self, pattern: &Pattern, within: Duration) -> Result<Vec<(Key, Sight)>, StoreError> {
        let mut votes = Votes::new(self.nodes.iter().map(|node| node.redis.place()), self.quorum());
        let mut answers = self.ask(|node| {
            let pattern = pattern.clone();
            async move { node.redis.list(&pattern, within).await }
        });
        let (mut seen, mut answered) = (BTreeMap::<Key, Vec<Sight>>::new(), 0);
        let mut patience = Patience::new(self.quorum());
        while let Some((at, answer)) = patience.next(&mut answers).await {
            match answer {
                Ok(held) => {
                    answered += 1;
                    for (key, sight) in held {
                        seen.entry(key).or_default().push(sight);
                    }
                }
                Err(error) => votes.put(at, Err(error), None),
            }
        }
        if answered < self.quorum() {
            return Err(votes.silence());
        }
        let of_majority = |(key, seen): (Key, Vec<Sight>)| self.of_majority(&seen).map(|sight| (key, sight));
        Ok(seen.into_iter().filter_map(of_majority).collect())
    }
}

fn entries(sight: &Sight) -> Vec<(u32, Option<Token>)> {
    sight.holders.iter().map(|holder| (holder.count, holder.token)).collect()
}

fn claims(sight: &Sight) -> Vec<&str> {
    sight.holders.iter().map(|holder| holder.claim.as_str()).collect()
}
