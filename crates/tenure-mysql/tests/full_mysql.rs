//! The long runs on MariaDB. They are ignored unless `TENURE_FULL` is set, which `cargo xtask test --full` does; each prints
//! one line for the table of results.

mod support;

use libtest_mimic::{Arguments, Failed, Trial};
use std::sync::Arc;
use std::time::Duration;
use support::{client_for, client_of, ms, soon};
use tenure_core::{Guard, Options, Store};
use tenure_testkit::history::boottime_now;
use tenure_testkit::taker::{Job, Taker, if_taker};
use tenure_testkit::{History, MariaDbServer};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

fn store(url: &str) -> Store {
    support::backend(url).into()
}

type Run = fn() -> Result<(), Failed>;

fn main() {
    if_taker(store);
    let full = tenure_testkit::figures::is_full();
    let runs: [(&str, Run); 6] = [
        ("race", race),
        ("first_comers", first_comers),
        ("cancels", cancels),
        ("holds", holds),
        ("outages", outages),
        ("permits", permits),
    ];
    let trials = runs.into_iter().map(|(name, run)| Trial::test(name, run).with_ignored_flag(!full)).collect();
    libtest_mimic::run(&Arguments { test_threads: Some(1), ..Arguments::from_args() }, trials).exit();
}

fn on_runtime<T>(work: impl Future<Output = T>) -> Result<T, Failed> {
    Ok(tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?.block_on(work))
}

/// Eight processes of sixteen tasks on one key for a minute.
fn race() -> Result<(), Failed> {
    let server = MariaDbServer::start();
    let race = Job::Race {
        url: server.url(),
        key: "race".into(),
        tasks: 16,
        section: ms(10),
        begin: boottime_now() + 2_000_000_000,
        length: Duration::from_secs(60),
    };
    let takers: Vec<Taker> = (0..8).map(|_| Taker::start(&race)).collect();
    let history = History::new();
    for taker in takers {
        history.add_lines(&taker.finish()).map_err(Failed::from)?;
    }
    let report = history.check();
    report.assert_clean().assert_at_least(1_000);
    assert_eq!(report.by_who.len(), 8 * 16, "somebody never got in: {report}");
    println!(
        "\nFULL | MariaDB, race, 8 processes × 16 tasks, 60 s | {} holds | 0 overlaps, wait p50 {:?} p99 {:?} max {:?}, \
         shares {}..{}",
        report.holds,
        report.wait_p50(),
        report.wait_p99(),
        report.wait_max(),
        report.fewest(),
        report.most()
    );
    Ok(())
}

/// Two hundred come at once to a lock that is new, over and over.
fn first_comers() -> Result<(), Failed> {
    const COMERS: usize = 200;
    const CLIENTS: usize = 40;
    const ROUNDS: usize = 50;
    let server = MariaDbServer::builder().option("max_connections=1000").start();
    let report = on_runtime(async {
        let history = History::new();
        let mut clients = Vec::new();
        for _ in 0..CLIENTS {
            clients.push(client_of(&server).await);
        }
        for round in 0..ROUNDS {
            let (key, begin) = (format!("new:{round}"), Arc::new(Barrier::new(COMERS)));
            let mut running = JoinSet::new();
            for comer in 0..COMERS {
                let (lock, history) = (clients[comer % CLIENTS].lock(&key).expect("a key"), history.clone());
                let begin = Arc::clone(&begin);
                running.spawn(async move {
                    begin.wait().await;
                    let asking = history.asking(lock.key().as_str(), &comer.to_string());
                    let guard = lock.lock().await.expect("the lock");
                    asking.granted(guard.token()).ended();
                    guard.release().await.expect("a release");
                });
            }
            while let Some(done) = soon("everyone is served", running.join_next()).await {
                done.expect("a task");
            }
        }
        history.check()
    })?;
    report.assert_clean().assert_at_least(COMERS * ROUNDS);
    println!(
        "\nFULL | MariaDB, {COMERS} first comers of {CLIENTS} clients, {ROUNDS} new keys | {} holds | 0 overlaps, 0 errors, \
         wait p50 {:?} max {:?}",
        report.holds,
        report.wait_p50(),
        report.wait_max()
    );
    Ok(())
}

