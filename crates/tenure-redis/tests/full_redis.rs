//! The long runs on Redis. They are ignored unless `TENURE_FULL` is set, which `cargo xtask test --full` does; each
//! prints one line for the table of results.

use libtest_mimic::{Arguments, Failed, Trial};
use std::time::Duration;
use tenure_core::{Client, Guard, Options, Store};
use tenure_testkit::history::boottime_now;
use tenure_testkit::taker::{Job, Taker, if_taker};
use tenure_testkit::{History, RedisServer};

fn store(url: &str) -> Store {
    tenure_redis::Config::from_url(url).expect("a redis url").into_backend().into()
}

async fn client(server: &RedisServer, options: Options) -> Client {
    Client::builder().options(options).connect(store(&server.url())).await.expect("a client")
}

type Run = fn() -> Result<(), Failed>;

fn main() {
    if_taker(store);
    let full = tenure_testkit::figures::is_full();
    let runs: [(&str, Run); 5] =
        [("race", race), ("handoffs", handoffs), ("cancels", cancels), ("holds", holds), ("outages", outages)];
    let trials = runs.into_iter().map(|(name, run)| Trial::test(name, run).with_ignored_flag(!full)).collect();
    libtest_mimic::run(&Arguments { test_threads: Some(1), ..Arguments::from_args() }, trials).exit();
}

fn on_runtime<T>(work: impl Future<Output = T>) -> Result<T, Failed> {
    Ok(tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?.block_on(work))
}

/// Eight processes of sixteen tasks on one key for two minutes.
fn race() -> Result<(), Failed> {
    let server = RedisServer::start();
    let race = Job::Race {
        url: server.url(),
        key: "race".into(),
        tasks: 16,
        section: Duration::from_millis(10),
        begin: boottime_now() + 2_000_000_000,
        length: Duration::from_secs(120),
    };
    let takers: Vec<Taker> = (0..8).map(|_| Taker::start(&race)).collect();
    let history = History::new();
    for taker in takers {
        history.add_lines(&taker.finish()).map_err(Failed::from)?;
    }
    let report = history.check();
    report.assert_clean().assert_at_least(5_000);
    println!(
        "\nFULL | race, 8 processes × 16 tasks, 120 s | {} holds | 0 overlaps, wait p50 {:?} p99 {:?} max {:?}, shares {}..{}",
        report.holds,
        report.wait_p50(),
        report.wait_p99(),
        report.wait_max(),
        report.fewest(),
        report.most()
    );
    Ok(())
}

/// One lock handed from task to task over four clients, with nothing to do in between.
fn handoffs() -> Result<(), Failed> {
    const HANDOFFS: usize = 100_000;
    let server = RedisServer::start();
    let report = on_runtime(async {
        let history = History::new();
        let mut running = Vec::new();
        for _ in 0..4 {
            let client = client(&server, Options::new()).await;
            for task in 0..4 {
                let (lock, history) = (client.lock("handed").expect("a key"), history.clone());
                let who = format!("{}/{task}", client.id());
                running.push(tokio::spawn(async move {
                    for _ in 0..HANDOFFS / 16 {
                        let asking = history.asking("handed", &who);
                        let guard = lock.lock().await.expect("the lock");
                        let hold = asking.granted(guard.token());
                        hold.ended();
                        guard.release().await.expect("a release");
                    }
                }));
            }
        }
        for task in running {
            task.await.expect("a task");
        }
        history.check()
    })?;
    report.assert_clean().assert_at_least(HANDOFFS);
    // A lost wake-up would show as a wait of the safety poll's second.
    println!(
        "\nFULL | hand-offs, 4 clients × 4 tasks, empty section | {} | 0 overlaps, wait p50 {:?} p99 {:?} max {:?}",
        report.holds,
        report.wait_p50(),
        report.wait_p99(),
        report.wait_max()
    );
    Ok(())
}

