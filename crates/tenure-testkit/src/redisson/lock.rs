//! Clients, threads and locks in the JVM, as Rust sees them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::answer::{Answer, done, read, value};
use super::line::Line;
use crate::history::Hold;

/// One Redisson client in a JVM.
#[derive(Clone)]
pub struct Redisson(Arc<Inner>);

struct Inner {
    line: Arc<Line>,
    name: String,
    threads: AtomicU64,
}

/// One Java thread: the owner of what is locked on it. It does one thing at a time, in the order it was told to.
#[derive(Clone)]
pub struct JavaThread {
    pub(super) client: Redisson,
    pub(super) name: String,
}

/// A lock as one Java thread uses it.
#[derive(Clone)]
pub struct JavaLock {
    thread: JavaThread,
    kind: &'static str,
    key: String,
}

impl Redisson {
    pub(super) fn new(line: Arc<Line>, name: String) -> Self {
        Self(Arc::new(Inner { line, name, threads: AtomicU64::new(0) }))
    }

    /// A new thread that uses this client.
    pub fn thread(&self) -> JavaThread {
        let name = self.0.threads.fetch_add(1, Ordering::Relaxed).to_string();
        JavaThread { client: self.clone(), name }
    }
}

impl Drop for Inner {
    /// Lets go of the server, which the test is about to stop; nobody waits for it.
    fn drop(&mut self) {
        drop(self.line.send(&format!("disconnect {}", self.name)));
    }
}

impl JavaThread {
    /// Redisson's re-entrant lock (`getLock`).
    pub fn lock(&self, key: &str) -> JavaLock {
        self.of_kind("lock", key)
    }

    /// Redisson's fenced lock (`getFencedLock`).
    pub fn fenced_lock(&self, key: &str) -> JavaLock {
        self.of_kind("fenced", key)
    }

    /// Redisson's fair lock (`getFairLock`).
    pub fn fair_lock(&self, key: &str) -> JavaLock {
        self.of_kind("fair", key)
    }

    /// The read lock of a pair (`getReadWriteLock`).
    pub fn read_lock(&self, key: &str) -> JavaLock {
        self.of_kind("read", key)
    }

    /// The write lock of a pair (`getReadWriteLock`).
    pub fn write_lock(&self, key: &str) -> JavaLock {
        self.of_kind("write", key)
    }

    pub(super) fn of_kind(&self, kind: &'static str, key: &str) -> JavaLock {
        assert!(!key.is_empty() && !key.contains(char::is_whitespace), "the driver takes a key for one word: {key:?}");
        JavaLock { thread: self.clone(), kind, key: key.to_owned() }
    }
}

impl JavaLock {
    /// Waits for the lock; the watchdog renews it until it is unlocked.
    pub fn lock(&self) -> impl Future<Output = Answer<()>> + Send + use<> {
        self.tell("lock", &["-"], done)
    }

    /// Waits for the lock; it is free again when the lease ends.
    pub fn lock_for(&self, lease: Duration) -> impl Future<Output = Answer<()>> + Send + use<> {
        self.tell("lock", &[&millis(lease)], done)
    }

    /// Waits for so long; whether it got in. The watchdog renews it until it is unlocked.
    pub fn try_lock(&self, wait: Duration) -> impl Future<Output = Answer<bool>> + Send + use<> {
        self.tell("tryLock", &[&millis(wait), "-"], value)
    }

    /// Waits for so long; whether it got in. It is free again when the lease ends.
    pub fn try_lock_for(&self, wait: Duration, lease: Duration) -> impl Future<Output = Answer<bool>> + Send + use<> {
        self.tell("tryLock", &[&millis(wait), &millis(lease)], value)
    }

    /// Waits for a fenced lock, and says its token; the watchdog renews it until it is unlocked.
    pub fn lock_and_get_token(&self) -> impl Future<Output = Answer<u64>> + Send + use<> {
        self.tell("lockAndGetToken", &[], value)
    }

    /// Gives the lock back.
    pub fn unlock(&self) -> impl Future<Output = Answer<()>> + Send + use<> {
        self.tell("unlock", &[], done)
    }

    /// Frees the lock whoever holds it; whether anybody did.
    pub fn force_unlock(&self) -> impl Future<Output = Answer<bool>> + Send + use<> {
        self.tell("forceUnlock", &[], value)
    }

    /// Whether anybody holds the lock.
    pub fn is_locked(&self) -> impl Future<Output = Answer<bool>> + Send + use<> {
        self.tell("isLocked", &[], value)
    }

    /// How often this thread is in.
    pub fn hold_count(&self) -> impl Future<Output = Answer<u32>> + Send + use<> {
        self.tell("holdCount", &[], value)
    }

    /// Whether this thread holds the lock.
    pub fn is_held(&self) -> impl Future<Output = Answer<bool>> + Send + use<> {
        self.tell("isHeld", &[], value)
    }

    /// The time the lock has left in milliseconds; -1 without expiry, -2 if it is free.
    pub fn remain_time_to_live(&self) -> impl Future<Output = Answer<i64>> + Send + use<> {
        self.tell("remainTimeToLive", &[], value)
    }

    /// Locks and unlocks over and over for `length`, and stays in for `section` each time. The holds are by the clock of
    /// [`monotonic_now`](crate::history::monotonic_now).
    pub fn stress(
        &self,
        length: Duration,
        section: Duration,
    ) -> impl Future<Output = Answer<Vec<Hold>>> + Send + use<> {
        let (key, who) = (self.key.clone(), format!("java {}/{}", self.thread.client.0.name, self.thread.name));
        self.tell("stress", &[&millis(length), &millis(section)], move |text| {
            read(text, |rest| rest.split_whitespace().map(|word| hold(&key, &who, word)).collect())
        })
    }

    pub(super) fn tell<T, R>(
        &self,
        verb: &str,
        args: &[&str],
        read: R,
    ) -> impl Future<Output = Answer<T>> + Send + use<T, R>
    where
        R: FnOnce(&str) -> Answer<T> + Send,
    {
        let Self { thread: JavaThread { client, name }, kind, key } = self;
        let mut command = format!("{verb} {} {name} {kind} {key}", client.0.name);
        for arg in args {
            command = command + " " + arg;
        }
        let answer = client.0.line.send(&command);
        async move { read(&answer.await) }
    }
}

/// A hold written as `asked,granted,ended`.
fn hold(key: &str, who: &str, word: &str) -> Option<Hold> {
    let times: Vec<u64> = word.split(',').map(|time| time.parse().ok()).collect::<Option<_>>()?;
    let [asked, granted, ended] = times[..] else { return None };
    Some(Hold { key: key.to_owned(), who: who.to_owned(), token: None, asked, granted, ended: Some(ended) })
}

pub(super) fn millis(length: Duration) -> String {
    length.as_millis().to_string()
}
