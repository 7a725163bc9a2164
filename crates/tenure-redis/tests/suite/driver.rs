//! The terms of the `Driver` trait, by what can be seen from outside: nothing is sent twice, an unanswered request fails
//! in time, an answer reaches whoever asked, errors keep their meaning, and lost connections come back.

use crate::support::{
    self, PATIENCE, acquire, ask, backend, builder, claim, client, count_of, eventually, exists, lock_channels, ms,
};
use futures_util::future;
use std::time::Instant;
use tenure_core::{Backend, Client, ErrorKind, Key, Kind, Operation, Options, Outcome, Release, StoreErrorKind};
use tenure_redis::{Config, redis};
use tenure_testkit::{FaultProxy, RedisServer};

/// A backend that is connected and whose server knows the scripts that the tests count.
async fn warm(server: &RedisServer, url: &str) -> tenure_redis::Redis {
    let backend = backend(url);
    let other = Key::new("other").unwrap();
    for operation in [acquire(1), Operation::Inspect] {
        backend.apply_one(Kind::Reentrant, &other, &operation, PATIENCE).await.unwrap();
    }
    server.reset_stats();
    backend
}

#[tokio::test]
async fn a_request_whose_reply_is_cut_is_unanswered_and_applied_once() {
    let server = RedisServer::start();
    let proxy = FaultProxy::start(server.addr());
    let backend = warm(&server, &proxy.url()).await;
    let key = Key::new("k").unwrap();
    let dropped = proxy.drop_reply_after("EVALSHA");
    let began = Instant::now();
    let error = backend.apply_one(Kind::Reentrant, &key, &acquire(2), PATIENCE).await.unwrap_err();
    assert!(began.elapsed() < PATIENCE / 2, "a dead connection says so: {:?}", began.elapsed());
    dropped.await;
    assert_eq!(error.kind, StoreErrorKind::Unanswered, "{error}");
    assert_eq!(server.command_calls("evalsha"), 1);
    let seen = backend.apply_one(Kind::Reentrant, &key, &Operation::Inspect, PATIENCE).await.unwrap();
    assert!(matches!(seen, Outcome::Seen(Some(_))), "it was applied: {seen:?}");
    assert_eq!((server.command_calls("evalsha"), server.command_calls("eval")), (2, 0), "the acquire and the look");
}

#[tokio::test]
async fn a_frozen_server_is_given_up_in_time_and_applies_the_request_once() {
    let server = RedisServer::start();
    let backend = warm(&server, &server.url()).await;
    let key = Key::new("k").unwrap();
    server.pause();
    let began = Instant::now();
    let error = backend.apply_one(Kind::Reentrant, &key, &acquire(2), ms(500)).await.unwrap_err();
    let took = began.elapsed();
    assert_eq!(error.kind, StoreErrorKind::Unanswered, "{error}");
    assert!(took >= ms(490) && took < ms(2400), "{took:?}");
    tokio::time::sleep(ms(2500).saturating_sub(began.elapsed())).await;
    server.resume();
    eventually("the late request is applied", PATIENCE, || exists(&server, "k")).await;
    let seen = backend.apply_one(Kind::Reentrant, &key, &Operation::Inspect, PATIENCE).await.unwrap();
    assert!(matches!(seen, Outcome::Seen(Some(_))), "{seen:?}");
    assert_eq!((server.command_calls("evalsha"), server.command_calls("eval")), (2, 0), "the acquire and the look");
}

/// However many wait in line for one connection, each is given up in its own time.
#[tokio::test]
async fn a_thousand_callers_of_a_frozen_server_are_given_up_in_time() {
    let server = RedisServer::start();
    let backend = std::sync::Arc::new(warm(&server, &server.url()).await);
    server.pause();
    let began = Instant::now();
    let mut callers = tokio::task::JoinSet::new();
    for n in 0..1000 {
        let backend = std::sync::Arc::clone(&backend);
        callers.spawn(async move {
            backend
                .apply_one(Kind::Reentrant, &Key::new(&format!("k{n}")).unwrap(), &acquire(n), ms(500))
                .await
                .unwrap_err()
                .kind
        });
    }
    while let Some(kind) = callers.join_next().await {
        let kind = kind.unwrap();
        assert!(matches!(kind, StoreErrorKind::Unanswered | StoreErrorKind::Unreachable), "{kind:?}");
    }
    assert!(began.elapsed() < ms(5000), "{:?}", began.elapsed());
    server.resume();
    let key = Key::new("free").unwrap();
    assert!(matches!(
        backend.apply_one(Kind::Reentrant, &key, &acquire(9999), PATIENCE).await.unwrap(),
        Outcome::Granted(_)
    ));
}

