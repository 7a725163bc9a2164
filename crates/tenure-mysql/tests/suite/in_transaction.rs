//! The lock that ends with the user's own transaction, beside others of its kind and beside holders of the re-entrant lock.

use crate::support::{client_of, connection, eventually, gets_in, ms, soon};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error, IsolationLevel, TxOpts};
use std::sync::Arc;
use tenure_mysql::InTransaction;
use tenure_testkit::MariaDbServer;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

const BUYERS: usize = 20;

/// A server with the tables of the locks, and one of the user's.
async fn shop() -> Arc<MariaDbServer> {
    let server = Arc::new(MariaDbServer::start());
    gets_in(&client_of(&server).await, "first").await.release().await.unwrap();
    server.execute("CREATE TABLE stock (id INT PRIMARY KEY, n INT)");
    server.execute("INSERT INTO stock VALUES (1, 20)");
    server
}

/// Reads, thinks and writes, as only one may at a time.
async fn buy(transaction: &mut impl Queryable) {
    let left: i64 = transaction.query_first("SELECT n FROM stock WHERE id = 1").await.unwrap().unwrap();
    tokio::time::sleep(ms(2)).await;
    transaction.exec_drop("UPDATE stock SET n = ? WHERE id = 1", (left - 1,)).await.unwrap();
}

fn is_blocked(server: &MariaDbServer) -> bool {
    let waits = |info: &str| info.contains("tenure_rows") && info.contains("FOR UPDATE");
    server.sessions().iter().any(|session| session.command != "Sleep" && waits(&session.info))
}

/// Nobody has ever used the key, and all come at once. What one has written the next one reads.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transactions_take_turns_at_a_key_that_is_new() {
    let server = shop().await;
    for level in [IsolationLevel::RepeatableRead, IsolationLevel::ReadCommitted, IsolationLevel::Serializable] {
        server.execute("UPDATE stock SET n = 20");
        let begin = Arc::new(Barrier::new(BUYERS));
        let mut buyers = JoinSet::new();
        for _ in 0..BUYERS {
            let (server, begin) = (Arc::clone(&server), Arc::clone(&begin));
            buyers.spawn(async move {
                let (mut conn, mut other) = (connection(&server).await, connection(&server).await);
                let lock = InTransaction::of(&format!("stock at {level}")).unwrap();
                begin.wait().await;
                let mut transaction =
                    conn.start_transaction(TxOpts::default().with_isolation_level(level).clone()).await.unwrap();
                lock.lock(&mut transaction, &mut other).await.unwrap();
                buy(&mut transaction).await;
                transaction.commit().await.unwrap();
            });
        }
        while let Some(bought) = soon("everybody buys", buyers.join_next()).await {
            bought.unwrap();
        }
        assert_eq!(server.one("SELECT n FROM stock"), "0", "{level}");
    }
}

