//! Random sets of locks over two Redis servers and one SQLite file, taken in random orders by many tasks at once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tenure::{Client, Error, Kind, Lock, MultiGuard, MultiLock, Options};
use tenure_testkit::{History, RedisServer, Report};
use tokio::task::JoinSet;

const TASKS: usize = 16;
/// How many clients each store has: some keys are named by two of them.
const CLIENTS: usize = 2;
const KEYS: usize = 8;
/// Nobody waits nearly as long, unless some wait for each other.
const DEADLOCK: Duration = Duration::from_secs(60);
/// Much longer than what is left behind may take to go: it must not be the lease that ends it.
const LEASE: Duration = Duration::from_secs(60);
const SOON: Duration = Duration::from_secs(10);

/// What came of the sets.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) held: AtomicUsize,
    pub(crate) given_up: AtomicUsize,
    pub(crate) not_free: AtomicUsize,
    pub(crate) timed_out: AtomicUsize,
    /// The longest that anybody waited who did not give up, in milliseconds.
    pub(crate) longest: AtomicUsize,
}

/// One lock of one store, whichever client names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    store: usize,
    key: usize,
}

impl Place {
    fn kind(self) -> Kind {
        match self.key {
            4 => Kind::Fair,
            5 => Kind::Simple,
            6 if fastrand::bool() => Kind::Read,
            6 => Kind::Write,
            _ => Kind::Reentrant,
        }
    }
}

struct Stores {
    clients: Vec<Vec<Client>>,
    /// Who is in each lock: one who writes is less than none.
    inside: Vec<Vec<AtomicI64>>,
    history: History,
    tally: Tally,
}

