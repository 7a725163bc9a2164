//! What a lock costs while two of five servers hang, beside what it costs while none does.

use super::set::{PATIENCE, Set};
use std::time::{Duration, Instant};
use tenure_core::Lock;
use tenure_testkit::figures::figure;

const SERVERS: usize = 5;
const CYCLES: usize = 20;

/// Takes and releases in rounds, on five servers that live and on five of which two hang: what disturbs the machine
/// disturbs both.
pub(crate) async fn costs_little(rounds: usize) -> f64 {
    let (healthy, hung) = (Set::start(SERVERS), Set::start(SERVERS));
    let mut sides = Vec::new();
    for set in [&healthy, &hung] {
        let lock = set.client().await.lock("k").unwrap();
        // Not counted: connections are opened, and scripts become known.
        cycles(&lock).await;
        sides.push((lock, Vec::new()));
    }
    hung.servers[..SERVERS / 2].iter().for_each(tenure_testkit::RedisServer::pause);
    for round in 0..rounds {
        // Neither always comes first.
        for at in [round % 2, 1 - round % 2] {
            let (lock, took) = &mut sides[at];
            took.extend(cycles(lock).await);
        }
    }
    let [of_healthy, of_hung] = [0, 1].map(|at| median(&mut sides[at].1));
    let ratio = of_hung.as_secs_f64() / of_healthy.as_secs_f64();
    let line = format!(
        "an uncontended lock and its release: {of_healthy:?} on five servers, {of_hung:?} when two of them hang, {ratio:.2} times"
    );
    figure(ratio < 1.2, &line);
    ratio
}

async fn cycles(lock: &Lock) -> Vec<Duration> {
    let mut took = Vec::with_capacity(CYCLES);
    for _ in 0..CYCLES {
        let began = Instant::now();
        lock.lock_timeout(PATIENCE).await.expect("the lock").release().await.expect("a release");
        took.push(began.elapsed());
    }
    took
}

fn median(all: &mut [Duration]) -> Duration {
    all.sort_unstable();
    all[all.len() / 2]
}
