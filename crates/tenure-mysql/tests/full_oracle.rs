//! Random steps against the kernel, very many. Ignored unless `TENURE_FULL` is set, which `cargo xtask test --full` does.

use libtest_mimic::{Arguments, Trial};
use std::sync::Arc;
use tenure_mysql::Config;
use tenure_testkit::MariaDbServer;
use tenure_testkit::oracle::{KINDS, Pace, Tally, replay, report, seed};
use tokio::task::JoinSet;

/// How many replays there are at a time: no more than one server answers within milliseconds.
const LANES: u64 = 16;
/// How many steps each of them takes.
const STEPS: usize = 1_000;

fn main() {
    let long = Trial::test("random_steps", || {
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?.block_on(replay_all());
        Ok(())
    });
    let trials = vec![long.with_ignored_flag(!tenure_testkit::figures::is_full())];
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

async fn replay_all() {
    // It need not survive anything, and so answers in time.
    let server = MariaDbServer::builder().option("innodb_flush_log_at_trx_commit=0").start();
    let config = Config::from_url(&server.url()).expect("the server's own url");
    let backend = Arc::new(config.connections(400).into_backend());
    for kind in KINDS {
        let (seed, mut replays, mut all) = (seed(), JoinSet::new(), Tally::default());
        for lane in 0..LANES {
            let backend = Arc::clone(&backend);
            replays.spawn(async move { replay(&*backend, kind, &Pace::Real, STEPS, seed.wrapping_add(lane)).await });
        }
        while let Some(tally) = replays.join_next().await {
            let tally = tally.unwrap_or_else(|failed| std::panic::resume_unwind(failed.into_panic()));
            all.compared += tally.compared;
            all.skipped += tally.skipped;
            all.crossed += tally.crossed;
        }
        report("MariaDB", kind, all);
    }
}
