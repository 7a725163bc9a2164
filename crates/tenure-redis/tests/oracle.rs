//! The Redis backend against the specification, in real time.

use std::sync::Arc;
use tenure_core::Kind;
use tenure_redis::{Config, Layout, Redis};
use tenure_testkit::RedisServer;
use tenure_testkit::oracle::{KINDS, Pace, STEPS, replay_known, replay_side_by_side, seed};

fn backend(server: &RedisServer) -> Redis {
    config(server).into_backend()
}

fn config(server: &RedisServer) -> Config {
    Config::from_url(&server.url()).expect("the server's own url")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_answers_as_specified() {
    let server = RedisServer::start();
    let backend = Arc::new(backend(&server));
    let seed = seed();
    for kind in KINDS {
        replay_side_by_side(&backend, kind, STEPS, seed).await;
    }
}

/// Among Tenure's clients, Redisson's layout makes no difference.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_answers_as_specified_in_redissons_layout() {
    let server = RedisServer::start();
    let backend = Arc::new(config(&server).layout(Layout::Redisson).into_backend());
    let seed = seed();
    for kind in [Kind::Fair, Kind::Read] {
        replay_side_by_side(&backend, kind, STEPS, seed).await;
    }
}

#[tokio::test]
async fn redis_answers_known_histories_as_specified() {
    let server = RedisServer::start();
    replay_known(&backend(&server), &Pace::Real).await;
}
