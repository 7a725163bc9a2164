//! A crowd of both libraries on one lock: never two at once, by one clock, and nobody goes away empty-handed.

use crate::support::{PATIENCE, client_of, soon};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tenure_core::Lock;
use tenure_testkit::figures::is_full;
use tenure_testkit::history::{Hold, monotonic_now};
use tenure_testkit::redisson::jvm;
use tenure_testkit::{History, RedisServer};
use tokio::task::JoinHandle;

const KEY: &str = "shared";
/// How long everybody stays in.
const SECTION: Duration = Duration::from_millis(2);
/// What Java's watchdog gives a lock.
const WATCHDOG: Duration = Duration::from_secs(30);

/// Rust tasks that take the lock over and over until they are told to stop.
struct Tasks {
    stop: Arc<AtomicBool>,
    running: Vec<JoinHandle<()>>,
}

impl Tasks {
    /// So many tasks for each of so many clients.
    async fn start(server: &RedisServer, clients: usize, each: usize, history: &History) -> Self {
        let mut tasks = Self { stop: Arc::default(), running: Vec::new() };
        for client in 0..clients {
            let rust = client_of(server).await;
            for task in 0..each {
                let (lock, who) = (rust.lock(KEY).unwrap(), format!("rust {client}/{task}"));
                tasks.running.push(tokio::spawn(take(lock, who, history.clone(), Arc::clone(&tasks.stop))));
            }
        }
        tasks
    }

    async fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        for task in self.running {
            soon("a task ends", task).await.unwrap();
        }
    }
}

async fn take(lock: Lock, who: String, history: History, stop: Arc<AtomicBool>) {
    while !stop.load(Ordering::Relaxed) {
        let asked = monotonic_now();
        let guard = lock.lock().await.unwrap();
        let granted = monotonic_now();
        tokio::time::sleep(SECTION).await;
        let ended = Some(monotonic_now());
        assert!(guard.is_held(), "{who} lost it in the middle");
        history.add(Hold { key: KEY.to_owned(), who: who.clone(), token: Some(guard.token()), asked, granted, ended });
        guard.release().await.unwrap();
    }
}

/// Four Java threads and four Rust tasks, two to a client, by the clock that both have.
pub(crate) async fn stress() {
    let server = RedisServer::start();
    let length = Duration::from_secs(if is_full() { 30 } else { 5 });
    let history = History::new();
    let mut threads = Vec::new();
    for _ in 0..2 {
        let java = jvm().connect(&server.url(), WATCHDOG).await;
        threads.extend([java.thread().lock(KEY), java.thread().lock(KEY)]);
    }
    let tasks = Tasks::start(&server, 2, 2, &history).await;
    let running: Vec<_> = threads.iter().map(|lock| lock.stress(length, SECTION)).collect();
    for holds in running {
        let holds = tokio::time::timeout(length + 3 * PATIENCE, holds).await.expect("java comes to an end").unwrap();
        for hold in holds {
            history.add(hold);
        }
    }
    tasks.end().await;
    let report = history.check();
    println!("{report}{:?}", report.by_who);
    report.assert_clean().assert_at_least(100);
    assert_eq!(report.by_who.len(), 8, "somebody never got in\n{report}");
    if is_full() {
        println!(
            "\nFULL | shared with Redisson, 4 Java threads × 4 Rust tasks, {length:?} | {} holds | 0 overlaps, wait p50 {:?} \
             p99 {:?} max {:?}, shares {}..{}",
            report.holds,
            report.wait_p50(),
            report.wait_p99(),
            report.wait_max(),
            report.fewest(),
            report.most()
        );
    }
}

/// Eight Rust tasks hand the lock to each other; a Java thread, whom nobody calls by name, gets in all the same.
pub(crate) async fn nobody_starves() {
    let server = RedisServer::start();
    let java = jvm().connect(&server.url(), WATCHDOG).await.thread().lock(KEY);
    let history = History::new();
    let tasks = Tasks::start(&server, 2, 4, &history).await;
    let everybody = async || {
        let mut report = history.check();
        while report.by_who.len() < 9 || report.fewest() < 5 {
            let asked = monotonic_now();
            soon("java gets in", java.lock()).await.unwrap();
            // A part of the hold, as far as Rust can tell: enough to see an overlap.
            let (granted, ended) = (monotonic_now(), Some(monotonic_now()));
            history.add(Hold { key: KEY.to_owned(), who: "java".to_owned(), token: None, asked, granted, ended });
            soon("java leaves", java.unlock()).await.unwrap();
            report = history.check();
        }
    };
    tokio::time::timeout(3 * PATIENCE, everybody()).await.expect("everybody gets in five times");
    tasks.end().await;
    let report = history.check();
    println!("{report}{:?}", report.by_who);
    report.assert_clean();
}
