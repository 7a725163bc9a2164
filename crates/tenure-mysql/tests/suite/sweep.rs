//! What nobody has used for a day is forgotten, and nothing else is.

use crate::support::{client_of, connection, eventually, gets_in, soon};
use mysql_async::prelude::Queryable;
use std::time::Duration;
use tenure_core::Kind;
use tenure_mysql::InTransaction;
use tenure_testkit::MariaDbServer;

const SOON: Duration = Duration::from_secs(10);

/// A day passes, and nobody has swept.
fn a_day_passes(server: &MariaDbServer) {
    server.execute("UPDATE tenure_rows SET made = 1");
    server.execute("UPDATE tenure_locks SET used = 1");
    server.execute("UPDATE tenure_meta SET value = 0 WHERE name = 'swept'");
}

fn names(server: &MariaDbServer, table: &str) -> Vec<String> {
    server.rows(&format!("SELECT name FROM {table} ORDER BY name")).into_iter().flatten().collect()
}

/// A client comes, and sweeps; returns when it has.
async fn somebody_sweeps(server: &MariaDbServer) {
    let client = client_of(server).await;
    eventually("somebody sweeps", SOON, || server.one("SELECT value > 0 FROM tenure_meta WHERE name = 'swept'") == "1")
        .await;
    // It is told when it begins, and this is always swept, in the end.
    let swept = || !names(server, "tenure_locks").contains(&"zzz".to_owned());
    eventually("it is swept", SOON, swept).await;
    drop(client);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nobody_has_used_for_a_day_is_forgotten_and_tokens_still_rise() {
    let server = MariaDbServer::start();
    let client = client_of(&server).await;
    for key in ["k", "zzz"] {
        gets_in(&client, key).await.release().await.unwrap();
    }
    for number in 0..250 {
        server.execute(&format!("INSERT INTO tenure_rows VALUES ('many{number}', 1)"));
    }
    // A clock that was ahead has handed this out.
    let ahead: u64 = 9_000_000_000_000_000;
    server.execute(&format!("UPDATE tenure_locks SET token = {ahead} WHERE lock_key = 'k'"));
    a_day_passes(&server);
    somebody_sweeps(&server).await;
    eventually("all rows are swept", SOON, || names(&server, "tenure_rows").is_empty()).await;
    assert!(names(&server, "tenure_locks").is_empty());
    let guard = gets_in(&client, "k").await;
    assert!(guard.token() > ahead, "{} is not more than {ahead}", guard.token());
    let simple = client.simple("another").unwrap().lock().await.unwrap();
    assert!(simple.token() > ahead, "nobody knows any more whose it was");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_held_waited_for_or_counted_is_kept() {
    let server = MariaDbServer::start();
    let (client, other) = (client_of(&server).await, client_of(&server).await);
    // Rows that are old before somebody locks them: who has them would have to be waited for.
    server.execute("INSERT INTO tenure_rows VALUES ('held', 1), ('transaction', 1)");
    let held = gets_in(&client, "held").await;
    let fair = client.fair("fair").unwrap().lock().await.unwrap();
    let waiting = {
        let (lock, fair) = (other.lock("held").unwrap(), other.fair("fair").unwrap());
        [
            tokio::spawn(async move { lock.lock().await.unwrap() }),
            tokio::spawn(async move { fair.lock().await.unwrap() }),
        ]
    };
    crate::support::until_blocked(&server, 1).await;
    let fenced = client.fenced("fenced").unwrap().lock().await.unwrap();
    let counted = fenced.token();
    fenced.release().await.unwrap();
    client.semaphore("semaphore").unwrap().set_permits(3).await.unwrap();
    client.latch("latch").unwrap().try_set(2).await.unwrap();
    // A transaction of the user's has this one.
    let (mut transaction, mut conn) = (connection(&server).await, connection(&server).await);
    transaction.query_drop("START TRANSACTION").await.unwrap();
    InTransaction::of("transaction").unwrap().lock(&mut transaction, &mut conn).await.unwrap();
    gets_in(&client, "zzz").await.release().await.unwrap();
    server.execute("UPDATE tenure_rows SET made = 1 WHERE name = 'zzz'");
    server.execute("UPDATE tenure_locks SET used = 1");
    server.execute("UPDATE tenure_meta SET value = 0 WHERE name = 'swept'");
    somebody_sweeps(&server).await;
    let kept = names(&server, "tenure_locks");
    for name in ["held", "fair", "fenced", "semaphore", "latch"] {
        assert!(kept.contains(&name.to_owned()), "{name} was swept: {kept:?}");
    }
    assert_eq!(names(&server, "tenure_rows"), ["held", "transaction"]);
    assert!(client.lock("transaction").unwrap().try_lock().await.unwrap().is_none());
    for guard in [held, fair] {
        assert!(guard.is_held());
        guard.release().await.unwrap();
    }
    for waiting in waiting {
        soon("who waited gets in", waiting).await.unwrap().release().await.unwrap();
    }
    let fenced = client.lock_of(Kind::Fenced, "fenced").unwrap().lock().await.unwrap();
    assert!(fenced.token() > counted, "{} after {counted}", fenced.token());
    assert_eq!(client.semaphore("semaphore").unwrap().available().await.unwrap(), 3);
}

/// Nobody sweeps who does not have to.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_swept_an_hour_ago_is_not_swept_again() {
    let server = MariaDbServer::start();
    let client = client_of(&server).await;
    gets_in(&client, "zzz").await.release().await.unwrap();
    eventually("the first client sweeps", SOON, || {
        server.one("SELECT value > 0 FROM tenure_meta WHERE name = 'swept'") == "1"
    })
    .await;
    drop(client);
    // It may be at it still.
    eventually("the first client is gone", SOON, || server.sessions().is_empty()).await;
    let swept = server.one("SELECT value FROM tenure_meta WHERE name = 'swept'");
    a_day_passes(&server);
    server.execute(&format!("UPDATE tenure_meta SET value = {swept} WHERE name = 'swept'"));
    server.execute("INSERT INTO tenure_clients VALUES ('a card that has ended', '', 0, '', 1)");
    let _client = client_of(&server).await;
    // Cards are looked after by everybody: when this one is gone, the rest would be too.
    eventually("a card is swept", SOON, || server.one("SELECT COUNT(*) FROM tenure_clients WHERE until = 1") == "0")
        .await;
    assert_eq!(names(&server, "tenure_locks"), ["zzz"]);
}
