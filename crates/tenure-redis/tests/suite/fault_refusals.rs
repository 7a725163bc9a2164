//! A server that is there and cannot serve now: too many connections, no memory, a script that does not end. Whoever
//! waits rides it out; one attempt is told that the store is not available.

use crate::support::{self, PATIENCE, ask, backend, builder, claim, client, connections, eventually, exists, ms, soon};
use std::net::TcpStream;
use tenure_core::kernel::{Cancelled, FIRST_ENTRY};
use tenure_core::{Backend, Claim, ErrorKind, Key, Kind, Operation, Options, Outcome, Release, Stay, StoreErrorKind};
use tenure_testkit::RedisServer;

/// Takes every connection the server has to give but those that are there.
async fn crowd(server: &RedisServer) -> Vec<TcpStream> {
    server.command(&["CONFIG", "SET", "maxclients", "20"]);
    let crowd = (0..40).map(|_| TcpStream::connect(server.addr()).unwrap()).collect();
    let open = || connections(server, "normal") + connections(server, "pubsub");
    eventually("the server is full", PATIENCE, || open() == 20).await;
    crowd
}

#[tokio::test]
async fn too_many_connections_are_ridden_out() {
    let server = RedisServer::start();
    let crowd = crowd(&server).await;
    let client = builder().build(backend(&server.url())).unwrap();
    let lock = client.lock("k").unwrap();
    let error = lock.try_lock().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    let mut waiting = tokio::spawn(async move { lock.lock_timeout(PATIENCE).await });
    let early = tokio::time::timeout(ms(300), &mut waiting).await;
    assert!(early.is_err(), "it gave up: {early:?}");
    drop(crowd);
    let guard = soon("it gets in", waiting).await.unwrap().unwrap();
    assert_eq!(guard.release().await.unwrap(), Release::Released);
}

/// The janitor comes back to a server that is full, and must not give up what it was left to release. Whether it reads
/// the refusal or only finds the connection closed is a race, so that one round would not always show.
#[tokio::test]
async fn what_was_dropped_is_released_when_there_is_room_again() {
    let server = RedisServer::start();
    let client = client(&server.url()).await;
    for _ in 0..5 {
        let guard = client.lock("k").unwrap().lock_with(Options::new()).await.unwrap();
        server.command(&["CLIENT", "KILL", "TYPE", "normal"]);
        let crowd = crowd(&server).await;
        drop(guard);
        tokio::time::sleep(ms(200)).await;
        drop(crowd);
        eventually("it is released", ms(5000), || !exists(&server, "k")).await;
    }
}

#[tokio::test]
async fn full_memory_is_ridden_out() {
    let server = RedisServer::start();
    let client = client(&server.url()).await;
    let lock = client.lock("k").unwrap();
    let guard = lock.lock().await.unwrap();
    server.command(&["CONFIG", "SET", "maxmemory", "1"]);
    // What is held can be renewed and given back: neither needs memory.
    guard.renew().await.unwrap();
    tokio::time::sleep(support::LEASE * 3 / 2).await;
    assert_eq!(guard.release().await.unwrap(), Release::Released);
    let error = lock.try_lock().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    let mut waiting = tokio::spawn(async move { lock.lock_timeout(PATIENCE).await });
    assert!(tokio::time::timeout(ms(300), &mut waiting).await.is_err(), "it gave up");
    server.command(&["CONFIG", "SET", "maxmemory", "0"]);
    assert_eq!(soon("it gets in", waiting).await.unwrap().unwrap().release().await.unwrap(), Release::Released);
}

