//! Redlock: a lock on a majority of independent servers, which survives the loss of the others.

mod acquire;
mod calls;
mod config;
mod hold;
mod look;
mod node;
mod patience;
mod votes;

pub use config::Redlock as Config;

use self::hold::Holds;
use self::node::Node;
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::{
    Backend, Card, Guarantee, Joint, Key, Kind, Label, Operation, Outcome, Pattern, Port, Renewal, Sight, StoreError,
    StoreErrorKind, Wanted,
};

/// Several independent Redis servers, of which a majority keeps each lock. Made by
/// [`RedlockConfig`](crate::RedlockConfig).
pub struct Redlock {
    nodes: Vec<Arc<Node>>,
    max_lease: Duration,
    holds: Arc<Holds>,
}

/// An answer of each server, with its place, in the order in which they come.
type Answers<T> = FuturesUnordered<futures_util::future::BoxFuture<'static, (usize, Result<T, StoreError>)>>;

impl Redlock {
    /// What this backend promises.
    pub const LABEL: Label = Label {
        name: "redlock",
        guarantees: &[
            Guarantee::Fencing,
            Guarantee::BetweenProcesses,
            Guarantee::BetweenMachines,
            Guarantee::PushedWakeups,
            Guarantee::SurvivesFailover,
        ],
        caveat: "re-entrant and simple locks only; exclusion stands on clocks that run alike, on servers that answer in much less \
                 than a lease, and on a majority of them that is neither lost nor restarted within a lease: guard writes with the \
                 token; tokens rise unless one server's clock is stepped and another one restarts",
    };

    fn new(nodes: Vec<Node>, max_lease: Duration) -> Self {
        Self { nodes: nodes.into_iter().map(Arc::new).collect(), max_lease, holds: Arc::default() }
    }

    /// How many make a majority.
    fn quorum(&self) -> usize {
        self.nodes.len() / 2 + 1
    }

    /// Asks every server, and goes on asking also if nobody waits for the answers any more.
    fn ask<T, F>(&self, ask: impl Fn(Arc<Node>) -> F) -> Answers<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        let asked = self.nodes.iter().enumerate().map(|(at, node)| {
            let asking = tokio::spawn(ask(Arc::clone(node)));
            let answer = async move {
                let answer = asking.await.unwrap_or_else(|error| {
                    Err(StoreError::new(StoreErrorKind::Unanswered, format!("asking a server has failed: {error}")))
                });
                (at, answer)
            };
            Box::pin(answer) as futures_util::future::BoxFuture<'static, _>
        });
        asked.collect()
    }

    /// Applies the same to every server.
    fn apply_all(&self, kind: Kind, key: &Key, operation: &Operation, within: Duration) -> Answers<Outcome> {
        self.ask(|node| {
            let (key, operation) = (key.clone(), operation.clone());
            async move { node.redis.apply(kind, &key, &operation, within).await }
        })
    }
}

impl Backend for Redlock {
    fn label(&self) -> Label {
        Self::LABEL
    }

    fn address(&self) -> String {
        let mut nodes: Vec<String> = self.nodes.iter().map(|node| node.redis.place()).collect();
        nodes.sort();
        format!("redlock:{}", nodes.join(","))
    }

    async fn reach(&self, within: Duration) -> Result<(), StoreError> {
        let mut answers = self.ask(|node| async move { node.redis.reach(within).await });
        let (mut reached, mut failed) = (0, None);
        while let Some((_, answer)) = answers.next().await {
            match answer {
                Ok(()) => reached += 1,
                Err(error) => failed = failed.or(Some(error)),
            }
            if reached >= self.quorum() {
                return Ok(());
            }
        }
        Err(failed.unwrap_or_else(|| StoreError::new(StoreErrorKind::Unreachable, "no server was named")))
    }

    async fn apply(
        &self,
        kind: Kind,
        key: &Key,
        operation: &Operation,
        within: Duration,
    ) -> Result<Outcome, StoreError> {
        if let Some(why) = self.refuses(kind) {
            return Err(StoreError::new(StoreErrorKind::Unsupported, why));
        }
        match operation {
            Operation::Acquire { claim, lease, .. } => {
                self.acquire((kind, key), operation, (claim, *lease), within).await
            }
            Operation::Reenter { .. } => self.reenter(kind, key, operation, within).await,
            Operation::Renew { claim, lease } => {
                let renewal = Renewal { kind, key: key.clone(), claim: claim.clone(), lease: *lease };
                let held = self.renew(std::slice::from_ref(&renewal), within).await?;
                Ok(if held == [true] { Outcome::Renewed } else { Outcome::NotHeld })
            }
            Operation::Release { .. } => self.release(kind, key, operation, within).await,
            Operation::ForceRelease => self.force(kind, key, within).await,
            Operation::Inspect => self.inspect(kind, key, within).await,
            _ => Ok(Outcome::NotHeld),
        }
    }

    async fn acquire_all(&self, _: &[Wanted], _: Duration) -> Result<Joint, StoreError> {
        // There is no one moment of several servers.
        Ok(Joint::OneByOne)
    }

    async fn renew(&self, renewals: &[Renewal], within: Duration) -> Result<Vec<bool>, StoreError> {
        self.renew_all(renewals, within).await
    }

    async fn list(&self, pattern: &Pattern, within: Duration) -> Result<Vec<(Key, Sight)>, StoreError> {
        self.list_all(pattern, within).await
    }

    async fn announce(&self, client: &str, card: &Card, keep: Duration, within: Duration) -> Result<(), StoreError> {
        let answers = self.ask(|node| {
            let (client, card) = (client.to_owned(), card.clone());
            async move { node.redis.announce(&client, &card, keep, within).await }
        });
        self.any(answers).await
    }

    async fn look_up(&self, client: &str, within: Duration) -> Result<Option<Card>, StoreError> {
        let mut answers = self.ask(|node| {
            let client = client.to_owned();
            async move { node.redis.look_up(&client, within).await }
        });
        let mut last = Ok(None);
        while let Some((_, answer)) = answers.next().await {
            match answer {
                Ok(Some(card)) => return Ok(Some(card)),
                answer => last = answer.or(last),
            }
        }
        last
    }

    fn calls_apart(&self, _: Kind) -> bool {
        false
    }

    fn refuses(&self, kind: Kind) -> Option<&'static str> {
        match kind {
            Kind::Reentrant | Kind::Simple => None,
            _ => Some(
                "a majority of servers can keep a re-entrant or a simple lock and nothing else, for no line, count or share adds \
                 up over them: use one of these, or a single store",
            ),
        }
    }

    fn asks_anew(&self) -> bool {
        true
    }

    async fn listen(&self, port: Port) {
        let parts = u32::try_from(self.nodes.len()).unwrap_or(1);
        let (ports, telling) = port.split(parts);
        let listening = self.nodes.iter().zip(ports).map(|(node, port)| node.redis.listen(port));
        tokio::join!(telling, futures_util::future::join_all(listening));
    }
}

impl Redlock {
    /// Done, if any of them has done it.
    async fn any(&self, mut answers: Answers<()>) -> Result<(), StoreError> {
        let mut failed = None;
        while let Some((_, answer)) = answers.next().await {
            match answer {
                Ok(()) => return Ok(()),
                Err(error) => failed = Some(error),
            }
        }
        failed.map_or(Ok(()), Err)
    }
}

impl fmt::Debug for Redlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redlock({})", self.address())
    }
}
