//! How many connections a client may have, and what it says when it would need more.

use crate::support::{PATIENCE, backend, client_of, eventually, gets_in, locked_rows, soon};
use std::time::Duration;
use tenure_core::{Client, ErrorKind};
use tenure_mysql::Config;
use tenure_testkit::MariaDbServer;

async fn with_two(server: &MariaDbServer) -> Client {
    Client::builder().connect(Config::from_url(&server.url()).unwrap().connections(2).into_backend()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_lock_more_than_there_are_connections_is_refused_with_advice() {
    let server = MariaDbServer::start();
    let client = with_two(&server).await;
    let held = [gets_in(&client, "a").await, gets_in(&client, "b").await];
    let error = client.lock("c").unwrap().try_lock().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains("connections=2"), "{error}");
    // All else needs no connection of its own.
    for number in 0..5 {
        let key = format!("simple:{number}");
        std::mem::forget(client.simple(&key).unwrap().try_lock().await.unwrap().expect("it is free"));
    }
    assert_eq!(client.list("*").await.unwrap().len(), 7);
    assert!(held.iter().all(tenure_core::Guard::is_held));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_waits_for_a_lock_gets_in_when_a_connection_is_to_be_had() {
    let server = MariaDbServer::start();
    let client = with_two(&server).await;
    let (one, two) = (gets_in(&client, "a").await, gets_in(&client, "b").await);
    let lock = client.lock("c").unwrap();
    let waiting = tokio::spawn(async move { lock.lock_timeout(PATIENCE).await });
    // It has asked, and was refused, when it is heard to wait.
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!waiting.is_finished(), "{:?}", waiting.await.unwrap().map(|_| ()));
    one.release().await.unwrap();
    let three = soon("it gets in", waiting).await.unwrap().unwrap();
    assert!(two.is_held() && three.is_held());
}

/// Waits take connections too, and give them back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_that_is_given_up_leaves_its_connection_to_others() {
    let server = MariaDbServer::start();
    let (holder, client) = (client_of(&server).await, with_two(&server).await);
    let held = [gets_in(&holder, "a").await, gets_in(&holder, "b").await];
    for _ in 0..3 {
        for key in ["a", "b"] {
            let error = client.lock(key).unwrap().lock_timeout(Duration::from_millis(300)).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
        }
    }
    soon("a connection is to be had", async {
        while client.lock("c").unwrap().try_lock().await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    drop(held);
    eventually("nothing is left", PATIENCE, || locked_rows(&server) == 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_full_says_so() {
    let server = MariaDbServer::builder().option("max_connections=12").start();
    let client = Client::builder().connect(backend(&server.url())).await.unwrap();
    let mut guards = Vec::new();
    let error = loop {
        match client.lock(&format!("k{}", guards.len())).unwrap().try_lock().await {
            Ok(guard) => guards.push(guard.expect("it is free")),
            Err(error) => break error,
        }
        assert!(guards.len() <= 12, "more than the server allows");
    };
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains("max_connections"), "{error}");
    assert!(guards.iter().all(tenure_core::Guard::is_held));
    // When somebody leaves there is room again.
    guards.pop().unwrap().release().await.unwrap();
    gets_in(&client, "again").await.release().await.unwrap();
}