/// Acquires cancelled at random moments, while others use the lock.
fn cancels() -> Result<(), Failed> {
    const CANCELS: u32 = 20_000;
    let server = RedisServer::start();
    on_runtime(async {
        let options = Options::new().lease(Duration::from_secs(120));
        let (one, other) = (client(&server, options.clone()).await, client(&server, options.clone()).await);
        for cancel in 0..CANCELS {
            let client = if cancel % 2 == 0 { &one } else { &other };
            let lock = client.lock(&format!("cancelled:{}", cancel % 7)).expect("a key");
            let pause = Duration::from_micros(fastrand::u64(0..1500));
            let _ = tokio::time::timeout(pause, async { lock.lock().await.expect("the lock").release().await }).await;
        }
        // What is still to be cleaned up is, when a close says so; it is long before any lease ends.
        for client in [&one, &other] {
            client.close(Duration::from_secs(60)).await.expect("all is cleaned up");
        }
        let third = client(&server, options).await;
        for key in 0..7 {
            let lock = third.lock(&format!("cancelled:{key}")).expect("a key");
            let guard = lock.try_lock().await.expect("an answer").expect("a cancelled acquire left its lock held");
            guard.release().await.expect("a release");
        }
    })?;
    println!("\nFULL | cancelled acquires, 7 keys, 2 clients | {CANCELS} | none left held");
    Ok(())
}

/// A hundred thousand locks of one client, renewed for two minutes.
fn holds() -> Result<(), Failed> {
    const LOCKS: usize = 100_000;
    let server = RedisServer::start();
    let (kept, calls) = on_runtime(async {
        let client = client(&server, Options::new()).await;
        let mut guards: Vec<Guard> = Vec::with_capacity(LOCKS);
        for lock in 0..LOCKS {
            guards.push(client.lock(&format!("held:{lock}")).expect("a key").lock().await.expect("the lock"));
        }
        server.reset_stats();
        // The time is the test: four leases long.
        tokio::time::sleep(Duration::from_secs(120)).await;
        let calls = server.command_calls("evalsha");
        (guards.iter().filter(|guard| guard.is_held()).count(), calls)
    })?;
    assert_eq!(kept, LOCKS, "locks were lost");
    println!("\nFULL | locks held by one client, lease 30 s, 120 s | {LOCKS} | 0 lost, {calls} renewal calls");
    Ok(())
}

/// The server is stopped for a while, over and over, under contention.
fn outages() -> Result<(), Failed> {
    const OUTAGES: u32 = 40;
    let server = RedisServer::start();
    let report = on_runtime(async {
        let history = History::new();
        let end = boottime_now() + 120_000_000_000;
        let mut running = Vec::new();
        for _ in 0..3 {
            let client = client(&server, Options::new().lease(Duration::from_secs(1))).await;
            for task in 0..2 {
                let (lock, history) = (client.lock("stopped").expect("a key"), history.clone());
                let who = format!("{}/{task}", client.id());
                running.push(tokio::spawn(async move {
                    while boottime_now() < end {
                        let asking = history.asking("stopped", &who);
                        let Ok(guard) = lock.lock_timeout(Duration::from_secs(20)).await else { continue };
                        let hold = asking.granted(guard.token());
                        // Stops at the end of its work or of its lease, whichever comes first.
                        let _ = guard.run(tokio::time::sleep(Duration::from_millis(20))).await;
                        hold.ended();
                        let _ = guard.release().await;
                    }
                }));
            }
        }
        for _ in 0..OUTAGES {
            tokio::time::sleep(Duration::from_millis(fastrand::u64(200..1500))).await;
            server.pause();
            tokio::time::sleep(Duration::from_millis(fastrand::u64(100..2500))).await;
            server.resume();
        }
        for task in running {
            task.await.expect("a task");
        }
        history.check()
    })?;
    report.assert_clean().assert_at_least(500);
    println!(
        "\nFULL | outages (SIGSTOP 0.1–2.5 s), lease 1 s, 3 clients × 2 tasks | {OUTAGES} outages, {} holds | 0 overlaps, \
         tokens rise",
        report.holds
    );
    Ok(())
}
