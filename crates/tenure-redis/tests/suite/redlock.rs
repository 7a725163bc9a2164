//! A majority of servers, and what becomes of its locks when the others are down, hang or forget.

use crate::support::{PATIENCE, acquire, eventually, ms};
use std::time::{Duration, Instant};
use tenure_core::{Backend, Client, ErrorKind, Key, Kind, Options, Outcome, Owner};
use tenure_redis::redis::from_redis_value;
use tenure_redis::{Redlock, RedlockConfig};
use tenure_testkit::RedisServer;

pub(crate) fn servers(count: usize) -> Vec<RedisServer> {
    (0..count).map(|_| RedisServer::start()).collect()
}

pub(crate) fn urls(servers: &[RedisServer]) -> Vec<String> {
    servers.iter().map(RedisServer::url).collect()
}

pub(crate) fn backend_of(urls: &[String], options: &str) -> Redlock {
    RedlockConfig::from_url(&format!("redlock:{}{options}", urls.join(","))).unwrap().into_backend()
}

fn backend(servers: &[RedisServer], options: &str) -> Redlock {
    backend_of(&urls(servers), options)
}

pub(crate) async fn client_of(urls: &[String], options: &str) -> Client {
    let lease = Options::new().lease(Duration::from_secs(3));
    Client::builder().options(lease).connect(backend_of(urls, options)).await.unwrap()
}

pub(crate) async fn client(servers: &[RedisServer], options: &str) -> Client {
    client_of(&urls(servers), options).await
}