/// An acquire that was given up is cancelled, and what it had been granted is freed: that needs no memory. Nor does the
/// note that it was cancelled, once the lock is out of the way.
#[tokio::test]
async fn what_was_given_up_is_freed_with_full_memory() {
    let server = RedisServer::start();
    let backend = backend(&server.url());
    let key = |name: &str| Key::new(name).unwrap();
    let nested = Claim::nested(claim(0).client(), 3);
    let acquire = |claim: &Claim, under: &[Claim]| Operation::Acquire {
        claim: claim.clone(),
        under: under.to_vec(),
        lease: ms(30_000),
        stay: Stay::No,
    };
    let cancel = |claim: &Claim| Operation::Release {
        claim: claim.clone(),
        left: 0,
        change: u32::MAX,
        lease: ms(30_000),
        keep: ms(0),
        cancel: Some(Cancelled::one(claim, FIRST_ENTRY, ms(60_000))),
    };
    let locks = [
        ("reentrant", Kind::Reentrant, claim(1), vec![], Outcome::Released),
        ("simple", Kind::Simple, claim(2), vec![], Outcome::Released),
        ("nested", Kind::Reentrant, nested, vec![claim(4)], Outcome::Left),
    ];
    backend.apply_one(Kind::Reentrant, &key("nested"), &acquire(&claim(4), &[]), PATIENCE).await.unwrap();
    for (name, kind, claim, under, _) in &locks {
        let taken = backend.apply_one(*kind, &key(name), &acquire(claim, under), PATIENCE).await.unwrap();
        assert!(matches!(taken, Outcome::Granted(_)), "{name}: {taken:?}");
    }
    server.command(&["CONFIG", "SET", "maxmemory", "1"]);
    for (name, kind, claim, _, freed) in &locks {
        let outcome = backend.apply_one(*kind, &key(name), &cancel(claim), PATIENCE).await;
        let seen = backend.apply_one(*kind, &key(name), &Operation::Inspect, PATIENCE).await.unwrap();
        let Outcome::Seen(seen) = seen else { panic!("{seen:?}") };
        let holds = seen.is_some_and(|seen| seen.holders.iter().any(|holder| holder.claim == *claim));
        assert!(!holds, "{name}: it still holds, and the answer was {outcome:?}");
        assert_eq!(outcome.as_ref(), Ok(freed), "{name}");
    }
    // Where there is nothing to be freed, there is nothing done, and so it is said.
    for (kind, claim) in
        [(Kind::Reentrant, claim(5)), (Kind::Simple, claim(6)), (Kind::Reentrant, Claim::nested("a", 7))]
    {
        let error = backend.apply_one(kind, &key("free"), &cancel(&claim), PATIENCE).await.unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Unreachable, "{error}");
    }
    server.command(&["CONFIG", "SET", "maxmemory", "0"]);
    assert!(server.keys("tenure:cancelled:{free}:*").is_empty());
    for (name, kind, claim, under, _) in &locks {
        let late = backend.apply_one(*kind, &key(name), &acquire(claim, under), PATIENCE).await.unwrap();
        assert_eq!(late, Outcome::Refused, "{name}: it was cancelled");
    }
}

#[tokio::test]
async fn a_script_that_does_not_end_is_ridden_out() {
    let server = RedisServer::start();
    let client = client(&server.url()).await;
    let lock = client.lock("k").unwrap();
    lock.lock().await.unwrap().release().await.unwrap();
    server.command(&["CONFIG", "SET", "busy-reply-threshold", "20"]);
    let url = server.url();
    let endless = std::thread::spawn(move || {
        let mut connection = tenure_redis::redis::Client::open(url).unwrap().get_connection().unwrap();
        tenure_redis::redis::cmd("EVAL").arg("while true do end").arg(0).exec(&mut connection)
    });
    let mut attempt = lock.try_lock().await;
    while attempt.is_ok() {
        attempt = lock.try_lock().await;
    }
    let error = attempt.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    let mut waiting = tokio::spawn(async move { lock.lock_timeout(PATIENCE).await });
    assert!(tokio::time::timeout(ms(300), &mut waiting).await.is_err(), "it gave up");
    server.command(&["SCRIPT", "KILL"]);
    assert!(endless.join().unwrap().is_err());
    assert_eq!(soon("it gets in", waiting).await.unwrap().unwrap().release().await.unwrap(), Release::Released);
    assert!(connections(&server, "normal") <= 4, "{}", ask::<String>(&server, &["CLIENT", "LIST"]));
}
