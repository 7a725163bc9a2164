//! Taking a lock on a majority: collect the votes, then stamp the token.

use super::calls::Stamp;
use super::holds::Held;
use super::votes::{Answer, SPLIT, Votes};
use super::{Answers, Node, Redlock, go_on};
use futures_util::stream::{FuturesUnordered, StreamExt};
use redis::Value;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tenure_core::kernel::{Grant, Stay};
use tenure_core::{Claim, Key, Kind, Operation, Outcome, StoreError, StoreErrorKind, Token};

/// A server is waited for no longer than a tenth of a lease, and that long at least.
const LEAST_WAIT: Duration = Duration::from_millis(50);

/// How long those are waited for whose answers change nothing any more, but say more to whoever is told no.
const JUST_BEHIND: Duration = Duration::from_millis(10);

/// How long the first server may take to say whether the others need be asked.
const HEAD_START: Duration = Duration::from_millis(10);

/// By when a hold may be over: clocks run up to 1 % apart, and reading one costs up to 2 ms.
pub(super) fn validity(lease: Duration) -> Duration {
    lease.saturating_sub(lease / 100 + Duration::from_millis(2))
}

/// How long a single server is waited for.
fn patience(within: Duration, lease: Duration) -> Duration {
    within.min((lease / 10).max(LEAST_WAIT))
}

/// What became of a token.
#[derive(PartialEq, Eq)]
enum Stamped {
    /// A majority has it.
    ByMajority,
    /// Too many servers have let somebody else in meanwhile, or have forgotten the claim.
    TooLate,
    Unanswered,
}

impl Redlock {
    pub(super) async fn acquire(
        &self,
        (kind, key): (Kind, &Key),
        (claim, under): (&Claim, &[Claim]),
        (lease, stay): (Duration, Stay),
        within: Duration,
    ) -> Result<Outcome, StoreError> {
        // Before the first request: it is the client's clock that says how long the hold is good for.
        let began = Instant::now();
        let within = patience(within, lease);
        // No server keeps a line: one that calls whoever has waited longest would call another one than its neighbour.
        let alone = Operation::Acquire { claim: claim.clone(), under: under.to_vec(), lease, stay: Stay::No };
        let mut votes = self.no_votes();
        let mut answers = Answers::new();
        let first = self.first_to_ask(key, claim, stay);
        if let Some(first) = first {
            answers.push(self.apply_at(first, kind, key, &alone, within));
            if let Ok(Some((at, answer))) = tokio::time::timeout(HEAD_START, answers.next()).await {
                if let Ok(Outcome::Busy(busy)) = &answer
                    && self.contended.saw(key, busy.holder.iter().map(|holder| &holder.claim)) < SPLIT
                {
                    return Ok(Outcome::Busy(Votes::rival(busy.clone())));
                }
                votes.put(at, answer, self.nodes[at].abstains());
            }
        }
        let others = (0..self.nodes.len()).filter(|at| Some(*at) != first);
        answers.extend(others.map(|at| self.apply_at(at, kind, key, &alone, within)));
        while let Some((at, answer)) = answers.next().await {
            votes.put(at, answer, self.nodes[at].abstains());
            // One that goes in beside others has their token, which a server that granted it late may not have been told yet.
            let won = votes.is_won() && (!claim.is_nested() || votes.agreed().is_some());
            if won || votes.is_lost(|at| self.nodes[at].is_behind()) {
                break;
            }
        }
        if !votes.is_won() {
            self.hear_the_rest(&mut votes, &mut answers).await;
        }
        if !votes.is_won() {
            let age = self.contended.saw(key, votes.holders().map(|holder| &holder.claim));
            self.undo((kind, key, claim), lease, &votes).await;
            return votes.lost(age);
        }
        let token = votes.token();
        let stamped = self.stamp((kind, key, claim), token, &votes, within).await;
        // Less than half of a lease is of little use: it would have to be renewed already.
        if stamped == Stamped::ByMajority && began.elapsed() < validity(lease) / 2 {
            let on = votes.all.iter().map(|(_, answer)| may_have(answer)).collect();
            self.holds.put(key, claim, Held::new(token, under, (lease, began + validity(lease)), on));
            self.hear_late_grants((kind, key, claim), token, within, answers);
            return Ok(Outcome::Granted(Grant { token, count: 1 }));
        }
        self.undo((kind, key, claim), lease, &votes).await;
        if stamped == Stamped::TooLate {
            return Ok(Outcome::Busy(votes.split(None, Duration::ZERO)));
        }
        let message = "the servers took too long to be of use for this lease, make it longer or check them";
        Err(StoreError::new(StoreErrorKind::Unreachable, message).with_votes(votes.told()))
    }

