//! Keeping holds on a majority, and putting them back where they were forgotten.

use super::acquire::validity;
use super::calls::{Join, Stamp};
use super::given_up::GivenUp;
use super::holds::Holds;
use super::votes::failed;
use super::{Node, Redlock};
use crate::call::Renewal;
use futures_util::stream::StreamExt;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tenure_core::{Backend, Claim, Outcome, Said, Step, StoreError, StoreErrorKind, Vote, report};

/// So long at least a server that is silent is told of a hold that was lost, if it answers again.
const LEFT: Duration = Duration::from_secs(1);

/// How many servers have a hold, and how many have not.
#[derive(Clone, Default)]
struct Tally {
    yes: usize,
    no: usize,
}

impl Redlock {
    /// Makes holds last, where a majority still has them.
    pub(super) async fn renew_all(&self, steps: &[Step], within: Duration) -> Vec<Result<Outcome, StoreError>> {
        let (began, quorum, servers) = (Instant::now(), self.quorum(), self.nodes.len());
        let steps: Arc<[Step]> = steps.into();
        let mut answers = self.ask(|node| {
            let steps = Arc::clone(&steps);
            async move { node.redis.renew(&steps, within).await }
        });
        let mut heard: Vec<Option<Result<Vec<Outcome>, StoreError>>> = vec![None; servers];
        let mut tallies = vec![Tally::default(); steps.len()];
        while let Some((at, answer)) = answers.next().await {
            for (tally, outcome) in tallies.iter_mut().zip(answer.iter().flatten()) {
                *(if *outcome == Outcome::Renewed { &mut tally.yes } else { &mut tally.no }) += 1;
            }
            heard[at] = Some(answer);
            // The slowest are not waited for once all is clear.
            if tallies.iter().all(|tally| tally.yes >= quorum || servers - tally.no < quorum) {
                break;
            }
        }
        let mut all = Vec::with_capacity(steps.len());
        for (place, (renewal, tally)) in steps.iter().filter_map(Renewal::of).zip(&tallies).enumerate() {
            let Renewal { kind, key, claim, lease } = renewal;
            let left = self.holds.get(key, claim).map(|held| held.ends.saturating_duration_since(Instant::now()));
            // One that was over before it was renewed stays so: somebody else may have had it since.
            let in_time = left.is_none_or(|left| !left.is_zero());
            all.push(if tally.yes >= quorum && in_time {
                self.holds.change(key, claim, |held| held.last(lease, began + validity(lease)));
                Ok(Outcome::Renewed)
            } else if servers - tally.no < quorum || !in_time {
                self.holds.remove(key, claim);
                self.give_back(kind, key, claim, lease.max(left.unwrap_or_default()).max(LEFT));
                Ok(Outcome::NotHeld)
            } else {
                // It may be held yet. What is left of it is left alone.
                Err(self.unsure(claim, place, &heard))
            });
        }
        let lasting: Vec<bool> = all.iter().map(|answer| *answer == Ok(Outcome::Renewed)).collect();
        // Also those that answer later are given back what they have forgotten.
        let (nodes, holds, given_up) = (self.nodes.clone(), Arc::clone(&self.holds), Arc::clone(&self.given_up));
        tokio::spawn(async move {
            let heard = heard.into_iter().enumerate().filter_map(|(at, answer)| Some((at, answer?)));
            let mut heard = futures_util::stream::iter(heard).chain(answers);
            while let Some((at, answer)) = heard.next().await {
                let lasting = answer.into_iter().flatten().enumerate().filter(|(place, _)| lasting[*place]);
                for (place, outcome) in lasting {
                    let Some(renewal) = Renewal::of(&steps[place]) else { continue };
                    match outcome {
                        Outcome::Renewed => stamp_late(&nodes[at], &holds, renewal, within).await,
                        _ => put_back((at, &nodes[at]), (&holds, &given_up), renewal, within).await,
                    }
                }
            }
        });
        all
    }

    /// Too few servers have said anything of a hold.
    fn unsure(&self, claim: &Claim, place: usize, heard: &[Option<Result<Vec<Outcome>, StoreError>>]) -> StoreError {
        let said = |server: &str, answer: &Option<Result<Vec<Outcome>, StoreError>>| match answer {
            None => Said::Silent("no answer yet".to_owned()),
            Some(Ok(outcomes)) if outcomes[place] == Outcome::Renewed => Said::Held(claim.clone()),
            Some(Ok(_)) => Said::Free,
            Some(Err(error)) => failed(server, error),
        };
        let votes = self.nodes.iter().zip(heard);
        let votes = votes.map(|(node, answer)| {
            let server = node.redis.place();
            Vote { said: said(&server, answer), server }
        });
        let message =
            format!("too few servers answered that have the lock: needed={} of={}", self.quorum(), self.nodes.len());
        StoreError::new(StoreErrorKind::Unanswered, message).with_votes(votes.collect())
    }
}

/// Gives the token to a server that may have granted the lock so late that nobody heard of it: one who goes in beside the
/// holder is to find the same one everywhere.
async fn stamp_late(node: &Node, holds: &Holds, Renewal { kind, key, claim, .. }: Renewal<'_>, within: Duration) {
    if let Some(held) = holds.lasting(key, claim).filter(|held| held.on_its_way && !claim.is_nested()) {
        let _ = node.redis.run(&Stamp { kind, key, claim, token: held.token, late: true }, within).await;
    }
}

/// Puts a hold into a server that has lost it. It does not count before it is renewed there.
async fn put_back(
    (at, node): (usize, &Node),
    (holds, given_up): (&Holds, &GivenUp),
    renewal: Renewal<'_>,
    within: Duration,
) {
    let Renewal { kind, key, claim, lease } = renewal;
    let Some(held) = holds.lasting(key, claim) else { return };
    // One that is only asked about asks for no lease of its own.
    let lease = lease.max(held.ends.saturating_duration_since(Instant::now()));
    let join = Join { kind, key, claim, held: &held, lease };
    holds.change(key, claim, |held| held.on[at] = true);
    if let Err(error) = node.redis.run(&join, within).await {
        report(move || tracing::debug!(%error, "a server that came back could not be given the lock"));
    }
    // The claim may be leaving since, and the server may have been told so before it came.
    if holds.lasting(key, claim).is_none() {
        node.stragglers.expect((kind, key, claim), lease, within);
        let leave = given_up.leave(key, claim, lease);
        let answer: Result<Outcome, StoreError> = node.redis.apply_one(kind, key, &leave, within).await;
        node.stragglers.heard(key, claim, &answer);
    }
}
