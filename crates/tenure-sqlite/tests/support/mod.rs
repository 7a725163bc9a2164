//! What the tests share: a file of their own, clients of it, bounded waiting, and a look inside.

// Every test binary uses a part of this.
#![allow(dead_code)]

pub(crate) mod relay;

use rusqlite::{Connection, OpenFlags};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tenure_core::{Client, Guard, Key, Lock, Options, Store};
use tenure_sqlite::{Config, Sqlite};
use tenure_testkit::history::boottime_now;

/// Short, so that a lease that has to end ends soon.
pub(crate) const LEASE: Duration = Duration::from_secs(1);
/// A bound on whatever must happen at all, wide enough for a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A file of a test's own, in a directory of its own.
pub(crate) struct Place {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) path: PathBuf,
}

impl Place {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("locks");
        Self { directory, path }
    }

    pub(crate) fn url(&self) -> String {
        format!("sqlite:{}", self.path.display())
    }

    pub(crate) fn backend(&self) -> Sqlite {
        backend(&self.path)
    }

    pub(crate) async fn client(&self) -> Client {
        Client::builder().connect(self.backend()).await.unwrap()
    }

    /// A client with short leases.
    pub(crate) async fn brief_client(&self) -> Client {
        Client::builder().options(Options::new().lease(LEASE)).connect(self.backend()).await.unwrap()
    }

    /// Looks into the file, past the backend.
    pub(crate) fn peek(&self) -> Connection {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = Connection::open_with_flags(&self.path, flags).unwrap();
        db.busy_timeout(PATIENCE).unwrap();
        db
    }

    /// What the file keeps of a lock.
    pub(crate) fn record(&self, key: &str) -> Option<String> {
        let db = self.peek();
        let mut statement = db.prepare("SELECT record FROM locks WHERE key = ?1").unwrap();
        let mut rows = statement.query([key.as_bytes()]).unwrap();
        rows.next().unwrap().map(|row| row.get(0).unwrap())
    }

    /// Whether anybody holds a lock, as far as the file knows.
    pub(crate) fn is_held(&self, key: &str) -> bool {
        self.record(key).is_some_and(|record| is_held(&record))
    }

    /// How often a guard's claim is in.
    pub(crate) fn count_of(&self, guard: &Guard) -> Option<u32> {
        count(&self.record(guard.key().as_str())?, guard.claim().as_str())
    }

    /// Everything that is left of locks and of those who waited for them, but for what ends by itself.
    pub(crate) fn litter(&self) -> Vec<String> {
        let db = self.peek();
        let read = |query: &str| -> Vec<(String, String)> {
            let mut statement = db.prepare(query).unwrap();
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
            rows.map(Result::unwrap).collect()
        };
        let locks = read("SELECT CAST(key AS TEXT), record FROM locks").into_iter();
        let waiters = read("SELECT CAST(key AS TEXT), client FROM waiters WHERE state < 2").into_iter();
        let locks = locks.filter(|(_, record)| is_held(record)).map(|(key, record)| format!("{key} is held: {record}"));
        locks.chain(waiters.map(|(key, client)| format!("{key} is waited for by {client}"))).collect()
    }

    /// What SQLite finds wrong with the file.
    pub(crate) fn integrity(&self) -> String {
        self.peek().query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap()
    }
}

/// Whether a record is that of a hold whose lease runs: `held kind token since ends`.
fn is_held(record: &str) -> bool {
    let now = boottime_now() / 1000;
    let line = record.lines().find(|line| line.starts_with("held "));
    line.is_some_and(|line| line.split(' ').next_back().unwrap().parse::<u64>().unwrap() > now)
}

fn count(record: &str, claim: &str) -> Option<u32> {
    let line = record.lines().find(|line| line.starts_with("in ") && line.ends_with(&format!(" {claim}")))?;
    line.split(' ').nth(1)?.parse().ok()
}

pub(crate) fn backend(path: &Path) -> Sqlite {
    Config::at(path).unwrap().into_backend()
}

pub(crate) fn store(url: &str) -> Store {
    Config::from_url(url).expect("a sqlite url").into_backend().into()
}

pub(crate) fn key(name: &str) -> Key {
    Key::new(name).unwrap()
}

/// Looks until it is so.
pub(crate) async fn eventually(what: &str, within: Duration, mut so: impl FnMut() -> bool) {
    let deadline = Instant::now() + within;
    while !so() {
        assert!(Instant::now() < deadline, "not within {within:?}: {what}");
        tokio::time::sleep(ms(5)).await;
    }
}

/// Looks until so many wait for a lock.
pub(crate) async fn until_waited_for(lock: &Lock, by: u32) {
    let deadline = Instant::now() + PATIENCE;
    while lock.inspect().await.unwrap().expect("it is held").waiters != Some(by) {
        assert!(Instant::now() < deadline, "not waited for by {by}");
        tokio::time::sleep(ms(5)).await;
    }
}

/// A future that must be done in time.
pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.unwrap_or_else(|_| panic!("not within {PATIENCE:?}: {what}"))
}