    /// Whom to ask before all others, if several want the lock: those who are called by a release at one moment would share
    /// the votes, and none would have a majority. The one whom the first server lets in has no rivals at the others.
    fn first_to_ask(&self, key: &Key, claim: &Claim, stay: Stay) -> Option<usize> {
        let waits = match stay {
            Stay::Waited { .. } => true,
            Stay::Waits => self.contended.is(key),
            // One attempt is to have the lock if it is to be had.
            _ => false,
        };
        let votes = |node: &Arc<Node>| !node.is_silent() && node.abstains().is_none();
        self.nodes.iter().position(votes).filter(|_| waits && !claim.is_nested())
    }

    /// Whoever is told no is told by whom, as far as they are just behind.
    async fn hear_the_rest(&self, votes: &mut Votes, answers: &mut Answers<Outcome>) {
        let until = tokio::time::Instant::now() + JUST_BEHIND;
        let missing = |votes: &Votes| {
            let mut all = self.nodes.iter().zip(&votes.all);
            all.any(|(node, (_, answer))| matches!(answer, Answer::None) && !node.is_silent())
        };
        while missing(votes)
            && let Ok(Some((at, answer))) = tokio::time::timeout_at(until, answers.next()).await
        {
            votes.put(at, answer, self.nodes[at].abstains());
        }
    }

    /// Those who have not answered yet may grant it still, and then have the token like the others.
    fn hear_late_grants(
        &self,
        (kind, key, claim): (Kind, &Key, &Claim),
        token: Token,
        within: Duration,
        mut answers: Answers<Outcome>,
    ) {
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
                    Ok(_) => holds.is_not_on(&key, &claim, at),
                    Err(error) => unanswered |= error.kind == StoreErrorKind::Unanswered,
                }
            }
            if !unanswered {
                holds.arrived(&key, &claim);
            }
        });
    }

    /// Writes the token down wherever the claim holds, until a majority has it.
    async fn stamp(
        &self,
        (kind, key, claim): (Kind, &Key, &Claim),
        token: Token,
        votes: &Votes,
        within: Duration,
    ) -> Stamped {
        let granted = |at: usize| match votes.all[at].1 {
            Answer::Granted(own) => Some((true, own)),
            Answer::Abstains(_, Some(own)) => Some((false, own)),
            _ => None,
        };
        // Whoever handed it out has it.
        let mut stamped = (0..self.nodes.len()).filter(|at| granted(*at) == Some((true, token))).count();
        let mut answers: FuturesUnordered<_> = (0..self.nodes.len())
            .filter_map(|at| granted(at).filter(|(_, own)| *own != token).map(|(counts, _)| (at, counts)))
            .map(|(at, counts)| async move {
                let node = &self.nodes[at];
                let answer = node.redis.run(&Stamp { kind, key, claim, token, late: false }, within).await;
                (counts && node.abstains().is_none(), answer)
            })
            .collect();
        let mut unanswered = false;
        while stamped < self.quorum() {
            match answers.next().await {
                Some((counts, Ok(Value::Int(1)))) => stamped += usize::from(counts),
                Some((_, answer)) => unanswered |= answer.is_err(),
                None if unanswered => return Stamped::Unanswered,
                None => return Stamped::TooLate,
            }
        }
        Stamped::ByMajority
    }

    /// Gives back what was granted, everywhere: also where nothing was heard of it, for it may arrive yet, and where it is not
    /// believed to be. Those just behind are waited for, so that nothing is left if the caller's runtime ends.
    ///
    /// Unless a majority had granted it, nobody is told: who waits for it was told to ask again, and to be woken by votes of
    /// one's own would be to ask without end.
    async fn undo(&self, lock: (Kind, &Key, &Claim), lease: Duration, votes: &Votes) {
        let (within, quiet) = (patience(Duration::MAX, lease), !votes.is_won());
        let mut granted: Answers<Outcome> = Answers::new();
        for (at, (_, answer)) in votes.all.iter().enumerate() {
            // Only where no answer came may the request still arrive.
            let ghost = match answer {
                Answer::None => true,
                Answer::Failed(error) => error.kind == StoreErrorKind::Unanswered,
                _ => false,
            };
            let mut operation = self.given_up.leave(lock.1, lock.2, lease);
            if let Operation::Release { cancel, .. } = &mut operation
                && !ghost
            {
                *cancel = None;
            }
            let telling = go_on(at, self.tell(at, lock, operation, lease, (may_have(answer), within, quiet)));
            if matches!(answer, Answer::Granted(_) | Answer::Abstains(_, Some(_))) {
                granted.push(telling);
            }
        }
        let _ = tokio::time::timeout(JUST_BEHIND, async { while granted.next().await.is_some() {} }).await;
    }
}

/// Whether a server may have let the claim in.
pub(super) fn may_have(answer: &Answer) -> bool {
    match answer {
        Answer::None | Answer::Granted(_) | Answer::Abstains(_, Some(_)) => true,
        Answer::Failed(error) => error.kind == StoreErrorKind::Unanswered,
        Answer::Abstains(_, None) | Answer::Said(_) | Answer::Other => false,
    }
}