/// Whoever is given up early, each of the others hears what is about its own key.
#[tokio::test]
async fn dropped_requests_shift_nobodys_answer() {
    let server = RedisServer::start();
    let backend = warm(&server, &server.url()).await;
    let keys: Vec<Key> = (0..200).map(|n| Key::new(&format!("k{n}")).unwrap()).collect();
    for (key, claim) in keys.iter().zip(0..) {
        backend.apply_one(Kind::Reentrant, key, &acquire(claim), PATIENCE).await.unwrap();
    }
    let looks = future::join_all(keys.iter().zip(0..).map(async |(key, n): (&Key, u64)| {
        let look = backend.apply_one(Kind::Reentrant, key, &Operation::Inspect, PATIENCE);
        let seen = match n % 3 {
            // Sent and dropped before it can be answered.
            0 => future::poll_immediate(look).await,
            // Dropped when it may have been answered already.
            1 => tokio::time::timeout(ms(1), look).await.ok(),
            _ => Some(look.await),
        };
        seen.map(|seen| (n, seen))
    }));
    let heard: Vec<_> = looks.await.into_iter().flatten().collect();
    assert!((66..=133).contains(&heard.len()), "{}", heard.len());
    for (n, seen) in heard {
        let Outcome::Seen(Some(holder)) = seen.unwrap() else { panic!("k{n} is held") };
        assert_eq!(holder.holders[0].claim, claim(n), "of k{n}");
    }
}

#[tokio::test]
async fn scripts_that_the_server_forgot_are_told_again() {
    let server = RedisServer::start();
    let client = client(&server.url()).await;
    let lock = client.lock("k").unwrap();
    let forget = || server.command(&["SCRIPT", "FLUSH"]);
    for _ in 0..3 {
        forget();
        let guard = lock.lock().await.unwrap();
        forget();
        assert!(lock.try_lock().await.unwrap().is_none());
        forget();
        let again = guard.reenter().await.unwrap();
        forget();
        guard.renew().await.unwrap();
        forget();
        assert_eq!(lock.inspect().await.unwrap().unwrap().holder().count, 2);
        forget();
        assert_eq!(client.list("*").await.unwrap().len(), 1);
        forget();
        assert_eq!(again.release().await.unwrap(), Release::StillHeld(1));
        forget();
        assert_eq!(guard.release().await.unwrap(), Release::Released);
        forget();
        assert!(lock.force_release().await.unwrap().is_none());
    }
}

#[tokio::test]
async fn whoever_is_not_let_in_is_denied() {
    let server = RedisServer::builder()
        .password("secret")
        .acl("user elsewhere on >pw ~other:* &* +@all")
        .acl("user reader on >pw ~* &* +@all -@scripting")
        .start();
    for (why, url) in [("NOAUTH", server.url()), ("WRONGPASS", server.url_as("", "wrong"))] {
        let error = builder().connect(backend(&url)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Denied, "{why}: {error}");
        let error = builder().build(backend(&url)).unwrap().lock("k").unwrap().lock().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Denied, "{why}: {error}");
    }
    for user in ["elsewhere", "reader"] {
        let client = client(&server.url_as(user, "pw")).await;
        let lock = client.lock("k").unwrap();
        let error = lock.lock().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Denied, "{user}: {error}");
    }
}

/// Here the script may run, and the command in it may not.
#[tokio::test]
async fn whoever_lacks_a_right_within_a_script_is_denied() {
    // A script that fails is not rolled back: wherever it stops, no lock may be left without an end.
    for right in ["exists", "incr", "time", "hset", "pexpire"] {
        let server = RedisServer::builder().acl(&format!("user less on >pw ~* &* +@all -{right}")).start();
        let client = client(&server.url_as("less", "pw")).await;
        let error = client.lock("k").unwrap().lock().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Denied, "{right}: {error}");
        assert!(!exists(&server, "k"), "without {right} a lock was left");
        let under = Options::new().under(&format!("{}", claim(1)));
        let error = client.lock("k").unwrap().lock_with(under).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Denied, "{right}: {error}");
        assert!(!exists(&server, "k"), "without {right} a lock was left under another");
    }
}

