//! Fail-overs: the name leads to another server, and the one before stays up as its replica. Whoever was connected to it
//! finds the new primary, and keeps what it held there.

use crate::support::name::Name;
use crate::support::{
    self, LEASE, PATIENCE, accepted, acquire, backend, client, connections, eventually, exists, ms, soon,
};
use std::time::Instant;
use tenure_core::{Backend, ErrorKind, Key, Kind, Outcome, Release};
use tenure_testkit::RedisServer;
use tokio::task::JoinSet;

fn start() -> RedisServer {
    // Without it a replica is kept waiting for five seconds, in case another one comes.
    RedisServer::builder().arg("--repl-diskless-sync-delay", "0").start()
}

fn follow(replica: &RedisServer, primary: &RedisServer) {
    replica.command(&["REPLICAOF", "127.0.0.1", &primary.port().to_string()]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_primary_that_became_a_replica_is_left() {
    let (old, new) = (start(), start());
    let name = Name::of(&old);
    let client = client(&name.url()).await;
    let lock = client.lock("k").unwrap();
    let guard = lock.lock().await.unwrap();
    let token = guard.token();
    guard.release().await.unwrap();
    let held = client.lock("held").unwrap().lock().await.unwrap();
    follow(&new, &old);
    eventually("the lock is on both", PATIENCE, || exists(&new, "held")).await;
    // The connections that were there stay there.
    new.command(&["REPLICAOF", "NO", "ONE"]);
    name.point_at(&new);
    follow(&old, &new);
    // One attempt, on a connection that cannot serve it: it is made once more on another.
    let guard = lock.try_lock().await.unwrap().expect("it is free");
    assert!(guard.token() > token);
    assert_eq!(guard.release().await.unwrap(), Release::Released);
    // The client's own thread has a connection of its own to give up.
    tokio::time::sleep(LEASE * 2).await;
    assert!(held.is_held(), "{:?}", held.standing());
    eventually("only the test itself is left at the old one", PATIENCE, || connections(&old, "normal") == 1).await;
    assert_eq!(held.release().await.unwrap(), Release::Released);
    assert!(!exists(&new, "held"));
    // The connection for wake-ups stays where it is: a replica passes on what its primary publishes.
    eventually("the old one follows", PATIENCE, || {
        support::ask::<String>(&old, &["INFO", "replication"]).contains("master_link_status:up")
    })
    .await;
    let other = support::client(&new.url()).await.lock("k").unwrap();
    let mut fastest = PATIENCE;
    for _ in 0..3 {
        let guard = other.lock().await.unwrap();
        let mut events = client.events();
        let waiting = tokio::spawn({
            let lock = lock.clone();
            async move { lock.lock().await.unwrap().release().await.unwrap() }
        });
        soon("it waits", events.next()).await.unwrap();
        // Past the look that follows the subscription.
        tokio::time::sleep(ms(50)).await;
        let released = Instant::now();
        guard.release().await.unwrap();
        soon("it gets in", waiting).await.unwrap();
        fastest = fastest.min(released.elapsed());
    }
    eprintln!("woken through a replica after {fastest:?} at best");
    assert!(fastest < ms(300), "{fastest:?}");
}

/// The name has not been moved yet, or never will be: those who wait must not connect anew with every attempt.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_is_not_stormed() {
    let (primary, replica) = (start(), start());
    follow(&replica, &primary);
    let client = client(&replica.url()).await;
    let before = accepted(&replica);
    let began = Instant::now();
    let mut waiting = JoinSet::new();
    for n in 0..200 {
        let lock = client.lock(&format!("k{n}")).unwrap();
        waiting.spawn(async move { lock.lock_timeout(ms(2000)).await.unwrap_err().kind() });
    }
    while let Some(kind) = soon("all give up", waiting.join_next()).await {
        assert_eq!(kind.unwrap(), ErrorKind::Unavailable);
    }
    let opened = accepted(&replica) - before;
    eprintln!("200 who wait opened {opened} connections in {:?}", began.elapsed());
    assert!(opened <= 30, "200 who wait opened {opened} connections in {:?}", began.elapsed());
}

/// One runtime is still connected to the old server, another already to the new one. That the first has looked at its
/// server's clock says nothing of the second's, whose watermark may lie behind.
#[test]
fn a_look_at_one_servers_clock_does_not_count_for_another() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (early, late) = (runtime(), runtime());
    let (old, new) = (start(), start());
    let name = Name::of(&old);
    let backend = backend(&name.url());
    let token = |runtime: &tokio::runtime::Runtime, number| {
        let key = Key::new(&format!("k{number}")).unwrap();
        match runtime.block_on(backend.apply_one(Kind::Reentrant, &key, &acquire(number), PATIENCE)).unwrap() {
            Outcome::Granted(grant) => grant.token,
            other => panic!("{other:?}"),
        }
    };
    token(&early, 1);
    name.point_at(&new);
    // As a replica would have it that was cut off in 2001, a moment after which a watermark is taken for granted.
    new.command(&["SET", "tenure:fence", "1000000000000001"]);
    late.block_on(backend.reach(PATIENCE)).unwrap();
    let before = token(&early, 2);
    let after = token(&late, 3);
    assert!(after > before, "{after} was handed out after {before}");
}