/// The statements as text, by a driver that knows nothing of ours.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_statements_do_the_same_by_any_driver() {
    let server = shop().await;
    let begin = Arc::new(Barrier::new(BUYERS));
    let mut buyers = JoinSet::new();
    for _ in 0..BUYERS {
        let (server, begin) = (Arc::clone(&server), Arc::clone(&begin));
        buyers.spawn(async move {
            let mut conn = connection(&server).await;
            let lock = InTransaction::of("by text").unwrap();
            begin.wait().await;
            conn.query_drop("SET TRANSACTION ISOLATION LEVEL READ COMMITTED").await.unwrap();
            conn.exec_drop(lock.make_statement(), (lock.name(), lock.name())).await.unwrap();
            conn.query_drop("START TRANSACTION").await.unwrap();
            let found: Option<Vec<u8>> = conn.exec_first(lock.lock_statement(), (lock.name(),)).await.unwrap();
            assert_eq!(found, Some(lock.name()));
            buy(&mut conn).await;
            conn.query_drop("COMMIT").await.unwrap();
        });
    }
    while let Some(bought) = soon("everybody buys", buyers.join_next()).await {
        bought.unwrap();
    }
    assert_eq!(server.one("SELECT n FROM stock"), "0");

    // Whoever has it is in nobody's way but that of those who want it.
    let (mut one, mut two) = (connection(&server).await, connection(&server).await);
    let lock = InTransaction::of("by text").unwrap();
    one.query_drop("START TRANSACTION").await.unwrap();
    let _: Vec<Vec<u8>> = one.exec(lock.try_lock_statement(), (lock.name(),)).await.unwrap();
    two.query_drop("SET TRANSACTION ISOLATION LEVEL READ COMMITTED").await.unwrap();
    soon("it waits for nobody", two.exec_drop(lock.make_statement(), (lock.name(), lock.name()))).await.unwrap();
    let no = two.exec_drop(lock.try_lock_statement(), (lock.name(),)).await.unwrap_err();
    assert!(matches!(&no, Error::Server(error) if error.code == 1205), "{no}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_waits_for_a_holder_and_a_holder_for_a_transaction() {
    let server = shop().await;
    let client = client_of(&server).await;
    let (mut conn, mut other) = (connection(&server).await, connection(&server).await);
    let lock = InTransaction::of("k").unwrap();
    for rolls_back in [false, true] {
        // The holder comes first.
        let guard = gets_in(&client, "k").await;
        let mut transaction = conn.start_transaction(TxOpts::default()).await.unwrap();
        assert!(!soon("it says no at once", lock.try_lock(&mut transaction, &mut other)).await.unwrap());
        transaction.rollback().await.unwrap();
        let mut transaction = conn.start_transaction(TxOpts::default()).await.unwrap();
        let (released, ()) = tokio::join!(
            async {
                eventually("it waits", ms(10_000), || is_blocked(&server)).await;
                assert!(guard.is_held());
                guard.release().await.unwrap()
            },
            async { soon("it gets in", lock.lock(&mut transaction, &mut other)).await.unwrap() }
        );
        assert_eq!(released, tenure_core::Release::Released);
        // The transaction comes first.
        assert!(client.lock("k").unwrap().try_lock().await.unwrap().is_none());
        let waiting = client.lock("k").unwrap();
        let waiting = tokio::spawn(async move { waiting.lock().await.unwrap() });
        eventually("it waits", ms(10_000), || is_blocked(&server)).await;
        buy(&mut transaction).await;
        if rolls_back {
            transaction.rollback().await.unwrap();
        } else {
            transaction.commit().await.unwrap();
        }
        let guard = soon("it gets in", waiting).await.unwrap();
        guard.release().await.unwrap();
    }
    assert_eq!(server.one("SELECT n FROM stock"), "19", "what was rolled back is gone");
}

/// What ends a transaction ends the lock: its connection, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_whose_connection_ends_frees_the_lock() {
    let server = shop().await;
    let client = client_of(&server).await;
    let mut other = connection(&server).await;
    let lock = InTransaction::of("k").unwrap();
    let mut conn: Conn = connection(&server).await;
    conn.query_drop("START TRANSACTION").await.unwrap();
    lock.lock(&mut conn, &mut other).await.unwrap();
    assert!(client.lock("k").unwrap().try_lock().await.unwrap().is_none());
    drop(conn);
    gets_in(&client, "k").await.release().await.unwrap();
}

/// It is the whole key that counts, however long it is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_keys_are_the_same_in_a_transaction() {
    let server = shop().await;
    let client = client_of(&server).await;
    let (mut conn, mut other) = (connection(&server).await, connection(&server).await);
    let long = "x".repeat(1023);
    let _held = gets_in(&client, &format!("{long}a")).await;
    for (end, free) in [("a", false), ("b", true)] {
        let mut transaction = conn.start_transaction(TxOpts::default()).await.unwrap();
        let lock = InTransaction::of(&format!("{long}{end}")).unwrap();
        assert_eq!(soon("an answer", lock.try_lock(&mut transaction, &mut other)).await.unwrap(), free);
        transaction.rollback().await.unwrap();
    }
}
