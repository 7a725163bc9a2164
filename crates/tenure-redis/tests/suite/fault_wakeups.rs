//! Wake-ups: what is lost is made up for by the safety poll, and listening costs one connection and no work.

use crate::support::{PATIENCE, accepted, ask, backend, client, connections, eventually, lock_channels, ms, soon};
use std::time::Instant;
use tenure_core::{Client, ErrorKind, Options};
use tenure_testkit::{FaultProxy, RedisServer};
use tokio::task::JoinSet;

/// A client with long leases, so that it is not their end that wakes anybody.
async fn patient(url: &str) -> Client {
    Client::builder().options(Options::new()).connect(backend(url)).await.unwrap()
}

#[tokio::test]
async fn a_waiter_that_hears_nothing_gets_in_all_the_same() {
    let server = RedisServer::start();
    let proxy = FaultProxy::start(server.addr());
    let (one, deaf) = (patient(&server.url()).await, patient(&proxy.url()).await);
    proxy.drop_messages();
    for _ in 0..3 {
        let guard = one.lock("k").unwrap().lock().await.unwrap();
        let lock = deaf.lock("k").unwrap();
        let mut events = deaf.events();
        let waiting = tokio::spawn(async move { lock.lock().await });
        soon("it waits", events.next()).await.unwrap();
        eventually("it listens", PATIENCE, || !lock_channels(&server).is_empty()).await;
        let released = Instant::now();
        guard.release().await.unwrap();
        soon("it gets in", waiting).await.unwrap().unwrap().release().await.unwrap();
        eprintln!("deaf, in after {:?}", released.elapsed());
        assert!(released.elapsed() < ms(5000), "{:?}", released.elapsed());
    }
}

/// The same without the fault, or the test above would show nothing: a wake-up is much faster than the poll.
#[tokio::test]
async fn a_waiter_that_hears_gets_in_at_once() {
    let server = RedisServer::start();
    let (one, other) = (patient(&server.url()).await, patient(&server.url()).await);
    let mut fastest = PATIENCE;
    for _ in 0..5 {
        let guard = one.lock("k").unwrap().lock().await.unwrap();
        let lock = other.lock("k").unwrap();
        let mut events = other.events();
        let waiting = tokio::spawn(async move { lock.lock().await });
        soon("it waits", events.next()).await.unwrap();
        eventually("it listens", PATIENCE, || !lock_channels(&server).is_empty()).await;
        // Past the look that follows the subscription.
        tokio::time::sleep(ms(50)).await;
        let released = Instant::now();
        guard.release().await.unwrap();
        soon("it gets in", waiting).await.unwrap().unwrap().release().await.unwrap();
        fastest = fastest.min(released.elapsed());
    }
    eprintln!("hearing, in after {fastest:?} at best");
    assert!(fastest < ms(300), "{fastest:?}");
}

