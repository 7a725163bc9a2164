//! What calls cost the server, by its own account, while few others are about and while many are.
//!
//! Nobody else may use the server meanwhile: it counts all calls together, and its counters are set back.

use crate::RedisServer;
use std::time::Duration;
use tenure_core::{Backend, Claim, Key, Kind, Operation, Outcome, Stay};

/// Longer than any measurement: nobody's lease or place is to end in one.
const LONG: Duration = Duration::from_secs(3600);
/// A bound on one answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many calls of each sort a round takes the average of.
const CYCLES: u32 = 200;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// One more takes a place in line for a fair lock.
    FairWait,
    /// The first in line gets the fair lock that is free now.
    FairAcquire,
    /// The holder of a fair lock leaves, and the first in line is called.
    FairRelease,
    /// One more goes in to read.
    ReadAcquire,
    /// One of those who read leaves.
    ReadRelease,
}

impl Call {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::FairWait, Self::FairAcquire, Self::FairRelease, Self::ReadAcquire, Self::ReadRelease];
}

/// One measurement.
#[derive(Debug, Clone, Copy)]
pub struct Cost {
    /// Of this.
    pub call: Call,
    /// With so many in line, or so many who read.
    pub crowd: u64,
    /// The server's time for a call, in microseconds, on the average of a round.
    pub micros: f64,
}

/// Measures every call with crowds of these sizes, in rounds: what disturbs the machine disturbs all of a round.
pub async fn measure(server: &RedisServer, backend: &impl Backend, crowds: &[u64], rounds: usize) -> Vec<Cost> {
    let mut sites = Vec::new();
    for &crowd in crowds {
        for kind in [Kind::Fair, Kind::Read] {
            sites.push(Site::new(server, backend, kind, crowd).await);
        }
    }
    let mut costs = Vec::new();
    for _ in 0..rounds {
        for site in &mut sites {
            costs.extend(site.round().await);
        }
    }
    costs
}

/// A lock with a crowd.
struct Site<'a, B> {
    server: &'a RedisServer,
    backend: &'a B,
    kind: Kind,
    key: Key,
    crowd: u64,
    /// Who holds the fair lock; of the claims, which are numbered as they came, the next is the first in line.
    holder: u64,
    /// Who comes next.
    next: u64,
}

impl<'a, B: Backend> Site<'a, B> {
    async fn new(server: &'a RedisServer, backend: &'a B, kind: Kind, crowd: u64) -> Self {
        let key = Key::new(&format!("{kind}:{crowd}")).expect("a key");
        let mut site = Self { server, backend, kind, key, crowd, holder: 0, next: 0 };
        // Of the fair lock one has it, and the others stand in line.
        let all = if kind == Kind::Fair { 1 + crowd } else { crowd };
        for _ in 0..all {
            let in_line = kind == Kind::Fair && site.next > 0;
            let outcome = site.acquire(site.next).await;
            assert!(matches!(outcome, Outcome::Busy(_)) == in_line, "{outcome:?}");
            site.next += 1;
        }
        // Not counted: a server does not know a script when it is called for the first time.
        site.cycle().await;
        site
    }

    async fn round(&mut self) -> Vec<Cost> {
        let mut sums: Vec<(Call, Duration)> = Vec::new();
        for _ in 0..CYCLES {
            for (call, took) in self.cycle().await {
                match sums.iter_mut().find(|(known, _)| *known == call) {
                    Some((_, sum)) => *sum += took,
                    None => sums.push((call, took)),
                }
            }
        }
        let cost = |(call, sum): (Call, Duration)| Cost {
            call,
            crowd: self.crowd,
            micros: sum.as_secs_f64() * 1e6 / f64::from(CYCLES),
        };
        sums.into_iter().map(cost).collect()
    }

    /// One of each call; the crowd is then as large as it was.
    async fn cycle(&mut self) -> Vec<(Call, Duration)> {
        let newcomer = self.next;
        self.next += 1;
        if self.kind == Kind::Read {
            let (entered, acquire) = self.timed(self.acquire(newcomer)).await;
            let (left, release) = self.timed(self.release(newcomer)).await;
            assert!(matches!((&entered, &left), (Outcome::Granted(_), Outcome::Left)), "{entered:?} {left:?}");
            return vec![(Call::ReadAcquire, acquire), (Call::ReadRelease, release)];
        }
        let (waits, wait) = self.timed(self.acquire(newcomer)).await;
        let (left, release) = self.timed(self.release(self.holder)).await;
        self.holder += 1;
        let (entered, acquire) = self.timed(self.acquire(self.holder)).await;
        assert!(
            matches!((&waits, &left, &entered), (Outcome::Busy(_), Outcome::Released, Outcome::Granted(_))),
            "{waits:?} {left:?} {entered:?}"
        );
        vec![(Call::FairWait, wait), (Call::FairRelease, release), (Call::FairAcquire, acquire)]
    }

    /// One call, and how long the server was busy with it.
    async fn timed(&self, call: impl Future<Output = Outcome>) -> (Outcome, Duration) {
        self.server.reset_stats();
        (call.await, self.server.command_time("evalsha"))
    }

    async fn acquire(&self, number: u64) -> Outcome {
        let stay = Stay::InLine { place: LONG };
        self.apply(Operation::Acquire { claim: claim(number), under: Vec::new(), lease: LONG, stay }).await
    }

    async fn release(&self, number: u64) -> Outcome {
        let (lease, keep) = (LONG, Duration::ZERO);
        self.apply(Operation::Release { claim: claim(number), left: 0, change: 1, lease, keep, cancel: None }).await
    }

    async fn apply(&self, operation: Operation) -> Outcome {
        self.backend.apply_one(self.kind, &self.key, &operation, PATIENCE).await.expect("an answer")
    }
}

fn claim(number: u64) -> Claim {
    Claim::new("00000000-c05d-4000-8000-000000000000", number)
}
