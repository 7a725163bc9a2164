//! What the tests share: clients, bounded waiting, a look into the store, and contention on record.

// Every test binary uses a part of this.
#![allow(dead_code)]

pub(crate) mod name;
pub(crate) mod scripts;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tenure_core::{Builder, Claim, Client, Error, Guard, Key, Lock, Loss, Operation, Options, Release, Stay};
use tenure_redis::redis::{FromRedisValue, from_redis_value};
use tenure_redis::{Config, Redis};
use tenure_testkit::history::boottime_now;
use tenure_testkit::{History, RedisServer, Report};
use tokio::task::JoinSet;

/// Short, so that a lease that has to end ends soon.
pub(crate) const LEASE: Duration = Duration::from_secs(1);
/// A bound on whatever must happen at all, wide enough for a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A backend for a URL.
pub(crate) fn backend(url: &str) -> Redis {
    Config::from_url(url).unwrap().into_backend()
}

/// A builder whose locks have short leases.
pub(crate) fn builder() -> Builder {
    Client::builder().options(Options::new().lease(LEASE))
}

/// A connected client with short leases.
pub(crate) async fn client(url: &str) -> Client {
    builder().connect(backend(url)).await.unwrap()
}

/// A client with leases so long that a lock left behind is noticed.
pub(crate) async fn client_of(server: &RedisServer) -> Client {
    Client::builder().connect(backend(&server.url())).await.unwrap()
}

/// A claim of a client that is none of those under test.
pub(crate) fn claim(number: u64) -> Claim {
    Claim::new("01234567-89ab-cdef-0123-456789abcdef", number)
}

/// That claim's way into a lock, for a lease that no test sees the end of.
pub(crate) fn acquire(number: u64) -> Operation {
    Operation::Acquire { claim: claim(number), under: Vec::new(), lease: ms(30_000), stay: Stay::No }
}

/// Looks until it is so.
pub(crate) async fn eventually(what: &str, within: Duration, mut so: impl FnMut() -> bool) {
    let deadline = Instant::now() + within;
    while !so() {
        assert!(Instant::now() < deadline, "not within {within:?}: {what}");
        tokio::time::sleep(ms(5)).await;
    }
}

/// A future that must be done in time.
pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.unwrap_or_else(|_| panic!("not within {PATIENCE:?}: {what}"))
}

/// Asks the server itself, past any proxy.
pub(crate) fn ask<T: FromRedisValue>(server: &RedisServer, words: &[&str]) -> T {
    from_redis_value(server.command(words)).unwrap()
}

pub(crate) fn exists(server: &RedisServer, key: &str) -> bool {
    ask(server, &["EXISTS", key])
}

/// How often a claim is in, as the store has it.
pub(crate) fn count(server: &RedisServer, key: &Key, claim: &Claim) -> Option<u32> {
    ask(server, &["HGET", key.as_str(), claim.as_str()])
}

/// How often a guard's claim is in, as the store has it.
pub(crate) fn count_of(server: &RedisServer, guard: &Guard) -> Option<u32> {
    count(server, guard.key(), guard.claim())
}

/// How much a server remembers of what was given up.
pub(crate) fn tombstones(server: &RedisServer) -> usize {
    let of_one = |key: String| from_redis_value::<usize>(server.command(&["ZCARD", &key])).unwrap();
    server.keys("tenure:cancelled:*").into_iter().map(of_one).sum()
}

/// Keys that have no business to be there once no lock is held: all but the watermark, the clients' cards and
/// tombstones that will go by themselves.
pub(crate) fn litter(server: &RedisServer) -> Vec<String> {
    let keys = server.keys("*").into_iter();
    keys.filter(|key| {
        let tombstone = key.starts_with("tenure:cancelled:") && server.pttl(key) != -1;
        !(tombstone || key == "tenure:fence" || key.starts_with("tenure:client:"))
    })
    .collect()
}

/// The lock `k`, which must be free soon.
pub(crate) async fn gets_in(client: &Client) -> Guard {
    soon("it gets in", client.lock("k").unwrap().lock()).await.unwrap()
}

/// The lock `k` is free before its lease has ended, and each of these can have it.
pub(crate) async fn is_free_for(server: &RedisServer, clients: &[&Client]) {
    eventually("the lock is free", LEASE / 2, || !exists(server, "k")).await;
    for client in clients {
        let guard = gets_in(client).await;
        assert_eq!(count_of(server, &guard), Some(1));
        assert_eq!(guard.release().await.unwrap(), Release::Released);
    }
}

/// Closes a client that was the last to hold anything.
pub(crate) async fn leaves_nothing(server: &RedisServer, client: &Client) {
    client.close(PATIENCE).await.unwrap();
    assert_eq!(litter(server), [""; 0]);
}

/// The channels somebody listens to, those to single clients aside.
pub(crate) fn lock_channels(server: &RedisServer) -> Vec<String> {
    let mut channels: Vec<String> = ask(server, &["PUBSUB", "CHANNELS"]);
    channels.retain(|channel| !channel.starts_with("tenure:notice:"));
    channels
}

/// The connections of one type: `normal` or `pubsub`, that of the test itself included.
pub(crate) fn connections(server: &RedisServer, kind: &str) -> usize {
    ask::<String>(server, &["CLIENT", "LIST", "TYPE", kind]).lines().filter(|line| !line.trim().is_empty()).count()
}

