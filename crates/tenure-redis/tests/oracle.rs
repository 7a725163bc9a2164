//! The Redis backend against the specification, in real time.

use std::sync::Arc;
use tenure_redis::{Config, Redis};
use tenure_testkit::RedisServer;
use tenure_testkit::oracle::{Pace, replay, replay_known, seed};

/// Replays that run side by side: most of a replay is waiting for leases to end.
const LANES: u64 = 6;
const STEPS: usize = 250;

fn backend(server: &RedisServer) -> Redis {
    Config::from_url(&server.url()).expect("the server's own url").into_backend()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_answers_as_specified() {
    let server = RedisServer::start();
    let backend = Arc::new(backend(&server));
    let seed = seed();
    let lanes: Vec<_> = (0..LANES)
        .map(|lane| {
            let backend = Arc::clone(&backend);
            tokio::spawn(async move { replay(&*backend, &Pace::Real, STEPS, seed.wrapping_add(lane)).await })
        })
        .collect();
    for lane in lanes {
        let tally = lane.await.unwrap();
        assert!(tally.compared * 5 > STEPS * 4, "{tally:?}");
    }
}

#[tokio::test]
async fn redis_answers_known_histories_as_specified() {
    let server = RedisServer::start();
    replay_known(&backend(&server), &Pace::Real).await;
}
