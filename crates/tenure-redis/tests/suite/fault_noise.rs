//! Disturbances that a healthy client rides out: the server forgets scripts, kills connections, or pauses, over and over.

use crate::support::{Contention, PATIENCE, client, litter, ms};
use std::time::{Duration, Instant};
use tenure_testkit::RedisServer;

/// Runs contention while something is done to the server again and again: nobody sees an error, nobody starves.
async fn under(every: Duration, disturb: impl Fn(&RedisServer)) {
    let server = RedisServer::start();
    let clients = [client(&server.url()).await, client(&server.url()).await, client(&server.url()).await];
    let contention = Contention::start(&clients.each_ref());
    let end = Instant::now() + ms(4000);
    let mut times = 0;
    while Instant::now() < end {
        disturb(&server);
        times += 1;
        tokio::time::sleep(every).await;
    }
    contention.all_get_in(PATIENCE).await;
    let (report, tally) = contention.end().await;
    eprintln!("disturbed {times} times");
    report.assert_clean().assert_at_least(12);
    assert!(report.fewest() >= 3, "somebody starved\n{report}");
    assert!(report.wait_max() < ms(4000), "somebody starved\n{report}");
    assert!(tally.losses.is_empty(), "{:?}", tally.losses);
    assert!(tally.errors.is_empty(), "{:?}", tally.errors);
    for client in clients {
        client.close(PATIENCE).await.unwrap();
    }
    assert_eq!(litter(&server), [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scripts_are_forgotten() {
    under(ms(5), |server| drop(server.command(&["SCRIPT", "FLUSH"]))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_are_killed() {
    under(ms(100), |server| {
        server.command(&["CLIENT", "KILL", "TYPE", "normal"]);
        server.command(&["CLIENT", "KILL", "TYPE", "pubsub"]);
    })
    .await;
}

/// The pause is over before a lease is, and long enough for answers to be given up.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_server_pauses() {
    under(ms(700), |server| drop(server.command(&["CLIENT", "PAUSE", "500", "ALL"]))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_of_it() {
    let turn = std::sync::atomic::AtomicUsize::new(0);
    under(ms(150), |server| {
        match turn.fetch_add(1, std::sync::atomic::Ordering::Relaxed) % 4 {
            0 => server.command(&["CLIENT", "PAUSE", "100", "ALL"]),
            1 => server.command(&["CLIENT", "KILL", "TYPE", "normal"]),
            2 => server.command(&["SCRIPT", "FLUSH"]),
            _ => server.command(&["CLIENT", "KILL", "TYPE", "pubsub"]),
        };
    })
    .await;
}
