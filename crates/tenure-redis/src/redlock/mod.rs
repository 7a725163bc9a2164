//! Redlock: a lock on a majority of independent servers, which survives the loss of the others.

mod acquire;
mod calls;
mod config;
mod contended;
mod given_up;
mod hold;
mod holds;
mod look;
mod node;
mod patience;
mod renew;
mod stragglers;
mod votes;

pub use config::Redlock as Config;

use self::contended::Contended;
use self::given_up::GivenUp;
use self::holds::Holds;
use self::look::LOOK;
use self::node::Node;
use self::patience::Patience;
use self::votes::Votes;
use futures_util::future::{BoxFuture, join_all};
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::{
    Applied, Backend, Batch, Card, Guarantee, Key, Kind, Label, Operation, Outcome, Over, Pattern, Port, Sight, Step,
    StoreError, StoreErrorKind, Vote,
};

/// Several independent Redis servers, of which a majority keeps each lock. Made by
/// [`RedlockConfig`](crate::RedlockConfig).
pub struct Redlock {
    nodes: Vec<Arc<Node>>,
    max_lease: Duration,
    holds: Arc<Holds>,
    given_up: Arc<GivenUp>,
    contended: Contended,
}

/// What a server answered, with its place.
type Answered<T> = (usize, Result<T, StoreError>);

/// The answers of all servers, in the order in which they come.
type Answers<T> = FuturesUnordered<BoxFuture<'static, Answered<T>>>;

impl Redlock {
    const GUARANTEES: &[Guarantee] = &[
        Guarantee::Fencing,
        Guarantee::BetweenProcesses,
        Guarantee::BetweenMachines,
        Guarantee::SurvivesFailover,
        Guarantee::PushedWakeups,
    ];

    /// What this backend promises.
    pub const LABEL: Label = Label {
        name: "redlock",
        guarantees: Self::GUARANTEES,
        caveat: "re-entrant and simple locks only; exclusion stands on clocks that run alike, on servers that answer in much less \
                 than a lease, and on a majority of them that is neither lost nor restarted within a lease: guard writes with the \
                 token; tokens rise unless servers' clocks differ, by a step or for lack of synchronisation, and one of them restarts",
    };

    fn new(nodes: Vec<Node>, max_lease: Duration) -> Self {
        Self {
            nodes: nodes.into_iter().map(Arc::new).collect(),
            max_lease,
            holds: Arc::default(),
            given_up: Arc::default(),
            contended: Contended::default(),
        }
    }

    /// How many make a majority.
    fn quorum(&self) -> usize {
        self.nodes.len() / 2 + 1
    }

    /// Nobody has answered yet.
    fn no_votes(&self) -> Votes {
        Votes::new(self.nodes.iter().map(|node| node.redis.place()), self.quorum())
    }

    /// Asks every server, and takes note of who is silent.
    fn ask<T, F>(&self, ask: impl Fn(Arc<Node>) -> F) -> Answers<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        (0..self.nodes.len()).map(|at| self.ask_one(at, &ask)).collect()
    }

    /// Asks one of them.
    fn ask_one<T, F>(&self, at: usize, ask: impl Fn(Arc<Node>) -> F) -> BoxFuture<'static, Answered<T>>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        let (node, asking) = (Arc::clone(&self.nodes[at]), ask(Arc::clone(&self.nodes[at])));
        go_on(at, async move {
            let answer = asking.await;
            node.heard(&answer);
            answer
        })
    }

    /// Applies something to one server.
    fn apply_at(
        &self,
        at: usize,
        kind: Kind,
        key: &Key,
        operation: &Operation,
        within: Duration,
    ) -> BoxFuture<'static, Answered<Outcome>> {
        self.ask_one(at, |node| {
            let (key, operation) = (key.clone(), operation.clone());
            async move { node.redis.apply_one(kind, &key, &operation, within).await }
        })
    }

    /// Applies the same to every server.
    fn apply_everywhere(&self, kind: Kind, key: &Key, operation: &Operation, within: Duration) -> Answers<Outcome> {
        (0..self.nodes.len()).map(|at| self.apply_at(at, kind, key, operation, within)).collect()
    }
}

/// Goes on with what is asked of a server, also if nobody waits for the answer any more.
fn go_on<T: Send + 'static>(
    at: usize,
    asking: impl Future<Output = Result<T, StoreError>> + Send + 'static,
) -> BoxFuture<'static, Answered<T>> {
    let asking = tokio::spawn(asking);
    Box::pin(async move {
        let answer = asking.await.unwrap_or_else(|error| {
            Err(StoreError::new(StoreErrorKind::Unanswered, format!("asking a server has failed: {error}")))
        });
        (at, answer)
    })
}

