//! Several processes on one server: they compete for a lock, and one is killed while it holds it.

use libtest_mimic::{Arguments, Failed, Trial};
use std::time::{Duration, Instant};
use tenure_core::{Client, Store};
use tenure_testkit::figures::figure;
use tenure_testkit::history::{Hold, boottime_now};
use tenure_testkit::taker::{Job, Taker, if_taker};
use tenure_testkit::{History, RedisServer};

fn store(url: &str) -> Store {
    tenure_redis::Config::from_url(url).expect("a redis url").into_backend().into()
}

fn main() {
    if_taker(store);
    let trials = vec![
        Trial::test("a_killed_holder_frees_its_lock_within_its_lease", killed_holder),
        Trial::test("eight_processes_of_sixteen_tasks_share_one_lock", race),
        Trial::test("eight_processes_that_are_killed_at_random_share_five_permits", permits),
    ];
    // One after the other: the race needs both cores.
    libtest_mimic::run(&Arguments { test_threads: Some(1), ..Arguments::from_args() }, trials).exit();
}

fn killed_holder() -> Result<(), Failed> {
    let server = RedisServer::start();
    let lease = Duration::from_millis(1500);
    let mut taker = Taker::start(&Job::Hold { url: server.url(), key: "killed".into(), lease });
    let killed = taker.granted();
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(async {
        let client = Client::builder().connect(store(&server.url())).await?;
        let lock = client.lock("killed")?;
        assert!(lock.try_lock().await?.is_none(), "the taker holds the lock");
        let waiting = tokio::spawn({
            let lock = lock.clone();
            async move { lock.lock().await }
        });
        taker.kill();
        let began = Instant::now();
        let guard = waiting.await??;
        let took = began.elapsed();
        assert!(took <= lease + Duration::from_millis(250), "freed only after {took:?}");
        assert!(guard.token() > killed, "a later holder has a larger token");
        guard.release().await?;
        Ok(())
    })
}

/// 8 × 16 tasks on one key with sections of 10 ms: nobody overlaps, nobody is forgotten, and the lock is rarely idle.
fn race() -> Result<(), Failed> {
    const PROCESSES: usize = 8;
    const TASKS: usize = 16;
    let server = RedisServer::start();
    let length = Duration::from_secs(30);
    let begin = boottime_now() + 2_000_000_000;
    let race = Job::Race {
        url: server.url(),
        key: "race".into(),
        tasks: TASKS,
        section: Duration::from_millis(10),
        begin,
        length,
    };
    let takers: Vec<Taker> = (0..PROCESSES).map(|_| Taker::start(&race)).collect();
    let history = History::new();
    for taker in takers {
        history.add_lines(&taker.finish()).map_err(Failed::from)?;
    }
    let report = history.check();
    report.assert_clean().assert_at_least(1000);

    let mut holds: Vec<Hold> = history.holds();
    holds.sort_by_key(|hold| hold.granted);
    let end = begin + u64::try_from(length.as_nanos())?;
    let ended = |hold: &Hold| hold.ended.unwrap_or(hold.granted);
    // While everyone still competes: after the end the last waiters only drain.
    let busy: u64 = holds.iter().filter(|hold| hold.granted < end).map(|hold| ended(hold) - hold.granted).sum();
    let used = seconds(busy) / seconds(end - holds[0].granted);
    let section = seconds(busy) / f64::from(u32::try_from(holds.iter().filter(|hold| hold.granted < end).count())?);
    let idle = holds.windows(2).map(|pair| pair[1].granted.saturating_sub(ended(&pair[0]))).max().unwrap_or(0);
    #[expect(clippy::cast_precision_loss, reason = "a small number")]
    let ideal = section * (PROCESSES * TASKS) as f64;
    let longest = report.wait_max().as_secs_f64();
    let line = format!(
        "{} holds, {:.1} % of the ideal queue, section {:.2} ms, longest idle {:.1} ms, wait p50 {:?} p99 {:?} max {:.2} \
         ideals, shares {}..{}",
        report.holds,
        used * 100.0,
        section * 1e3,
        seconds(idle) * 1e3,
        report.wait_p50(),
        report.wait_p99(),
        longest / ideal,
        report.fewest(),
        report.most(),
    );
    assert_eq!(report.by_who.len(), PROCESSES * TASKS, "somebody never got in: {line}");
    assert!(report.most() <= 3 * report.fewest(), "shares differ too much: {line}");
    assert!(longest <= 4.0 * ideal, "somebody waited too long: {line}");
    // A lost wake-up costs the safety poll of a second.
    figure(used >= 0.85 && seconds(idle) < 0.7, &line);
    Ok(())
}

fn permits() -> Result<(), Failed> {
    let server = RedisServer::start();
    let holds = tokio::runtime::Runtime::new()?.block_on(tenure_testkit::taker::permits::race(&server.url(), store));
    assert!(holds > 50, "{holds} holds");
    println!("{holds} holds");
    Ok(())
}

fn seconds(nanos: u64) -> f64 {
    Duration::from_nanos(nanos).as_secs_f64()
}