/// How many servers have the key.
pub(crate) fn spread(servers: &[RedisServer], key: &str) -> usize {
    servers.iter().filter(|server| !server.keys(key).is_empty()).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_is_had_while_a_majority_lives_and_its_tokens_rise() {
    let servers = servers(5);
    let client = client(&servers, "").await;
    let mut last = 0;
    for down in [None, Some(0), Some(1)] {
        if let Some(down) = down {
            servers[down].kill();
        }
        for kind in [Kind::Reentrant, Kind::Simple] {
            let guard = client.lock_of(kind, &format!("{kind}")).unwrap().lock_timeout(PATIENCE).await.unwrap();
            assert!(guard.token() > last);
            last = guard.token();
            guard.release().await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_majority_each_server_is_named_with_what_it_said() {
    let servers = servers(3);
    let client = client(&servers, "").await;
    client.lock("k").unwrap().lock().await.unwrap().release().await.unwrap();
    servers[0].kill();
    servers[1].kill();
    let began = Instant::now();
    let error = client.lock("k").unwrap().lock_timeout(ms(500)).await.unwrap_err();
    assert!(began.elapsed() < PATIENCE);
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    for server in &servers {
        assert!(error.to_string().contains(&server.addr().to_string()), "{error}");
    }
    assert!(error.to_string().contains("granted it"), "{error}");
    eventually("nothing is left", PATIENCE, || spread(&servers[2..], "k") == 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_that_hang_hold_nobody_up() {
    let servers = servers(5);
    let client = client(&servers, "").await;
    let lock = client.lock("k").unwrap();
    lock.lock().await.unwrap().release().await.unwrap();
    servers[0].pause();
    servers[1].pause();
    let guard = lock.lock_timeout(ms(2000)).await.unwrap();
    assert!(guard.is_held());
    guard.release().await.unwrap();
    servers[0].resume();
    servers[1].resume();
}

/// The second forgets that it is one of the two that have the lock: with it, the third would make a majority.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_restarted_empty_does_not_vote_twice() {
    let servers = servers(3);
    let other = client(&servers, "").await;
    other.lock("warm").unwrap().lock().await.unwrap().release().await.unwrap();
    // By nobody who would look after it, and find it lost.
    let (holder, key) = (backend(&servers, ""), Key::new("k").unwrap());
    let granted = holder.apply_one(Kind::Reentrant, &key, &acquire(1), PATIENCE).await.unwrap();
    assert!(matches!(granted, Outcome::Granted(_)), "{granted:?}");
    eventually("all have it", PATIENCE, || spread(&servers, "k") == 3).await;
    servers[2].command(&["DEL", "k"]);
    servers[1].restart();
    let error = other.lock("k").unwrap().lock_timeout(ms(1500)).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Timeout | ErrorKind::Unavailable), "{error}");
    // One that has never seen it before is as careful if it is told to be.
    let careful = client(&servers, "?abstain=uptime").await;
    let error = careful.lock("k").unwrap().lock_timeout(ms(500)).await.unwrap_err();
    assert!(error.to_string().contains("does not vote"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_came_back_is_given_the_lock_again() {
    let servers = servers(3);
    let client = client(&servers, "").await;
    let owner = Options::new().owner(Owner::new()).lease(Duration::from_secs(3));
    let lock = client.lock("k").unwrap();
    let guard = lock.lock_with(owner.clone()).await.unwrap();
    let inner = lock.lock_with(owner).await.unwrap();
    eventually("all have it", PATIENCE, || spread(&servers, "k") == 3).await;
    servers[1].restart();
    eventually("it is there again", PATIENCE, || spread(&servers, "k") == 3).await;
    let fence: String = from_redis_value(servers[1].command(&["HGET", "k", "fence"])).unwrap();
    assert_eq!(fence, guard.token().to_string());
    let count: u32 = from_redis_value(servers[1].command(&["HGET", "k", guard.claim().as_str()])).unwrap();
    assert_eq!(count, 2);
    inner.release().await.unwrap();
    guard.release().await.unwrap();
    eventually("nothing is left", PATIENCE, || spread(&servers, "k") == 0).await;
}

#[tokio::test]
async fn what_a_majority_cannot_keep_is_refused_with_the_reason() {
    let servers = servers(3);
    let client = client(&servers, "").await;
    for error in [
        client.fair("k").unwrap_err(),
        client.rw_lock("k").unwrap_err(),
        client.semaphore("k").unwrap_err(),
        client.permits("k").unwrap_err(),
        client.latch("k").unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert!(error.to_string().contains("re-entrant or a simple lock"), "{error}");
    }
    let long = Options::new().lease(Duration::from_secs(120));
    let error = client.lock("k").unwrap().lock_with(long).await.unwrap_err();
    assert!(error.to_string().contains("max_lease"), "{error}");
}

#[test]
fn urls_that_make_no_majority_are_refused() {
    for (url, said) in [
        ("redlock:redis://a,redis://b", "servers=2"),
        ("redlock:redis://a,redis://b,redis://c,redis://d", "servers=4"),
        ("redlock:redis://a,redis://b,redis://a", "twice"),
        ("redlock:redis://a,redis://b,mysql://c", "server=3"),
        ("redlock:redis://a,redis://b,redis://c?max_lease=25h", "max_lease"),
        ("redlock:redis://a,redis://b,redis://c?max_lease=soon", "max_lease"),
        ("redlock:redis://a,redis://b,redis://c?abstain=never", "abstain=uptime"),
        ("redlock:redis://a,redis://b,redis://:hunter2-canary@c?x=1", "option"),
        ("redlock:redis://:hunter2,canary@a,redis://b,redis://c", "%2C"),
        ("redlock:redis://a,redis://b,redis://:canary,hunter2@c", "%2C"),
        ("redlock:redis://a,redis://b,redis://c?max_lease=5s&max_lease=6s", "twice"),
        ("redlock:redis://a,redis://b,redis://c?abstain=uptime&abstain=uptime", "twice"),
        ("redlock:redis://a,redis://b?layout=redisson,redis://c", "layout"),
        ("redlock:", "redis://"),
        ("redlock:redis://a/0,redis://a/1,redis://b", "twice"),
        ("redlock:redis://a?max_lease=30s,redis://b,redis://c", "behind the last"),
        ("redlock:redis://a,,redis://c", "server=2"),
    ] {
        let error = RedlockConfig::from_url(url).unwrap_err().to_string();
        assert!(error.contains(said) && !error.contains("canary"), "{url}: {error}");
    }
}