impl Backend for Redlock {
    fn label(&self) -> Label {
        let pushes = self.nodes.iter().any(|node| node.redis.label().has(Guarantee::PushedWakeups));
        let guarantees = match Self::GUARANTEES {
            [others @ .., Guarantee::PushedWakeups] if !pushes => others,
            all => all,
        };
        Label { guarantees, ..Self::LABEL }
    }

    fn address(&self) -> String {
        let mut nodes: Vec<String> = self.nodes.iter().map(|node| node.redis.place()).collect();
        nodes.sort();
        format!("redlock:{}", nodes.join(","))
    }

    async fn reach(&self, within: Duration) -> Result<(), StoreError> {
        let mut answers = self.ask(|node| async move { node.redis.reach(within).await });
        let (mut votes, mut reached) = (self.no_votes(), 0);
        let mut patience = Patience::new(self.quorum(), &self.nodes);
        while let Some((at, answer)) = patience.next(&mut answers).await {
            reached += usize::from(answer.is_ok());
            votes.heard(at, answer);
        }
        if reached < self.quorum() {
            return Err(votes.silence());
        }
        self.check_independent()
    }

    async fn apply(&self, batch: Batch<'_>, within: Duration) -> Result<Applied, StoreError> {
        let renews = |step: &Step| matches!(step.operation, Operation::Renew { .. });
        match batch.steps {
            // There is no one moment of several servers.
            _ if batch.all_or_none => Ok(Applied::Apart),
            [step] => self.apply_one(step.kind, &step.key, &step.operation, within).await.map(Applied::one),
            steps if steps.iter().all(renews) => Ok(Applied::Each(self.renew_all(steps, within).await)),
            steps => {
                let answers = steps.iter().map(|step| self.apply_one(step.kind, &step.key, &step.operation, within));
                Ok(Applied::Each(join_all(answers).await))
            }
        }
    }

    async fn apply_one(
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
            Operation::Acquire { claim, under, lease, stay } => {
                self.acquire((kind, key), (claim, under), (*lease, *stay), within).await
            }
            Operation::Reenter { .. } => self.reenter(kind, key, operation, within).await,
            Operation::Renew { .. } => {
                let renewal = Step::new(kind, key, operation.clone());
                self.renew_all(std::slice::from_ref(&renewal), within).await.pop().unwrap_or(Ok(Outcome::NotHeld))
            }
            Operation::Release { .. } => self.release(kind, key, operation, within).await,
            Operation::ForceRelease => self.force(kind, key, within).await,
            Operation::Inspect => self.inspect(kind, key, within).await,
            _ => Ok(Outcome::NotHeld),
        }
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
        // One that hangs is not to be waited for by whoever only wants to know a name.
        let (mut last, mut patience) = (Ok(None), Patience::new(self.quorum(), &self.nodes));
        while let Some((_, answer)) = patience.next(&mut answers).await {
            match answer {
                Ok(Some(card)) => return Ok(Some(card)),
                answer => last = answer.or(last),
            }
        }
        last
    }

    async fn votes(&self, kind: Kind, key: &Key, within: Duration) -> Result<Vec<Vote>, StoreError> {
        Ok(self.poll(kind, key, &Operation::Inspect, within.min(LOOK)).await.0.told())
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

    fn refuses_key(&self, key: &Key) -> Option<&'static str> {
        crate::names::refused(key)
    }

    fn longest_lease(&self) -> Option<(Duration, &'static str)> {
        // A server that was restarted abstains for so long, until all that it may have forgotten has ended.
        Some((self.max_lease, "shorten it, or raise `max_lease` in the url of every client"))
    }

    fn attach(&self, over: Over) {
        self.given_up.attach(over);
    }

    fn asks_anew(&self) -> bool {
        true
    }

    async fn listen(&self, port: Port) {
        let parts = u32::try_from(self.nodes.len()).unwrap_or(1);
        let (ports, telling) = port.split(parts);
        let listening = self.nodes.iter().zip(ports).map(|(node, port)| node.redis.listen(port));
        let reminding = self.nodes.iter().map(|node| stragglers::tell(node, &self.given_up));
        tokio::join!(telling, join_all(listening), join_all(reminding));
    }
}

impl Redlock {
    /// Two names of one server would be two votes.
    fn check_independent(&self) -> Result<(), StoreError> {
        for (at, node) in self.nodes.iter().enumerate() {
            let twin = |other: &&Arc<Node>| node.run().is_some() && other.run() == node.run();
            if let Some(other) = self.nodes[at + 1..].iter().find(twin) {
                let message = format!(
                    "two urls lead to the same server, which would vote twice, name independent ones: {} {}",
                    node.redis.place(),
                    other.redis.place()
                );
                return Err(StoreError::new(StoreErrorKind::Unsupported, message));
            }
        }
        Ok(())
    }

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
