//! The long runs on SQLite. They are ignored unless `TENURE_FULL` is set, which `cargo xtask test --full` does; each
//! prints one line for the table of results.

mod support;

use libtest_mimic::{Arguments, Failed, Trial};
use std::time::Duration;
use support::relay::Relay;
use support::{Place, store};
use tenure_core::{Client, Guard, Options};
use tenure_testkit::History;
use tenure_testkit::history::boottime_now;
use tenure_testkit::taker::{Job, Taker, if_taker};

type Run = fn() -> Result<(), Failed>;

fn main() {
    if_taker(store);
    let full = tenure_testkit::figures::is_full();
    let runs: [(&str, Run); 5] =
        [("race", race), ("handoffs", handoffs), ("cancels", cancels), ("holds", holds), ("kills", kills)];
    let trials = runs.into_iter().map(|(name, run)| Trial::test(name, run).with_ignored_flag(!full)).collect();
    libtest_mimic::run(&Arguments { test_threads: Some(1), ..Arguments::from_args() }, trials).exit();
}

fn on_runtime<T>(work: impl Future<Output = T>) -> Result<T, Failed> {
    Ok(tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?.block_on(work))
}

async fn client(place: &Place, options: Options) -> Client {
    Client::builder().options(options).connect(place.backend()).await.expect("a client")
}

/// Eight processes of sixteen tasks on one key for two minutes.
fn race() -> Result<(), Failed> {
    let place = Place::new();
    let race = Job::Race {
        url: place.url(),
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
    assert_eq!(place.integrity(), "ok");
    println!(
        "\nFULL | sqlite: race, 8 processes × 16 tasks, 120 s | {} holds | 0 overlaps, wait p50 {:?} p99 {:?} max {:?}, \
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

/// One lock handed from task to task over four clients, with nothing to do in between.
fn handoffs() -> Result<(), Failed> {
    const HANDOFFS: usize = 100_000;
    let place = Place::new();
    let report = on_runtime(async {
        let history = History::new();
        let mut running = Vec::new();
        for _ in 0..4 {
            let client = client(&place, Options::new()).await;
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
    assert_eq!(place.integrity(), "ok");
    // A lost wake-up would show as a wait of the safety poll's second.
    println!(
        "\nFULL | sqlite: hand-offs, 4 clients × 4 tasks, empty section | {} | 0 overlaps, wait p50 {:?} p99 {:?} max {:?}",
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
    let place = Place::new();
    on_runtime(async {
        let options = Options::new().lease(Duration::from_secs(120));
        let (one, other) = (client(&place, options.clone()).await, client(&place, options.clone()).await);
        for cancel in 0..CANCELS {
            let client = if cancel % 2 == 0 { &one } else { &other };
            let lock = client.lock(&format!("cancelled:{}", cancel % 7)).expect("a key");
            let pause = Duration::from_micros(fastrand::u64(0..500));
            let _ = tokio::time::timeout(pause, async { lock.lock().await.expect("the lock").release().await }).await;
        }
        // What is still to be cleaned up is, when a close says so; it is long before any lease ends.
        for client in [&one, &other] {
            client.close(Duration::from_secs(60)).await.expect("all is cleaned up");
        }
        let third = client(&place, options).await;
        for key in 0..7 {
            let lock = third.lock(&format!("cancelled:{key}")).expect("a key");
            let guard = lock.try_lock().await.expect("an answer").expect("a cancelled acquire left its lock held");
            guard.release().await.expect("a release");
        }
    })?;
    println!("\nFULL | sqlite: cancelled acquires, 7 keys, 2 clients | {CANCELS} | none left held");
    Ok(())
}

/// One client that holds many locks and renews them all.
fn holds() -> Result<(), Failed> {
    const HOLDS: usize = 20_000;
    let place = Place::new();
    on_runtime(async {
        let client = client(&place, Options::new()).await;
        let mut guards: Vec<Guard> = Vec::with_capacity(HOLDS);
        for number in 0..HOLDS {
            guards.push(client.lock(&format!("held:{number}")).expect("a key").lock().await.expect("the lock"));
        }
        tokio::time::sleep(Duration::from_secs(120)).await;
        let lost = guards.iter().filter(|guard| !guard.is_held()).count();
        assert_eq!(lost, 0, "lost while they were renewed");
        assert_eq!(client.list("held:*").await.expect("a list").len(), HOLDS);
        for guard in guards {
            guard.release().await.expect("a release");
        }
    })?;
    assert_eq!(place.integrity(), "ok");
    println!("\nFULL | sqlite: locks held by one client, lease 30 s, 120 s | {HOLDS} | 0 lost");
    Ok(())
}

/// Processes that are killed at random.
fn kills() -> Result<(), Failed> {
    let relay = Relay { runners: 16, holds: 500, kills: 400 };
    let (killed_in, report) = relay.run(&Place::new())?;
    println!(
        "\nFULL | sqlite: SIGKILL at random, 16 processes × 500 holds, lease 300 ms | {} killed, {killed_in} of them in, {} \
         holds | 0 overlaps, tokens rise, the file is whole",
        relay.kills, report.holds
    );
    Ok(())
}