/// How many connections the server has accepted so far.
pub(crate) fn accepted(server: &RedisServer) -> usize {
    let stats: String = ask(server, &["INFO", "stats"]);
    stats.lines().find_map(|line| line.strip_prefix("total_connections_received:")).unwrap().trim().parse().unwrap()
}

/// The key that [`Contention`] is about.
pub(crate) const KEY: &str = "contended";
const WORKERS: usize = 4;
/// How long a worker stays away between two sections.
const THINK: Duration = Duration::from_millis(3);

/// Four workers that fight for one lock, with a record of who held it when.
pub(crate) struct Contention {
    history: History,
    orders: Arc<Orders>,
    workers: JoinSet<Tally>,
}

#[derive(Default)]
struct Orders {
    stop: AtomicBool,
    linger: AtomicBool,
}

/// What workers met.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Losses, and when (nanoseconds of the history's clock) they were told.
    pub(crate) losses: Vec<(u64, Loss)>,
    /// What came of locks and releases besides success and losses that were told before.
    pub(crate) errors: Vec<Error>,
}

impl Contention {
    /// Starts the workers, spread over the clients in turn.
    pub(crate) fn start(clients: &[&Client]) -> Self {
        let history = History::new();
        let orders = Arc::<Orders>::default();
        let mut workers = JoinSet::new();
        for n in 0..WORKERS {
            let at = n % clients.len();
            let lock = clients[at].lock(KEY).unwrap();
            let who = format!("worker {n} of client {at}");
            workers.spawn(work(lock, who, history.clone(), Arc::clone(&orders)));
        }
        Self { history, orders, workers }
    }

    /// From now on whoever is in stays in; returns when it is one of these clients' workers.
    pub(crate) async fn linger(&self, clients: &[usize]) {
        let inside = || self.history.holds().into_iter().find(|hold| hold.ended.is_none());
        // Longer than any section: whoever is in for so long has heard that it is to stay.
        let stays = |since: u64| boottime_now() - since > 50_000_000;
        loop {
            self.orders.linger.store(true, Ordering::Relaxed);
            eventually("somebody stays in", PATIENCE, || inside().is_some_and(|hold| stays(hold.granted))).await;
            let Some(found) = inside() else { continue };
            if clients.iter().any(|at| found.who.ends_with(&format!("client {at}"))) {
                return;
            }
            self.move_on();
            eventually("the wrong one leaves", PATIENCE, || inside().is_none_or(|hold| hold != found)).await;
        }
    }

    /// Sections are short again.
    pub(crate) fn move_on(&self) {
        self.orders.linger.store(false, Ordering::Relaxed);
    }

    /// Until every worker was granted the lock once more.
    pub(crate) async fn all_get_in(&self, within: Duration) {
        let since = boottime_now();
        let deadline = Instant::now() + within;
        loop {
            let report = self.history.check();
            let holds = self.history.holds();
            let again = |who: &str| holds.iter().any(|hold| hold.granted > since && hold.who == who);
            let waiting: Vec<&String> = report.by_who.keys().filter(|who| !again(who)).collect();
            if waiting.is_empty() && report.by_who.len() == WORKERS {
                return;
            }
            assert!(Instant::now() < deadline, "still waiting after {within:?}: {waiting:?}\n{report}");
            tokio::time::sleep(ms(10)).await;
        }
    }

    /// Until anybody was granted the lock since then, a moment of the history's clock.
    pub(crate) async fn next_gets_in(&self, since: u64, within: Duration) {
        eventually("somebody gets in", within, || self.history.holds().iter().any(|hold| hold.granted > since)).await;
    }

    /// Ends the contention: what the history shows, and what the workers met.
    pub(crate) async fn end(mut self) -> (Report, Tally) {
        self.move_on();
        self.orders.stop.store(true, Ordering::Relaxed);
        let mut all = Tally::default();
        while let Some(tally) = soon("the workers end", self.workers.join_next()).await {
            let tally = tally.expect("no worker panics");
            all.losses.extend(tally.losses);
            all.errors.extend(tally.errors);
        }
        let report = self.history.check();
        eprintln!("{report}losses: {} errors: {:?}", all.losses.len(), all.errors);
        (report, all)
    }
}

async fn work(lock: Lock, who: String, history: History, orders: Arc<Orders>) -> Tally {
    let mut tally = Tally::default();
    while !orders.stop.load(Ordering::Relaxed) {
        let asking = history.asking(KEY, &who);
        let guard = match lock.lock().await {
            Ok(guard) => guard,
            Err(error) => {
                tally.errors.push(error);
                continue;
            }
        };
        let record = asking.granted(guard.token());
        let (mut valid_at, mut rounds) = (boottime_now(), 0);
        let lost = loop {
            // The time is taken before the look: a task put off between the two must not claim more than it had.
            let now = boottime_now();
            if guard.is_held() {
                valid_at = now;
            }
            tokio::select! {
                biased;
                why = guard.lost() => break Some(why),
                () = tokio::time::sleep(ms(2)) => rounds += 1,
            }
            if rounds >= 2 && !orders.linger.load(Ordering::Relaxed) {
                break None;
            }
        };
        if let Some(why) = lost {
            tally.losses.push((boottime_now(), why));
        }
        record.ended_at(valid_at);
        if let Err(error) = guard.release().await
            && lost.is_none()
        {
            tally.errors.push(error);
        }
        // The lock is not fair: who comes back at once would be in again before anybody who was woken gets there.
        tokio::time::sleep(THINK).await;
    }
    tally
}