/// Takes so many sets, and checks that nobody met, nobody waited for ever, and nothing is left.
pub(crate) async fn take(sets: usize) -> (Report, Tally) {
    let servers = [RedisServer::start(), RedisServer::start()];
    let home = tempfile::tempdir().expect("a directory");
    let mut urls: Vec<String> = servers.iter().map(RedisServer::url).collect();
    urls.push(format!("sqlite:{}", home.path().join("locks.db").display()));
    let mut clients = Vec::new();
    for url in &urls {
        let mut own = Vec::new();
        for _ in 0..CLIENTS {
            own.push(tenure::connect(url).await.expect("a client"));
        }
        clients.push(own);
    }
    let inside = (0..urls.len()).map(|_| (0..KEYS).map(|_| AtomicI64::new(0)).collect()).collect();
    let stores = Arc::new(Stores { clients, inside, history: History::new(), tally: Tally::default() });
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        let stores = Arc::clone(&stores);
        let rounds = sets / TASKS + usize::from(task < sets % TASKS);
        tasks.spawn(async move {
            for _ in 0..rounds {
                stores.one_set(&format!("task {task}")).await;
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap_or_else(|failed| std::panic::resume_unwind(failed.into_panic()));
    }
    stores.are_left_empty(&urls, &servers).await;
    let stores = Arc::into_inner(stores).expect("all tasks have ended");
    (stores.history.check(), stores.tally)
}

impl Stores {
    /// Takes a random set in one of several ways, and gives it back, unless it is given up.
    async fn one_set(&self, who: &str) {
        let (set, places) = self.random_set();
        let options = Options::new().lease(LEASE);
        match fastrand::u32(0..8) {
            0 => match set.try_lock_with(options).await.expect("one attempt") {
                Some(guard) => self.hold(&places, who, guard).await,
                None => drop(self.tally.not_free.fetch_add(1, Ordering::Relaxed)),
            },
            1 => {
                let wait = Duration::from_millis(fastrand::u64(1..30));
                match set.lock_with(options.wait(wait)).await {
                    Ok(guard) => self.hold(&places, who, guard).await,
                    Err(error) => self.timed_out(&error),
                }
            }
            2 | 3 => {
                let moment = Duration::from_micros(fastrand::u64(0..8000));
                match tokio::time::timeout(moment, set.lock_with(options)).await {
                    Ok(guard) => self.hold(&places, who, guard.expect("the locks")).await,
                    Err(_) => drop(self.tally.given_up.fetch_add(1, Ordering::Relaxed)),
                }
            }
            _ => {
                let began = Instant::now();
                let taken = tokio::time::timeout(DEADLOCK, set.lock_with(options)).await;
                let guard = taken.unwrap_or_else(|_| panic!("{who} waits for ever: {set:?}"));
                let waited = usize::try_from(began.elapsed().as_millis()).unwrap_or(usize::MAX);
                self.tally.longest.fetch_max(waited, Ordering::Relaxed);
                self.hold(&places, who, guard.expect("the locks")).await;
            }
        }
    }

    fn timed_out(&self, error: &Error) {
        assert_eq!(error.kind(), tenure::ErrorKind::Timeout, "{error}");
        assert!(error.key().is_some(), "{error}");
        self.tally.timed_out.fetch_add(1, Ordering::Relaxed);
    }

    /// One to five locks in any order, some of them named twice or by two clients.
    fn random_set(&self) -> (MultiLock, BTreeMap<Place, Kind>) {
        let mut places: BTreeMap<Place, Kind> = BTreeMap::new();
        let mut locks: Vec<Lock> = Vec::new();
        for _ in 0..fastrand::usize(1..6) {
            let place = Place { store: fastrand::usize(0..self.clients.len()), key: fastrand::usize(0..KEYS) };
            let kind = place.kind();
            // A simple lock is entered once, by whichever client.
            let client = if kind == Kind::Simple { 0 } else { fastrand::usize(0..CLIENTS) };
            locks.push(self.clients[place.store][client].lock_of(kind, &format!("k{}", place.key)).expect("a key"));
            let held = places.entry(place).or_insert(kind);
            if kind == Kind::Write {
                *held = kind;
            }
        }
        fastrand::shuffle(&mut locks);
        (MultiLock::new(locks).expect("a set"), places)
    }

    /// Is in for a moment, and sees to it that nobody else is.
    async fn hold(&self, places: &BTreeMap<Place, Kind>, who: &str, guard: MultiGuard) {
        let mut holds = Vec::new();
        for (place, kind) in places {
            let inside = &self.inside[place.store][place.key];
            if *kind == Kind::Read {
                assert!(inside.fetch_add(1, Ordering::SeqCst) >= 0, "{who} reads beside one who writes: {place:?}");
            } else {
                let was = inside.fetch_sub(1, Ordering::SeqCst);
                assert_eq!(was, 0, "{who} is not alone: {place:?}");
                let key = format!("k{}", place.key);
                let ours = guard.guards().iter().find(|guard| {
                    let of_store = self.clients[place.store].iter().any(|one| guard.claim().client() == one.id());
                    guard.key().as_str() == key && of_store && guard.kind() == *kind
                });
                let token = ours.expect("a guard for each lock").token();
                holds.push(self.history.granted(&format!("{}/{key}", place.store), token, who));
            }
        }
        if fastrand::u32(0..4) == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        } else {
            tokio::task::yield_now().await;
        }
        guard.check().expect("all are held");
        for hold in holds {
            hold.ended();
        }
        for (place, kind) in places {
            let change = if *kind == Kind::Read { -1 } else { 1 };
            self.inside[place.store][place.key].fetch_add(change, Ordering::SeqCst);
        }
        self.tally.held.fetch_add(1, Ordering::Relaxed);
        if fastrand::bool() {
            guard.release().await.expect("a release");
        }
    }

    /// Nothing is held any more, long before any lease would have ended it.
    async fn are_left_empty(&self, urls: &[String], servers: &[RedisServer]) {
        for client in self.clients.iter().flatten() {
            client.close(SOON).await.expect("nothing is unfinished");
        }
        for url in urls {
            let client = tenure::connect(url).await.expect("a client");
            let held = client.list("*").await.expect("a list");
            assert!(held.is_empty(), "left behind: {held:?}");
            client.close(SOON).await.expect("nothing is unfinished");
        }
        for server in servers {
            let is_litter = |key: &String| {
                // These end by themselves, some of them since they were listed.
                let ending = ["tenure:cancelled:", "tenure:line:"].iter().any(|name| key.starts_with(name));
                !((ending && server.pttl(key) != -1) || key == "tenure:fence" || key.starts_with("tenure:client:"))
            };
            let litter: Vec<String> = server.keys("*").into_iter().filter(is_litter).collect();
            assert!(litter.is_empty(), "left behind: {litter:?}");
        }
    }
}