/// Acquires cancelled at random moments, while others use the lock.
fn cancels() -> Result<(), Failed> {
    const CANCELS: u32 = 5_000;
    let server = MariaDbServer::start();
    on_runtime(async {
        let lease = Duration::from_secs(120);
        let (one, other) = (client_for(&server.url(), lease).await, client_for(&server.url(), lease).await);
        for cancel in 0..CANCELS {
            let client = if cancel % 2 == 0 { &one } else { &other };
            let lock = client.lock(&format!("cancelled:{}", cancel % 7)).expect("a key");
            let pause = Duration::from_micros(fastrand::u64(0..8_000));
            let _ = tokio::time::timeout(pause, async { lock.lock().await.expect("the lock").release().await }).await;
        }
        for client in [&one, &other] {
            client.close(Duration::from_secs(60)).await.expect("all is cleaned up");
        }
        let third = client_of(&server).await;
        for key in 0..7 {
            let lock = third.lock(&format!("cancelled:{key}")).expect("a key");
            let guard = lock.try_lock().await.expect("an answer").expect("a cancelled acquire left its lock held");
            guard.release().await.expect("a release");
        }
    })?;
    println!("\nFULL | MariaDB, cancelled acquires, 7 keys, 2 clients | {CANCELS} | none left held");
    Ok(())
}

/// As many locks of one client as it may have connections, renewed for a minute.
fn holds() -> Result<(), Failed> {
    const LOCKS: usize = 500;
    let server = MariaDbServer::builder().option("max_connections=700").start();
    let kept = on_runtime(async {
        let config = tenure_mysql::Config::from_url(&server.url()).expect("a url").connections(LOCKS);
        let client = tenure_core::Client::builder()
            .options(Options::new().lease(Duration::from_secs(15)))
            .connect(config.into_backend())
            .await
            .expect("a client");
        let mut guards: Vec<Guard> = Vec::with_capacity(LOCKS);
        for lock in 0..LOCKS {
            guards.push(client.lock(&format!("held:{lock}")).expect("a key").lock().await.expect("the lock"));
        }
        // The time is the test: four leases long.
        tokio::time::sleep(Duration::from_secs(60)).await;
        guards.iter().filter(|guard| guard.is_held()).count()
    })?;
    assert_eq!(kept, LOCKS, "locks were lost");
    println!("\nFULL | MariaDB, row locks held by one client, lease 15 s, 60 s | {LOCKS} | 0 lost");
    Ok(())
}

/// The server is stopped for a while, over and over, under contention. A fair lock is a record with a lease: nobody overlaps.
fn outages() -> Result<(), Failed> {
    const OUTAGES: u32 = 30;
    let server = MariaDbServer::start();
    let report = on_runtime(async {
        let history = History::new();
        let end = boottime_now() + 90_000_000_000;
        let mut running = Vec::new();
        for _ in 0..3 {
            let client = client_for(&server.url(), Duration::from_secs(1)).await;
            for task in 0..2 {
                let (lock, history) = (client.fair("stopped").expect("a key"), history.clone());
                let who = format!("{}/{task}", client.id());
                running.push(tokio::spawn(async move {
                    while boottime_now() < end {
                        let asking = history.asking("stopped", &who);
                        let Ok(guard) = lock.lock_timeout(Duration::from_secs(20)).await else { continue };
                        let hold = asking.granted(guard.token());
                        // Stops at the end of its work or of its lease, whichever comes first.
                        let _ = guard.run(tokio::time::sleep(ms(20))).await;
                        hold.ended();
                        let _ = guard.release().await;
                    }
                }));
            }
        }
        for _ in 0..OUTAGES {
            tokio::time::sleep(ms(fastrand::u64(200..1500))).await;
            server.pause();
            tokio::time::sleep(ms(fastrand::u64(100..2500))).await;
            server.resume();
        }
        for task in running {
            task.await.expect("a task");
        }
        history.check()
    })?;
    report.assert_clean().assert_at_least(200);
    println!(
        "\nFULL | MariaDB, outages (SIGSTOP 0.1–2.5 s), fair lock, lease 1 s, 3 clients × 2 tasks | {OUTAGES} outages, {} holds \
         | 0 overlaps, tokens rise",
        report.holds
    );
    Ok(())
}

/// Processes that are killed at random share five permits.
fn permits() -> Result<(), Failed> {
    let server = MariaDbServer::start();
    let holds = on_runtime(tenure_testkit::taker::permits::race(&server.url(), store))?;
    assert!(holds > 50, "{holds} holds");
    println!(
        "\nFULL | MariaDB, 8 processes that are killed at random share five permits | {holds} holds | never too many"
    );
    Ok(())
}
