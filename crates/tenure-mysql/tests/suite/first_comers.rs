//! Many want a lock that nobody has ever wanted before.

use crate::support::{client_of, soon};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tenure_core::{Client, Kind};
use tenure_testkit::{History, MariaDbServer};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

const CLIENTS: usize = 10;
const TASKS: usize = 5;
const ROUNDS: usize = 50;

async fn rush(clients: &[Client], kind: Kind, rounds: usize) {
    let (history, inside) = (History::new(), Arc::new(AtomicUsize::new(0)));
    for round in 0..rounds {
        let (key, begin) = (format!("{kind}:{round}"), Arc::new(Barrier::new(CLIENTS * TASKS)));
        let mut running = JoinSet::new();
        for number in 0..CLIENTS * TASKS {
            let lock = clients[number % CLIENTS].lock_of(kind, &key).unwrap();
            let (history, inside, begin) = (history.clone(), Arc::clone(&inside), Arc::clone(&begin));
            running.spawn(async move {
                begin.wait().await;
                let asking = history.asking(lock.key().as_str(), &number.to_string());
                let guard = lock.lock().await.unwrap();
                let hold = asking.granted(guard.token());
                assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two were in at once");
                tokio::task::yield_now().await;
                inside.fetch_sub(1, Ordering::SeqCst);
                hold.ended();
                guard.release().await.unwrap();
            });
        }
        while let Some(done) = soon("everyone is served", running.join_next()).await {
            done.unwrap();
        }
    }
    history.check().assert_clean().assert_at_least(CLIENTS * TASKS * rounds);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_come_at_once_to_a_lock_that_is_new() {
    let server = MariaDbServer::start();
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        clients.push(client_of(&server).await);
    }
    rush(&clients, Kind::Reentrant, ROUNDS).await;
    assert_eq!(server.one("SELECT COUNT(*) FROM tenure_rows"), ROUNDS.to_string());
}

/// Those who come first make the tables as well.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_come_at_once_to_a_database_that_is_empty() {
    for _ in 0..3 {
        let server = MariaDbServer::start();
        let clients: Vec<Client> =
            (0..CLIENTS).map(|_| Client::new(crate::support::backend(&server.url())).unwrap()).collect();
        rush(&clients, Kind::Reentrant, 1).await;
        rush(&clients, Kind::Simple, 1).await;
    }
}
