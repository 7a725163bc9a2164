//! Tokens rise from grant to grant, whatever comes between.

use crate::support::{LEASE, PATIENCE, client, client_of, gets_in, holding_session, soon};
use tenure_core::{Client, Guard, Kind, Options};
use tenure_testkit::MariaDbServer;

/// The next grant has a larger token than the one before.
fn rises(last: &mut u64, guard: &Guard, after: &str) {
    assert!(guard.token() > *last, "after {after}: {} is not more than {last}", guard.token());
    *last = guard.token();
}

async fn grant(client: &Client, kind: Kind) -> Guard {
    let lock = client.lock_of(kind, "k").unwrap();
    soon("it is free", lock.lock_timeout(PATIENCE)).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_rise_over_releases_kinds_kills_force_and_restarts() {
    let server = MariaDbServer::start();
    let (one, other) = (client(&server.url()).await, client(&server.url()).await);
    let mut last = 0;
    for client in [&one, &other, &one] {
        let guard = grant(client, Kind::Reentrant).await;
        rises(&mut last, &guard, "a release");
        let again = guard.reenter().await.unwrap();
        assert_eq!(again.token(), guard.token(), "it is the same hold");
        again.release().await.unwrap();
        guard.release().await.unwrap();
    }
    for kind in [Kind::Simple, Kind::Fair, Kind::Read, Kind::Write, Kind::Reentrant] {
        let guard = grant(&one, kind).await;
        rises(&mut last, &guard, "another kind");
        guard.release().await.unwrap();
    }
    let guard = grant(&one, Kind::Reentrant).await;
    rises(&mut last, &guard, "a release");
    server.kill_session(holding_session(&server, "k"));
    let guard = grant(&other, Kind::Reentrant).await;
    rises(&mut last, &guard, "a kill");
    one.lock("k").unwrap().force_release().await.unwrap().expect("it was held");
    let guard = grant(&one, Kind::Reentrant).await;
    rises(&mut last, &guard, "force");
    server.restart();
    let next = grant(&other, Kind::Reentrant).await;
    rises(&mut last, &next, "a restart");
    drop((guard, next));
    // A lease that nobody renews.
    let left = one.lock("k").unwrap().lock_with(Options::new().lease(LEASE / 3).no_renew()).await.unwrap();
    rises(&mut last, &left, "a drop");
    let guard = grant(&other, Kind::Reentrant).await;
    rises(&mut last, &guard, "the end of a lease");
}

/// The server's clock is behind what was handed out before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_rise_when_the_clock_was_ahead() {
    let server = MariaDbServer::start();
    let client = client_of(&server).await;
    gets_in(&client, "k").await.release().await.unwrap();
    let ahead: u64 = 9_000_000_000_000_000;
    server.execute(&format!("UPDATE tenure_locks SET token = {ahead}"));
    let mut last = ahead;
    for _ in 0..3 {
        let guard = gets_in(&client, "k").await;
        rises(&mut last, &guard, "a clock that was ahead");
        guard.release().await.unwrap();
    }
}

/// Somebody has removed what is not theirs, one table or all of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_rise_when_rows_were_removed_by_hand() {
    let server = MariaDbServer::start();
    let client = client_of(&server).await;
    let mut last = 0;
    for what in [
        "DELETE FROM tenure_rows",
        "TRUNCATE tenure_rows",
        "DROP TABLE tenure_rows",
        "DROP TABLE tenure_locks",
        "DROP TABLE tenure_notices",
        "DROP TABLE IF EXISTS tenure_clients, tenure_locks, tenure_meta, tenure_notices, tenure_rows",
    ] {
        let guard = gets_in(&client, "k").await;
        rises(&mut last, &guard, what);
        guard.release().await.unwrap();
        server.execute(what);
    }
    let guard = gets_in(&client, "k").await;
    rises(&mut last, &guard, "no table");
}
