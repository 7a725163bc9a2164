//! The MySQL backend against the specification, in real time.

use std::sync::Arc;
use tenure_mysql::{Config, MySql};
use tenure_testkit::MariaDbServer;
use tenure_testkit::oracle::{KINDS, Pace, replay, replay_known, seed};
use tokio::task::JoinSet;

/// How many replays of each kind there are at a time: all together no more than one server answers within milliseconds.
const LANES: u64 = 2;
/// How many steps each of them takes.
const STEPS: usize = 200;

/// One that need not survive anything, and so answers in time.
fn server() -> MariaDbServer {
    MariaDbServer::builder().option("innodb_flush_log_at_trx_commit=0").start()
}

fn backend(server: &MariaDbServer) -> MySql {
    Config::from_url(&server.url()).expect("the server's own url").connections(400).into_backend()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mysql_answers_as_specified() {
    let (server, seed) = (server(), seed());
    let backend = Arc::new(backend(&server));
    let mut replays = JoinSet::new();
    for (kind, lane) in KINDS.into_iter().flat_map(|kind| (0..LANES).map(move |lane| (kind, lane))) {
        let backend = Arc::clone(&backend);
        replays.spawn(async move { replay(&*backend, kind, &Pace::Real, STEPS, seed.wrapping_add(lane)).await });
    }
    while let Some(tally) = replays.join_next().await {
        tally.unwrap_or_else(|failed| std::panic::resume_unwind(failed.into_panic()));
    }
}

#[tokio::test]
async fn mysql_answers_known_histories_as_specified() {
    let server = server();
    replay_known(&backend(&server), &Pace::Real).await;
}
