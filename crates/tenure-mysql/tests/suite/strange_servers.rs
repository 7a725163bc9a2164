//! Servers whose defaults are not the usual ones.

use crate::support::{PATIENCE, client, gets_in, soon};
use std::time::Duration;
use tenure_core::{Client, Kind, Release};
use tenure_testkit::MariaDbServer;

/// All that locks do, in short.
async fn works(one: &Client, other: &Client) {
    for kind in [Kind::Reentrant, Kind::Simple, Kind::Fair, Kind::Fenced, Kind::Write] {
        let lock = other.lock_of(kind, "k").unwrap();
        let guard = soon("it is free", one.lock_of(kind, "k").unwrap().lock()).await.unwrap();
        assert!(lock.try_lock().await.unwrap().is_none());
        let remaining = lock.inspect().await.unwrap().unwrap().holder().remaining.unwrap();
        assert!(remaining > Duration::ZERO && remaining <= crate::support::LEASE, "{remaining:?}");
        let waiting = tokio::spawn(async move { lock.lock_timeout(PATIENCE).await.unwrap() });
        if kind == Kind::Reentrant {
            // Longer than the server would wait for a row by itself.
            tokio::time::sleep(Duration::from_millis(2500)).await;
        }
        guard.renew().await.unwrap();
        let token = guard.token();
        assert_eq!(guard.release().await.unwrap(), Release::Released);
        let guard = soon("the next one gets in", waiting).await.unwrap();
        assert!(guard.token() > token);
        let again = guard.reenter().await.ok();
        drop(again);
        assert!(one.lock_of(kind, "k").unwrap().force_release().await.unwrap().is_some());
        soon("the holder is told", guard.lost()).await;
    }
    let semaphore = one.semaphore("s").unwrap();
    semaphore.set_permits(2).await.unwrap();
    semaphore.acquire().await.unwrap().release().await.unwrap();
    one.multi(["x", "y"]).unwrap().lock().await.unwrap().release().await.unwrap();
    gets_in(other, "z").await.release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_with_other_defaults_makes_no_difference() {
    let server = MariaDbServer::builder()
        .option("sql_mode=ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES,ORACLE")
        .option("autocommit=0")
        .option("transaction_isolation=SERIALIZABLE")
        .option("default_time_zone=+05:30")
        .option("innodb_lock_wait_timeout=1")
        .option("character_set_server=latin1")
        .option("lower_case_table_names=1")
        .option("innodb_rollback_on_timeout=ON")
        .start();
    works(&client(&server.url()).await, &client(&server.url()).await).await;
}

/// The server's own time limits are for those who forget, not for those who hold.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_impatient_makes_no_difference() {
    let server = MariaDbServer::builder()
        .option("wait_timeout=2")
        .option("interactive_timeout=2")
        .option("max_statement_time=2")
        .option("idle_transaction_timeout=2")
        .option("transaction_isolation=READ-UNCOMMITTED")
        .option("innodb_deadlock_detect=OFF")
        .start();
    let (one, other) = (client(&server.url()).await, client(&server.url()).await);
    let guard = gets_in(&one, "k").await;
    let lock = other.lock("k").unwrap();
    let waiting = tokio::spawn(async move { lock.lock_timeout(PATIENCE).await.unwrap() });
    // The time is the test: twice as long as the server has patience.
    tokio::time::sleep(Duration::from_millis(4500)).await;
    assert!(guard.is_held());
    guard.release().await.unwrap();
    soon("the next one gets in", waiting).await.unwrap().release().await.unwrap();
}

/// Changes are written to a log for other servers: as statements, as rows, or as is best.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_keeps_a_binary_log_makes_no_difference() {
    for format in ["MIXED", "ROW"] {
        let server = MariaDbServer::builder()
            .option("log_bin=binlog")
            .option(&format!("binlog_format={format}"))
            .option("server_id=1")
            .start();
        let (one, other) = (client(&server.url()).await, client(&server.url()).await);
        let guard = gets_in(&one, "k").await;
        assert!(other.lock("k").unwrap().try_lock().await.unwrap().is_none());
        guard.release().await.unwrap();
        gets_in(&other, "k").await.release().await.unwrap();
    }
}

/// What a holder does not do is nothing to the server, however long its lease is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_ends_idle_transactions_ends_no_hold() {
    let server = MariaDbServer::builder()
        .option("idle_transaction_timeout=1")
        .option("idle_readonly_transaction_timeout=1")
        .option("idle_write_transaction_timeout=1")
        .start();
    let client = crate::support::client_of(&server).await;
    let guard = gets_in(&client, "k").await;
    let session = crate::support::holding_session(&server, "k");
    // The time is the test: it is a tenth of the lease, and three times what the server allows.
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(server.sessions().iter().any(|other| other.id == session), "the holder's session was ended");
    assert!(guard.is_held());
    guard.release().await.unwrap();
}

/// Our transactions cannot be logged as statements, and the error says what can be done.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_logs_statements_is_refused_with_advice() {
    let server = MariaDbServer::builder()
        .option("log_bin=binlog")
        .option("binlog_format=STATEMENT")
        .option("server_id=1")
        .start();
    let client = Client::new(crate::support::backend(&server.url())).unwrap();
    let error = client.lock("k").unwrap().try_lock().await.map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), tenure_core::ErrorKind::Unsupported, "{error}");
    assert!(error.to_string().contains("binlog_format"), "{error}");
}