#[tokio::test]
async fn a_replica_says_to_point_at_the_primary() {
    let primary = RedisServer::start();
    let replica = RedisServer::start();
    replica.command(&["REPLICAOF", "127.0.0.1", &primary.port().to_string()]);
    let backend = backend(&replica.url());
    let error = backend.apply_one(Kind::Reentrant, &Key::new("k").unwrap(), &acquire(1), PATIENCE).await.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Unreachable, "{error}");
    assert!(error.is_transient() && error.message.contains("primary"), "{error}");
    let client = client(&replica.url()).await;
    let lock = client.lock("k").unwrap();
    let error = lock.try_lock().await.unwrap_err();
    assert!(error.kind() == ErrorKind::Unavailable && error.to_string().contains("primary"), "{error:?}");
    // A fail-over ends, and whoever waits gets in.
    let waiting = tokio::spawn(async move { lock.lock_timeout(PATIENCE).await });
    replica.command(&["REPLICAOF", "NO", "ONE"]);
    drop(waiting.await.unwrap().unwrap());
}

#[tokio::test]
async fn killed_connections_come_back() {
    let server = RedisServer::start();
    let client = client(&server.url()).await;
    let lock = client.lock("k").unwrap();
    for _ in 0..5 {
        let guard = lock.lock().await.unwrap();
        server.command(&["CLIENT", "KILL", "TYPE", "normal"]);
        let again = guard.reenter().await.unwrap();
        server.command(&["CLIENT", "KILL", "TYPE", "normal"]);
        assert_eq!(again.release().await.unwrap(), Release::StillHeld(1));
        server.command(&["CLIENT", "KILL", "TYPE", "normal"]);
        assert_eq!(guard.release().await.unwrap(), Release::Released);
        server.command(&["CLIENT", "KILL", "TYPE", "normal"]);
    }
}

