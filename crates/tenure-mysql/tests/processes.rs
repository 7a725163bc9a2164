//! Several processes on one server: they compete for a lock, and some are killed or stopped while they hold it or wait for it.

mod support;

use libtest_mimic::{Arguments, Failed, Trial};
use std::process::Command;
use std::time::{Duration, Instant};
use support::{blocked, client_of, eventually, gets_in, ms, soon, until_blocked};
use tenure_core::Store;
use tenure_testkit::history::boottime_now;
use tenure_testkit::taker::{Job, Taker, if_taker};
use tenure_testkit::{History, MariaDbServer};

fn store(url: &str) -> Store {
    support::backend(url).into()
}

type Case = fn() -> Result<(), Failed>;

fn main() {
    if_taker(store);
    let cases: [(&str, Case); 4] = [
        ("a_killed_holder_frees_its_lock_at_once", killed_holder),
        ("a_stopped_holder_frees_its_lock_after_its_lease", stopped_holder),
        ("a_killed_wait_ends_in_the_server", killed_wait),
        ("four_processes_of_eight_tasks_share_one_lock", race),
    ];
    let trials = cases.into_iter().map(|(name, case)| Trial::test(name, case)).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn on_runtime<T>(work: impl Future<Output = T>) -> Result<T, Failed> {
    Ok(tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?.block_on(work))
}

/// A row lock ends with its connection: nobody has to wait for the lease.
fn killed_holder() -> Result<(), Failed> {
    let server = MariaDbServer::start();
    let lease = Duration::from_secs(30);
    let mut taker = Taker::start(&Job::Hold { url: server.url(), key: "killed".into(), lease });
    let killed = taker.granted();
    on_runtime(async {
        let client = client_of(&server).await;
        let lock = client.lock("killed").unwrap();
        assert!(lock.try_lock().await.unwrap().is_none(), "the taker holds the lock");
        let waiting = tokio::spawn({
            let lock = lock.clone();
            async move { lock.lock().await.unwrap() }
        });
        until_blocked(&server, 1).await;
        taker.kill();
        let began = Instant::now();
        let guard = soon("who waits gets in", waiting).await.unwrap();
        let took = began.elapsed();
        assert!(took <= Duration::from_secs(3), "freed only after {took:?}");
        assert!(guard.token() > killed, "a later holder has a larger token");
        guard.release().await.unwrap();
    })
}

/// Its connection is open and silent: the server waits for a lease, and no longer.
fn stopped_holder() -> Result<(), Failed> {
    let server = MariaDbServer::start();
    let lease = Duration::from_secs(2);
    let mut taker = Taker::start(&Job::Hold { url: server.url(), key: "stopped".into(), lease });
    let stopped = taker.granted();
    on_runtime(async {
        let client = client_of(&server).await;
        let lock = client.lock("stopped").unwrap();
        let waiting = tokio::spawn(async move { lock.lock().await.unwrap() });
        until_blocked(&server, 1).await;
        let told = Command::new("kill").args(["-STOP", &taker.id().to_string()]).status().unwrap();
        assert!(told.success());
        let began = Instant::now();
        let guard = soon("who waits gets in", waiting).await.unwrap();
        let took = began.elapsed();
        assert!(took <= lease + ms(2500), "freed only after {took:?}");
        assert!(guard.token() > stopped, "a later holder has a larger token");
        // What it does when it goes on costs nobody the lock.
        assert!(Command::new("kill").args(["-CONT", &taker.id().to_string()]).status().unwrap().success());
        tokio::time::sleep(lease).await;
        assert!(guard.is_held());
        guard.renew().await.unwrap();
        guard.release().await.unwrap();
    })
}

fn killed_wait() -> Result<(), Failed> {
    let server = MariaDbServer::start();
    on_runtime(async {
        let (client, other) = (client_of(&server).await, client_of(&server).await);
        let guard = gets_in(&client, "waited-for").await;
        let hold = Job::Hold { url: server.url(), key: "waited-for".into(), lease: Duration::from_secs(30) };
        let mut takers = [Taker::start(&hold), Taker::start(&hold)];
        until_blocked(&server, 2).await;
        for taker in &mut takers {
            taker.kill();
        }
        // A statement that waits for a row does not look whether anybody listens, until its own five seconds are over.
        eventually("nobody waits", Duration::from_secs(8), || blocked(&server).is_empty()).await;
        assert!(guard.is_held());
        guard.release().await.unwrap();
        gets_in(&other, "waited-for").await.release().await.unwrap();
    })
}

/// Nobody overlaps, nobody is forgotten, and tokens rise.
fn race() -> Result<(), Failed> {
    const PROCESSES: usize = 4;
    const TASKS: usize = 8;
    let server = MariaDbServer::start();
    let race = Job::Race {
        url: server.url(),
        key: "race".into(),
        tasks: TASKS,
        section: ms(5),
        begin: boottime_now() + 1_000_000_000,
        length: Duration::from_secs(4),
    };
    let takers: Vec<Taker> = (0..PROCESSES).map(|_| Taker::start(&race)).collect();
    let history = History::new();
    for taker in takers {
        history.add_lines(&taker.finish()).map_err(Failed::from)?;
    }
    let report = history.check();
    println!("{report}");
    report.assert_clean().assert_at_least(100);
    assert_eq!(report.by_who.len(), PROCESSES * TASKS, "somebody never got in: {report}");
    Ok(())
}
