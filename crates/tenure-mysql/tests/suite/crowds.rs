//! Many at once, with something to lose.

use crate::support::{client_of, connection, gets_in, ms, soon};
use mysql_async::prelude::Queryable;
use std::sync::Arc;
use tenure_core::{Client, Options, Release};
use tenure_testkit::MariaDbServer;
use tokio::task::JoinSet;

const BUYERS: usize = 100;
const CLIENTS: usize = 5;

/// A hundred want one of fifty: everyone reads, thinks and writes, and nothing is sold twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_buyers_empty_a_stock_of_fifty() {
    let server = Arc::new(MariaDbServer::start());
    server.execute("CREATE TABLE stock (id INT PRIMARY KEY, n INT)");
    server.execute("INSERT INTO stock VALUES (1, 50)");
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        clients.push(client_of(&server).await);
    }
    let mut buyers = JoinSet::new();
    for number in 0..BUYERS {
        let (server, lock) = (Arc::clone(&server), clients[number % CLIENTS].lock("stock").unwrap());
        buyers.spawn(async move {
            let mut conn = connection(&server).await;
            let guard = lock.lock().await.unwrap();
            let left: i64 = conn.query_first("SELECT n FROM stock WHERE id = 1").await.unwrap().unwrap();
            let buys = left > 0;
            if buys {
                tokio::time::sleep(ms(20)).await;
                conn.exec_drop("UPDATE stock SET n = ? WHERE id = 1", (left - 1,)).await.unwrap();
            }
            assert_eq!(guard.release().await.unwrap(), Release::Released);
            buys
        });
    }
    let mut bought = 0;
    while let Some(buys) = soon("everybody is served", buyers.join_next()).await {
        bought += usize::from(buys.unwrap());
    }
    assert_eq!((bought, server.one("SELECT n FROM stock")), (50, "0".to_owned()));
}

/// A program that runs another under its lock: the other one goes in beside it, and the lock is free when both have left.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nested_holders_share_the_lock_in_whatever_order_they_leave() {
    let server = MariaDbServer::start();
    let (outer, inner, other): (Client, Client, Client) =
        (client_of(&server).await, client_of(&server).await, client_of(&server).await);
    for outer_first in [false, true] {
        let guard = gets_in(&outer, "k").await;
        let again = guard.reenter().await.unwrap();
        let lineage = guard.lineage();
        let below = inner.lock("k").unwrap().lock_with(Options::new().under(&lineage)).await.unwrap();
        assert_eq!(below.token(), guard.token(), "it is one hold");
        assert!(other.lock("k").unwrap().try_lock().await.unwrap().is_none());
        assert_eq!(again.release().await.unwrap(), Release::StillHeld(1));
        let (first, last) = if outer_first { (guard, below) } else { (below, guard) };
        assert_eq!(first.release().await.unwrap(), Release::Left);
        assert!(last.is_held());
        assert!(other.lock("k").unwrap().try_lock().await.unwrap().is_none(), "one of them is still in");
        assert_eq!(last.release().await.unwrap(), Release::Released);
        gets_in(&other, "k").await.release().await.unwrap();
    }
}

/// An outer holder's lease has ended while its program is still in. Whoever puts that out puts nothing else out: the outer
/// one may have taken other locks since.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn force_on_a_nested_holder_costs_nobody_another_lock() {
    let server = MariaDbServer::start();
    let (outer, inner, other): (Client, Client, Client) =
        (client_of(&server).await, client_of(&server).await, client_of(&server).await);
    let lease = Options::new().lease(ms(1000)).no_renew();
    let guard = outer.lock("k").unwrap().lock_with(lease).await.unwrap();
    let below = inner.lock("k").unwrap().lock_with(Options::new().under(&guard.lineage())).await.unwrap();
    soon("the outer one's lease ends", guard.lost()).await;
    crate::support::eventually("its row is free", ms(5000), || crate::support::locked_rows(&server) == 0).await;
    let another = gets_in(&outer, "another").await;
    assert!(other.lock("k").unwrap().force_release().await.unwrap().is_some(), "the inner one is in");
    soon("the inner one is told", below.lost()).await;
    another.renew().await.expect("it is another lock");
    assert_eq!(another.release().await.unwrap(), Release::Released);
}
