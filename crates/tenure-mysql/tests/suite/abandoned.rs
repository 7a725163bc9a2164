//! Waits that nobody wants any more end in the server too.

use crate::support::{blocked, client_of, eventually, gets_in, locked_rows, ms, until_blocked};
use std::time::Duration;
use tenure_core::{Client, ErrorKind, Guard};
use tenure_testkit::MariaDbServer;
use tokio::task::JoinSet;

const WAITS: usize = 20;
/// How soon nothing of them is left.
const SOON: Duration = Duration::from_secs(4);

/// Holds so many locks that others can wait for.
async fn holds(client: &Client) -> Vec<Guard> {
    let mut guards = Vec::new();
    for number in 0..WAITS {
        guards.push(gets_in(client, &format!("k{number}")).await);
    }
    guards
}

/// All of them are waited for.
async fn all_wait(server: &MariaDbServer, client: &Client) -> JoinSet<Guard> {
    let mut waiting = JoinSet::new();
    for number in 0..WAITS {
        let lock = client.lock(&format!("k{number}")).unwrap();
        waiting.spawn(async move { lock.lock().await.unwrap() });
    }
    until_blocked(server, WAITS).await;
    waiting
}

async fn none_waits(server: &MariaDbServer) {
    eventually("nobody waits in the server", SOON, || blocked(server).is_empty()).await;
}

/// What was held all the time is freed, and nothing of it comes to those who left.
async fn all_are_free(server: &MariaDbServer, guards: Vec<Guard>) {
    for guard in guards {
        assert!(guard.is_held());
        guard.release().await.unwrap();
    }
    eventually("no row is locked", SOON, || locked_rows(server) == 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waits_that_are_dropped_end_in_the_server() {
    let server = MariaDbServer::start();
    let (holder, other) = (client_of(&server).await, client_of(&server).await);
    let guards = holds(&holder).await;
    for _ in 0..2 {
        all_wait(&server, &other).await.shutdown().await;
        none_waits(&server).await;
    }
    all_are_free(&server, guards).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waits_that_time_out_end_in_the_server() {
    let server = MariaDbServer::start();
    let (holder, other) = (client_of(&server).await, client_of(&server).await);
    let guards = holds(&holder).await;
    let mut waiting = JoinSet::new();
    for number in 0..WAITS {
        let lock = other.lock(&format!("k{number}")).unwrap();
        waiting.spawn(async move { lock.lock_timeout(ms(1500)).await.unwrap_err().kind() });
    }
    until_blocked(&server, WAITS).await;
    while let Some(kind) = waiting.join_next().await {
        assert_eq!(kind.unwrap(), ErrorKind::Timeout);
    }
    none_waits(&server).await;
    all_are_free(&server, guards).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waits_of_a_client_that_is_dropped_or_closed_end_in_the_server() {
    let server = MariaDbServer::start();
    let holder = client_of(&server).await;
    let guards = holds(&holder).await;
    for close in [true, false] {
        let other = client_of(&server).await;
        let before = server.sessions().len();
        let mut waiting = all_wait(&server, &other).await;
        if close {
            other.close(SOON).await.unwrap();
        }
        waiting.shutdown().await;
        drop(other);
        none_waits(&server).await;
        eventually("its sessions end", SOON, || server.sessions().len() < before).await;
    }
    all_are_free(&server, guards).await;
}

/// Who left the line just when the lock came to it has not taken it along.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_that_comes_to_one_who_has_left_is_free_for_the_next() {
    let server = MariaDbServer::start();
    let (holder, leaver, other) = (client_of(&server).await, client_of(&server).await, client_of(&server).await);
    for _ in 0..20 {
        let guard = gets_in(&holder, "k").await;
        let lock = leaver.lock("k").unwrap();
        let waiting = tokio::spawn(async move { lock.lock().await });
        until_blocked(&server, 1).await;
        let (released, ()) = tokio::join!(guard.release(), async { waiting.abort() });
        released.unwrap();
        // The lease is half a minute: it has not ended by itself.
        gets_in(&other, "k").await.release().await.unwrap();
    }
}
