//! A server of a majority goes, of which the client warns: on the thread that renews.

use crate::LEASE;
use crate::log::StuckLog;
use tenure::Options;
use tenure_testkit::RedisServer;
use tokio::time::timeout;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_hangs_when_a_server_goes_costs_no_lock() {
    let servers: Vec<_> = (0..3).map(|_| RedisServer::start()).collect();
    let urls: Vec<_> = servers.iter().map(RedisServer::url).collect();
    let log = StuckLog::start().await;
    let client = tenure::connect(&format!("redlock:{}", urls.join(","))).await.unwrap();
    let guard = client.lock("k").unwrap().lock_with(Options::new().lease(LEASE)).await.unwrap();
    servers[2].kill();
    log.stuck().await;
    assert!(timeout(LEASE * 3, guard.lost()).await.is_err(), "it was not renewed");
    assert!(guard.is_held());
    guard.release().await.unwrap();
}