/// A connection that was closed while nobody used it costs the next caller nothing: nothing was sent on it.
/// Of the connections for commands but the one that asks, by which the server tells them apart.
fn ids(server: &RedisServer) -> Vec<String> {
    let list: String = ask(server, &["CLIENT", "LIST", "TYPE", "normal"]);
    let others = list.lines().filter(|line| !line.contains(" cmd=client|list "));
    others.filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

#[tokio::test]
async fn one_attempt_survives_a_connection_that_was_closed_while_idle() {
    let server = RedisServer::start();
    let client = client(&server.url()).await;
    let lock = client.lock("k").unwrap();
    lock.lock().await.unwrap().release().await.unwrap();
    for _ in 0..5 {
        let before = ids(&server);
        server.command(&["CLIENT", "KILL", "TYPE", "normal"]);
        // The client's own thread may have another by now.
        eventually("the connection is closed", PATIENCE, || ids(&server).iter().all(|id| !before.contains(id))).await;
        let guard = lock.try_lock().await.unwrap().expect("it is free");
        guard.release().await.unwrap();
        server.command(&["CLIENT", "KILL", "TYPE", "normal"]);
        assert!(lock.inspect().await.unwrap().is_none());
    }
}

#[tokio::test]
async fn killed_subscriptions_come_back() {
    let server = RedisServer::start();
    let (one, other) = (client(&server.url()).await, client(&server.url()).await);
    // A lease so long that only a wake-up or the safety poll can be what lets the waiter in.
    let guard = one.lock("k").unwrap().lock_with(Options::new()).await.unwrap();
    let lock = other.lock("k").unwrap();
    let waiting = tokio::spawn(async move { lock.lock().await.map(|guard| (guard, Instant::now())) });
    for _ in 0..3 {
        eventually("the waiter listens", PATIENCE, || !lock_channels(&server).is_empty()).await;
        server.command(&["CLIENT", "KILL", "TYPE", "pubsub"]);
    }
    eventually("the waiter listens again", PATIENCE, || !lock_channels(&server).is_empty()).await;
    let released = Instant::now();
    guard.release().await.unwrap();
    let (guard, got) = waiting.await.unwrap().unwrap();
    let took = got - released;
    eprintln!("woken after {took:?}");
    assert!(took < ms(5000), "{took:?}");
    assert_eq!(count_of(&server, &guard), Some(1));
    assert_eq!(ask::<Vec<String>>(&server, &["PUBSUB", "CHANNELS", "tenure:notice:*"]).len(), 2);
}

/// Locks, contends, wakes and releases: all that a way in must be good for.
async fn works(url: &str) {
    work(client(url).await, client(url).await).await;
}

async fn work(one: Client, other: Client) {
    let guard = one.lock("app:k").unwrap().lock_with(Options::new()).await.unwrap();
    let lock = other.lock("app:k").unwrap();
    assert!(lock.try_lock().await.unwrap().is_none());
    let mut events = other.events();
    let waiting = tokio::spawn(async move { lock.lock_timeout(PATIENCE).await });
    events.next().await.expect("it waits");
    let again = guard.reenter().await.unwrap();
    guard.renew().await.unwrap();
    again.release().await.unwrap();
    assert_eq!(one.list("app:*").await.unwrap().len(), 1);
    assert_eq!(guard.release().await.unwrap(), Release::Released);
    let guard = waiting.await.unwrap().unwrap();
    let lock = one.lock("app:k").unwrap();
    assert!(lock.force_release().await.unwrap().is_some());
    assert_eq!(support::soon("it is told", guard.lost()).await, tenure_core::Loss::Forced);
    for kind in [Kind::Simple, Kind::Fair, Kind::Read, Kind::Write] {
        let guard = one.lock_of(kind, "app:k").unwrap().lock().await.unwrap();
        let lock = other.lock_of(kind, "app:k").unwrap();
        let waiting = tokio::spawn(async move { lock.lock_timeout(PATIENCE).await });
        guard.renew().await.unwrap();
        assert_eq!(one.list("app:*").await.unwrap().len(), 1);
        guard.release().await.unwrap();
        waiting.await.unwrap().unwrap().release().await.unwrap();
    }
}

#[tokio::test]
async fn tls_with_a_private_authority_and_a_client_certificate() {
    let server = RedisServer::builder().tls().arg("--tls-auth-clients", "yes").start();
    let (url, ca) = (server.url(), server.ca().display());
    works(&format!("{url}?tls_ca={ca}&tls_cert={}&tls_key={}", server.cert().display(), server.key().display())).await;
    // Without the certificate, and with an authority that did not sign the server's.
    for url in [format!("{url}?tls_ca={ca}"), format!("{url}?tls_ca={}", server.cert().display()), url] {
        let error = builder().connect_within(ms(300)).connect(backend(&url)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    }
}

#[tokio::test]
async fn who_speaks_tls_with_one_that_does_not_is_told() {
    let (plain, tls) =
        (RedisServer::builder().password("hunter2-canary").start(), RedisServer::builder().tls().start());
    let swapped = |server: &RedisServer, scheme| format!("{scheme}://{}", server.addr());
    for (url, hint) in [
        (swapped(&plain, "rediss"), "redis does not speak TLS here, write `redis://`"),
        (swapped(&tls, "redis"), "redis speaks TLS here, write `rediss://`"),
    ] {
        let error = support::soon("it is told", builder().connect(backend(&url))).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        assert!(error.to_string().contains(hint), "{error}");
    }
    // What is merely silent, gone or not trusted is not taken for it.
    plain.pause();
    let silent = builder().connect_within(ms(1500)).connect(backend(&swapped(&plain, "rediss"))).await.unwrap_err();
    let silent_too = builder().connect_within(ms(1500)).connect(backend(&plain.url())).await.unwrap_err();
    plain.kill();
    let gone = builder().connect_within(ms(300)).connect(backend(&swapped(&plain, "rediss"))).await.unwrap_err();
    let untrusted = builder().connect_within(ms(1500)).connect(backend(&tls.url())).await.unwrap_err();
    for error in [silent, silent_too, gone, untrusted] {
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        assert!(error.to_string().contains("cannot be reached"), "{error}");
    }
}

/// All the rights that are needed, and no more; those to look how much lies in a hash are not. The channel is handed to the
/// scripts as a key, as Redisson does it.
#[tokio::test]
async fn a_user_with_few_rights() {
    let rights = "-@all +evalsha +eval +exists +incr +time +set +get +del +unlink +rename +hset +hget +hexists +hlen \
                  +hgetall +hmget +hdel +hscan +type +getrange +zadd +zcard +zcount +zrange +zrangebyscore +zrank +zrem +zremrangebylex +zscore +zmscore +zpopmin +pexpire +pexpireat +pttl +publish +subscribe +unsubscribe +ping +scan";
    let channels = "resetchannels &redisson_lock__channel:* &redisson_rwlock:* &tenure:notice:*";
    let keys = "~app:* ~tenure:* ~redisson_lock__channel:* ~redisson_rwlock:*";
    for looks in ["", "+hstrlen +memory|usage"] {
        let server = RedisServer::builder().acl(&format!("user few on >pw {keys} {channels} {rights} {looks}")).start();
        works(&server.url_as("few", "pw")).await;
        let client = builder().prefix("app:").connect(backend(&server.url_as("few", "pw"))).await.unwrap();
        for kind in [Kind::Reentrant, Kind::Fair, Kind::Read, Kind::Write] {
            let lock = client.lock_of(kind, "seen").unwrap();
            let held = lock.lock().await.unwrap();
            assert!(kind == Kind::Read || lock.try_lock().await.unwrap().is_none(), "{kind}");
            assert_eq!(lock.inspect().await.unwrap().map(|held| held.kind), Some(kind));
            held.release().await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_unix_socket_and_its_options() {
    let server = RedisServer::builder().unix_socket().password("p w+x").start();
    works(&format!("{}?password=p%20w+x&db=3", server.socket_url())).await;
    assert!(ask::<String>(&server, &["INFO", "keyspace"]).contains("db3:"));
}

/// A client that was set up elsewhere speaks either version of the protocol.
#[tokio::test]
async fn a_client_that_was_set_up_elsewhere() {
    let server = RedisServer::builder().password("secret").start();
    for protocol in ["resp2", "resp3"] {
        let url = format!("{}?protocol={protocol}", server.url_as("", "secret"));
        let connect = async || {
            let config = Config::from_client(redis::Client::open(url.as_str()).unwrap());
            builder().connect(config.into_backend()).await.unwrap()
        };
        work(connect().await, connect().await).await;
        let (one, other) = (connect().await, connect().await);
        let (one, other) = (one.lock("k").unwrap(), other.lock("k").unwrap());
        let mut took = Vec::new();
        for _ in 0..10 {
            let guard = one.lock().await.unwrap();
            let waiting = tokio::spawn({
                let other = other.clone();
                async move { other.lock().await.unwrap().release().await.unwrap() }
            });
            eventually("it stands in line", PATIENCE, || exists(&server, "tenure:line:{k}")).await;
            let released = Instant::now();
            guard.release().await.unwrap();
            support::soon("it gets in", waiting).await.unwrap();
            took.push(released.elapsed());
        }
        took.sort_unstable();
        // Whoever hears nothing looks once a second.
        assert!(took[took.len() / 2] < ms(700), "{protocol}: {took:?}");
    }
}

#[tokio::test]
async fn a_database_by_number() {
    let server = RedisServer::start();
    let client = client(&format!("{}/3", server.url())).await;
    let _guard = client.lock("k").unwrap().lock().await.unwrap();
    assert!(!exists(&server, "k"));
    server.command(&["SELECT", "3"]);
    assert!(exists(&server, "k"));
}

#[tokio::test]
async fn credentials_with_special_characters() {
    let server = RedisServer::builder().acl("user us:er@x/ on >p%40@:/?#é&=+ ~* &* +@all").start();
    let login = "us%3Aer%40x%2F:p%2540%40%3A%2F%3F%23%C3%A9%26%3D%2B";
    works(&format!("redis://{login}@{}", server.addr())).await;
}

/// A path is percent-encoded in a URL like everything else.
#[tokio::test]
async fn a_unix_socket_whose_path_has_a_space() {
    let server = RedisServer::builder().unix_socket().start();
    let dir = server.socket().parent().unwrap().join("a dir");
    std::fs::create_dir(&dir).unwrap();
    std::os::unix::fs::symlink(server.socket(), dir.join("redis.sock")).unwrap();
    works(&format!("redis+unix://{}", dir.join("redis.sock").display()).replace(' ', "%20")).await;
}