/// A key and the same key in braces are two locks with one channel: whoever waits for either is woken, and the channel
/// is listened to until nobody waits for both.
#[tokio::test]
async fn a_key_and_the_same_in_braces_are_both_woken() {
    let server = RedisServer::start();
    let waiter = patient(&server.url()).await;
    let wait = |key: &str| {
        let lock = waiter.lock(key).unwrap();
        tokio::spawn(async move { (lock.lock().await.unwrap(), Instant::now()) })
    };
    let mut slowest = ms(0);
    for _ in 0..3 {
        // A Java service holds both: it calls nobody, and publishes.
        for key in ["x", "{x}"] {
            server.command(&["HSET", key, "01234567-89ab-cdef-0123-456789abcdef:1", "1"]);
            server.command(&["PEXPIRE", key, "30000"]);
        }
        let mut events = waiter.events();
        let waiting = ["x", "{x}"].map(wait);
        for _ in &waiting {
            soon("it waits", events.next()).await.unwrap();
        }
        eventually("it listens", PATIENCE, || lock_channels(&server) == ["redisson_lock__channel:{x}"]).await;
        // Past the look that follows the subscription.
        tokio::time::sleep(ms(50)).await;
        let released = Instant::now();
        server.command(&["DEL", "x", "{x}"]);
        server.command(&["PUBLISH", "redisson_lock__channel:{x}", "0"]);
        for waiting in waiting {
            let (guard, got) = soon("it gets in", waiting).await.unwrap();
            slowest = slowest.max(got - released);
            guard.release().await.unwrap();
        }
    }
    eprintln!("both in after {slowest:?} at the latest");
    assert!(slowest < ms(500), "one of the two was not woken: {slowest:?}");
    // One gives up, and the other is still heard for.
    let holder = patient(&server.url()).await;
    let guard = holder.lock("x").unwrap().lock().await.unwrap();
    let _other = holder.lock("{x}").unwrap().lock().await.unwrap();
    let waiting = wait("x");
    waiter.lock("{x}").unwrap().lock_timeout(ms(100)).await.unwrap_err();
    // Past the time for which a key is still listened to when nobody waits for it any more.
    tokio::time::sleep(ms(1300)).await;
    assert_eq!(lock_channels(&server), ["redisson_lock__channel:{x}"], "x is still waited for");
    guard.release().await.unwrap();
    drop(soon("it gets in", waiting).await.unwrap());
    eventually("nothing is listened to any more", PATIENCE, || lock_channels(&server).is_empty()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_keys_are_waited_for_on_one_connection() {
    let server = RedisServer::start();
    let before = connections(&server, "normal") + connections(&server, "pubsub");
    let (one, other) = (patient(&server.url()).await, patient(&server.url()).await);
    let mut guards = Vec::new();
    let mut waiting = JoinSet::new();
    for n in 0..50 {
        guards.push(one.lock(&format!("k{n}")).unwrap().lock().await.unwrap());
        let lock = other.lock(&format!("k{n}")).unwrap();
        waiting.spawn(async move { lock.lock().await.unwrap().release().await.unwrap() });
    }
    eventually("all are listened to", PATIENCE, || lock_channels(&server).len() == 50).await;
    assert_eq!(connections(&server, "pubsub"), 2, "one for each client");
    let total = connections(&server, "normal") + connections(&server, "pubsub") - before;
    eprintln!("two clients have {total} connections");
    assert!(total <= 8, "two clients have {total} connections");
    for guard in guards {
        guard.release().await.unwrap();
    }
    while let Some(done) = soon("the waiters get in", waiting.join_next()).await {
        done.unwrap();
    }
    eventually("nothing is listened to any more", PATIENCE, || lock_channels(&server).is_empty()).await;
    let notices: Vec<String> = ask(&server, &["PUBSUB", "CHANNELS"]);
    assert_eq!(notices.len(), 2, "{notices:?}");
}

/// Whoever waits for a set listens as one who waits for a lock.
#[tokio::test]
async fn sets_are_waited_for_on_one_connection() {
    let server = RedisServer::start();
    let (one, other) = (patient(&server.url()).await, patient(&server.url()).await);
    let set = |client: &Client, n: u32| client.multi([format!("a{n}"), format!("b{n}")]).unwrap();
    let mut guards = Vec::new();
    let mut waiting = JoinSet::new();
    for n in 0..10 {
        guards.push(set(&one, n).lock().await.unwrap());
        for _ in 0..3 {
            let set = set(&other, n);
            waiting.spawn(async move { set.lock().await.unwrap().release().await.unwrap() });
        }
    }
    eventually("all are listened to", PATIENCE, || lock_channels(&server).len() == 10).await;
    assert_eq!(connections(&server, "pubsub"), 2, "one for each client");
    for guard in guards {
        guard.release().await.unwrap();
    }
    while let Some(done) = soon("the waiters get in", waiting.join_next()).await {
        done.unwrap();
    }
    eventually("nothing is listened to any more", PATIENCE, || lock_channels(&server).is_empty()).await;
}

/// An ear that is cut as soon as it is there is opened ever more slowly: each one asks the server about every hold.
#[tokio::test]
async fn an_ear_that_is_cut_over_and_over_is_not_opened_in_a_loop() {
    let server = RedisServer::start();
    let client = patient(&server.url()).await;
    let _guard = client.lock("k").unwrap().lock().await.unwrap();
    eventually("it listens", PATIENCE, || connections(&server, "pubsub") == 1).await;
    let before = accepted(&server);
    let began = Instant::now();
    while began.elapsed() < ms(2000) {
        server.command(&["CLIENT", "KILL", "TYPE", "pubsub"]);
        tokio::time::sleep(ms(1)).await;
    }
    let opened = accepted(&server) - before;
    eprintln!("{opened} connections in {:?}", began.elapsed());
    assert!(opened <= 12, "{opened} connections in {:?}", began.elapsed());
    eventually("it listens again", PATIENCE, || connections(&server, "pubsub") == 1).await;
}

/// Of one client's waiters one looks, once a second; those of other clients look for themselves.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_costs_next_to_nothing() {
    let server = RedisServer::start();
    let clients = [patient(&server.url()).await, patient(&server.url()).await];
    let guard = patient(&server.url()).await.lock("k").unwrap().lock().await.unwrap();
    let mut waiting = JoinSet::new();
    for n in 0..20 {
        let lock = clients[n % 2].lock("k").unwrap();
        waiting.spawn(async move { lock.lock().await.unwrap().release().await.unwrap() });
    }
    eventually("they listen", PATIENCE, || connections(&server, "pubsub") == 3 && !lock_channels(&server).is_empty())
        .await;
    // Past the look that follows the subscription.
    tokio::time::sleep(ms(100)).await;
    server.reset_stats();
    tokio::time::sleep(ms(2000)).await;
    let calls = server.command_calls("evalsha") + server.command_calls("eval");
    eprintln!("20 waiters made {calls} calls in 2 s");
    assert!(calls <= 20, "20 waiters made {calls} calls in 2 s");
    assert!(calls >= 2, "nobody looks by itself: {calls} calls in 2 s");
    guard.release().await.unwrap();
    while let Some(done) = soon("the waiters get in", waiting.join_next()).await {
        done.unwrap();
    }
    eventually("nothing is listened to any more", PATIENCE, || lock_channels(&server).is_empty()).await;
}

/// Waiters that give up leave no ear behind.
#[tokio::test]
async fn waiters_that_gave_up_are_not_listened_for() {
    let server = RedisServer::start();
    let (one, other) = (client(&server.url()).await, client(&server.url()).await);
    let _guard = one.lock("k").unwrap().lock().await.unwrap();
    for _ in 0..5 {
        let error = other.lock("k").unwrap().lock_timeout(ms(300)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout, "it never waited: {error}");
    }
    assert!(lock_channels(&server).len() <= 1);
    eventually("nothing is listened to any more", PATIENCE, || lock_channels(&server).is_empty()).await;
}

/// A client that is gone takes its connections and its card along, with or without being closed.
#[tokio::test]
async fn a_client_that_is_gone_leaves_nothing() {
    let server = RedisServer::start();
    let open = || connections(&server, "normal") + connections(&server, "pubsub");
    let before = open();
    for close in [false, true] {
        let client = client(&server.url()).await;
        let guard = client.lock("k").unwrap().lock().await.unwrap();
        let error = client.lock("k").unwrap().lock_timeout(ms(300)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout, "it never waited: {error}");
        eventually("the card is there", PATIENCE, || !server.keys("tenure:client:*").is_empty()).await;
        drop(guard);
        if close {
            client.close(PATIENCE).await.unwrap();
        }
        drop(client);
        eventually("all connections are closed", PATIENCE, || open() == before).await;
        eventually("only the watermark is left", PATIENCE, || server.keys("*") == ["tenure:fence"]).await;
    }
}
