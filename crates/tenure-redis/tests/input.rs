//! Bad input, in URLs and under keys: what is wrong is said, nothing is harmed, and no secret leaks.

mod support;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;
use std::sync::{Arc, Mutex};
use support::{LEASE, PATIENCE, ask, backend, builder, client, eventually, ms};
use tenure_core::kernel::{Counting, Supplying, Want};
use tenure_core::{
    Backend, Client, Error, ErrorKind, Key, Kind, Operation, Options, Outcome, Pattern, Policy, Stay, StoreErrorKind,
};
use tenure_redis::Config;
use tenure_redis::redis::Value;
use tenure_testkit::RedisServer;

const MARKER: &str = "hunter2-canary";

/// Why a URL was refused, which must be for being invalid.
fn refused(url: &str) -> Error {
    let Err(error) = Config::from_url(url) else { panic!("a url was accepted that says nonsense") };
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error:?}");
    error
}

#[test]
fn a_url_that_says_nonsense_is_refused_by_name() {
    for (url, named) in [
        ("redis://:hunter2-canary@h?colour=red", "colour"),
        ("redis://:hunter2-canary@h?db=1&timeout=5", "timeout"),
        ("rediss://:hunter2-canary@h?tls_insecure=1", "tls_insecure"),
        ("redis://:hunter2-canary@h?tls_ca=/ca.pem", "tls_ca"),
        ("redis+unix:///s?password=hunter2-canary&tls_key=/k", "tls_key"),
        ("redis://:hunter2-canary@h/three", "three"),
        ("redis://:hunter2-canary@h/-1", "-1"),
        ("redis://:hunter2-canary@h/0/1", "0/1"),
        ("redis://:hunter2-canary@h?db=x", "x"),
        ("redis://:hunter2-canary@", "host"),
        ("redis:///0?password=hunter2-canary", "host"),
        ("redis+unix://host/s?password=hunter2-canary", "path"),
        ("http://:hunter2-canary@h", "http"),
        ("redis-sentinel://:hunter2-canary@h", "redis-sentinel"),
        ("redis://:hunter2-canary@h:99999", "port"),
        ("hunter2-canary", "redis://"),
        ("redis://:hunter2-canary@h#x", "fragment"),
        ("redis://:%ff@h", "UTF-8"),
        ("redis://:hunter2-canary@h?user=%ff", "`user`"),
        ("redis+unix:///s?password=hunter2-canary%ff", "`password`"),
        ("rediss://:hunter2-canary@h?tls_cert=/c.pem", "tls_key"),
        ("rediss://:hunter2-canary@h?tls_key=/k.pem", "tls_cert"),
        ("rediss://:hunter2-canary@h?tls_ca=/no/such/ca.pem", "/no/such/ca.pem"),
        ("rediss://:hunter2-canary@h?tls_cert=/no/such/c.pem&tls_key=/k", "/no/such/c.pem"),
    ] {
        let error = refused(url).to_string();
        assert!(!error.contains(MARKER), "the error about `{named}` quotes the password");
        assert!(error.contains(named), "`{named}` is not in: {error}");
    }
}

/// Of two values one would be dropped in silence, and the lock be taken somewhere else than was meant.
#[test]
fn what_a_url_says_twice_is_refused_by_name() {
    for (url, option) in [
        ("redis://:hunter2-canary@h?db=1&db=2", "db"),
        ("redis://:hunter2-canary@h?db=1&db=1", "db"),
        ("redis://:hunter2-canary@h/3?db=1", "db"),
        ("redis://:hunter2-canary@h/3?db=3", "db"),
        ("redis://h?user=a&user=b&password=hunter2-canary", "user"),
        ("redis://a:hunter2-canary@h?user=b", "user"),
        ("redis://h?password=hunter2-canary&password=hunter2-canary", "password"),
        ("redis://:hunter2-canary@h?password=hunter2-canary", "password"),
        ("redis+unix:///s?password=hunter2-canary&db=0&password=x", "password"),
        ("rediss://:hunter2-canary@h?tls_ca=/a.pem&tls_ca=/b.pem", "tls_ca"),
        ("rediss://:hunter2-canary@h?tls_cert=/a.pem&tls_key=/k.pem&tls_cert=/b.pem", "tls_cert"),
        ("rediss://:hunter2-canary@h?tls_cert=/a.pem&tls_key=/k.pem&tls_key=/l.pem", "tls_key"),
    ] {
        let error = refused(url).to_string();
        assert!(!error.contains(MARKER), "the error about `{option}` quotes the password");
        assert!(error.contains("give it once") && error.ends_with(&format!("option=`{option}`")), "{error}");
    }
}

#[test]
fn a_tls_file_that_holds_no_certificate_is_refused() {
    let file = std::env::current_exe().unwrap();
    let error = refused(&format!("rediss://:{MARKER}@h?tls_ca={}", file.display())).to_string();
    assert!(!error.contains(MARKER) && error.contains("tls"), "it says what is not usable");
}

/// Who forgets to encode `/`, `?` or `#` in a password has a URL that falls apart inside the password: what follows
/// the sign is part of the secret, whatever it looks like.
#[test]
fn a_password_that_should_have_been_encoded_is_not_quoted() {
    let urls = [
        "redis://user:12/hunter2-canary@h:6379/0",
        "redis://user:12?hunter2-canary@h:6379/0",
        "redis://user:12?hunter2-canary=1@h:6379/0",
        "redis://user:12#hunter2-canary@h:6379/0",
        "redis://user:hunter2-canary/12@h:6379/0",
        "redis://user:hunter2-canary?12@h:6379/0",
        "redis://user:hunter2-canary#12@h:6379/0",
        "redis://:12/hunter2-canary@h:6379/0",
        "redis+unix:///s?password=a&hunter2-canary",
        "redis+unix:///s?password=a&db=hunter2-canary",
    ];
    let quoted: Vec<String> = urls
        .into_iter()
        .filter(|url| refused(url).to_string().contains(MARKER))
        .map(|url| url.replace(MARKER, "SECRET"))
        .collect();
    assert!(quoted.is_empty(), "the error quotes the SECRET of: {quoted:#?}");
}

/// What is under a key; for a hash not by `DUMP`, whose order changes while a big one is still being spread out.
fn contents(server: &RedisServer) -> (Value, BTreeMap<String, String>) {
    match ask::<String>(server, &["TYPE", "k"]).as_str() {
        "hash" => (server.command(&["HLEN", "k"]), ask(server, &["HGETALL", "k"])),
        _ => (server.command(&["DUMP", "k"]), BTreeMap::new()),
    }
}

/// Puts something else under the key, and shows that every operation leaves it alone, in either layout.
async fn conflicts(what: &str, put: impl Fn(&RedisServer)) {
    for layout in ["tenure", "redisson"] {
        let server = RedisServer::start();
        let client = client(&format!("{}?layout={layout}", server.url())).await;
        put(&server);
        let before = contents(&server);
        assert_ne!(before.0, Value::Nil);
        for kind in [Kind::Reentrant, Kind::Fair, Kind::Read, Kind::Write] {
            let lock = client.lock_of(kind, "k").unwrap();
            let errors = [
                ("lock", lock.lock().await.err()),
                ("lock_timeout", lock.lock_timeout(LEASE).await.err()),
                ("try_lock", lock.try_lock().await.err()),
                ("inspect", lock.inspect().await.err()),
                ("is_locked", lock.is_locked().await.err()),
                ("force_release", lock.force_release().await.err()),
            ];
            for (operation, error) in errors {
                let what = format!("{operation} as {kind} in layout {layout} on {what}");
                let error = error.unwrap_or_else(|| panic!("fine: {what}"));
                assert_eq!(error.kind(), ErrorKind::Conflict, "{what}: {error}");
                let said = error.to_string();
                assert!(said.contains("is no lock, choose another key") && said.contains("key=`k`"), "{what}: {said}");
            }
        }
        assert!(client.list("*").await.unwrap().is_empty());
        client.close(PATIENCE).await.unwrap();
        assert!(before == contents(&server) && server.pttl("k") == -1, "{what} was changed");
    }
}

#[tokio::test]
async fn keys_of_others_are_conflicts_and_stay_unharmed() {
    let uuid = "01234567-89ab-cdef-0123-456789abcdef";
    conflicts("a string", |server| drop(server.command(&["SET", "k", "v"]))).await;
    conflicts("a list", |server| drop(server.command(&["RPUSH", "k", "a", "b"]))).await;
    conflicts("a user's hash", |server| drop(server.command(&["HSET", "k", "name", "x", "mail", "y"]))).await;
    conflicts("a user's hash with a mode", |server| {
        server.command(&["HSET", "k", "mode", "dark", &format!("{uuid}:1"), "1"]);
    })
    .await;
    for mode in ["read", "write", "tenure"] {
        conflicts("a user's hash with a mode as locks have it", |server| {
            server.command(&["HSET", "k", "mode", mode, "url", "http://x", "retries", "3"]);
        })
        .await;
    }
    conflicts("a huge hash", |server| {
        let fields: Vec<String> = (0..10_000).map(|n| format!("{uuid}:{n}")).collect();
        for fields in fields.chunks(500) {
            let pairs = fields.iter().flat_map(|field| [field.as_str(), "1"]);
            server.command(&["HSET", "k"].into_iter().chain(pairs).collect::<Vec<_>>());
        }
    })
    .await;
}

/// All that can be asked of counts.
fn counting() -> Vec<(Kind, Operation)> {
    let (lease, within) = (LEASE, Stay::InLine { place: LEASE });
    let take = |want| Operation::Take { claim: support::claim(1), want, of: Some(3), lease, stay: within };
    let all = |kind| {
        let supplied = [Supplying::Look, Supplying::Begin(1), Supplying::Set(1), Supplying::Add(1), Supplying::Drain];
        supplied.map(|supplying| (kind, Operation::Supply(supplying)))
    };
    let down = [Counting::Look, Counting::Begin(1), Counting::Set(1), Counting::Down(None), Counting::Delete];
    let mut operations =
        vec![(Kind::Semaphore, take(Want::Some(1))), (Kind::Permits, take(Want::Named(vec![support::claim(2)])))];
    operations.extend(all(Kind::Semaphore));
    operations.extend(all(Kind::Permits));
    operations.extend(down.map(|counting| (Kind::Latch, Operation::Count(counting))));
    operations
}

/// What is put on the server, by which commands, and which kinds do not look at it.
type Put = (&'static str, &'static [&'static [&'static str]], &'static [Kind]);

/// What is no count, or has something beside it that is not ours, is refused by every operation, and stays as it was.
#[tokio::test]
async fn counts_of_others_are_conflicts_and_stay_unharmed() {
    let server = RedisServer::start();
    let backend = backend(&server.url());
    let key = Key::new("k").unwrap();
    let puts: [Put; 15] = [
        ("a text", &[&["SET", "k", "v"]], &[]),
        ("an empty text", &[&["SET", "k", ""]], &[]),
        ("half a number", &[&["SET", "k", "12 apples"]], &[]),
        ("a fraction", &[&["SET", "k", "1.5"]], &[]),
        ("a number as nobody writes it", &[&["SET", "k", "007"]], &[]),
        ("less than nothing, as nobody writes it", &[&["SET", "k", "-0"]], &[]),
        ("a huge number", &[&["SET", "k", "99999999999"]], &[]),
        ("a number beyond all", &[&["SET", "k", "123456789012345678901234567890"]], &[]),
        ("a list", &[&["RPUSH", "k", "a"]], &[]),
        ("a hash", &[&["HSET", "k", "a", "b"]], &[]),
        ("a list beside it", &[&["SET", "k", "3"], &["RPUSH", "tenure:permits:{k}", "a"]], &[]),
        ("leases of another sort", &[&["SET", "k", "3"], &["SET", "tenure:permits:ends:{k}", "a"]], &[Kind::Latch]),
        ("names of another sort", &[&["SET", "k", "3"], &["SET", "{k}:timeout", "a"]], &[]),
        ("a round of another sort", &[&["SET", "k", "3"], &["SET", "tenure:latch:{k}", "a"]], &[]),
        (
            "a line of another sort",
            &[&["SET", "k", "3"], &["SET", "tenure:queue:{k}", "a"]],
            &[Kind::Permits, Kind::Latch],
        ),
    ];
    for (what, commands, fine) in puts {
        for (kind, operation) in counting() {
            if fine.contains(&kind) {
                continue;
            }
            server.command(&["FLUSHALL"]);
            for command in commands {
                server.command(command);
            }
            let before = all_of(&server);
            let leaves = matches!(operation, Operation::Renew { .. } | Operation::Release { .. });
            match backend.apply_one(kind, &key, &operation, PATIENCE).await {
                Err(error) => {
                    assert_eq!(error.kind, StoreErrorKind::Conflict, "{what}: {kind} {operation:?}: {error}");
                }
                // Whoever held something holds nothing there.
                Ok(Outcome::NotHeld) if leaves => {}
                Ok(outcome) => panic!("{what}: {kind} {operation:?} gave {outcome:?}"),
            }
            assert_eq!(all_of(&server), before, "{what}: {kind} {operation:?}");
        }
    }
}

/// All keys and what is in them, but for the watermark.
fn all_of(server: &RedisServer) -> BTreeMap<String, String> {
    let keys = server.keys("*").into_iter().filter(|key| key != "tenure:fence");
    keys.map(|key| (key.clone(), format!("{:?}", server.command(&["DUMP", &key])))).collect()
}

/// One key is a count of one kind. What is counted under it tells which, where that lies beside it.
#[tokio::test]
async fn counts_of_one_kind_are_conflicts_as_another() {
    let server = RedisServer::start();
    let backend = backend(&server.url());
    let key = Key::new("k").unwrap();
    let held = counting();
    for (kind, first) in [&held[0], &held[1], &held[13]] {
        server.command(&["FLUSHALL"]);
        assert!(backend.apply_one(*kind, &key, first, PATIENCE).await.is_ok());
        let before = all_of(&server);
        for (other, operation) in held.iter().filter(|(other, _)| other != kind) {
            let outcome = backend.apply_one(*other, &key, operation, PATIENCE).await.unwrap();
            assert_eq!(outcome, Outcome::Conflict(*kind), "{other} {operation:?}");
        }
        for lock in [Kind::Reentrant, Kind::Simple, Kind::Fair, Kind::Read, Kind::Fenced] {
            let outcome = backend.apply_one(lock, &key, &support::acquire(9), PATIENCE).await.unwrap();
            assert_eq!(outcome, Outcome::Conflict(*kind), "{lock}");
        }
        assert_eq!(all_of(&server), before);
    }
    // A number of another's is no lock, and nobody's to free; it is not shown as one either.
    server.command(&["FLUSHALL"]);
    server.command(&["SET", "k", "3"]);
    for kind in [Kind::Semaphore, Kind::Permits, Kind::Latch] {
        let looked = backend.apply_one(kind, &key, &Operation::Inspect, PATIENCE).await.unwrap();
        assert_eq!(looked, Outcome::Seen(None), "{kind}");
        let forced = backend.apply_one(kind, &key, &Operation::ForceRelease, PATIENCE).await.unwrap();
        assert_eq!(forced, Outcome::Forced(None), "{kind}");
    }
    for kind in [Kind::Reentrant, Kind::Fair] {
        for operation in [Operation::Inspect, Operation::ForceRelease] {
            let error = backend.apply_one(kind, &key, &operation, PATIENCE).await.unwrap_err();
            assert_eq!(error.kind, StoreErrorKind::Conflict, "{kind} {operation:?}");
        }
    }
    assert!(backend.list(&Pattern::new("*"), PATIENCE).await.unwrap().is_empty());
    assert_eq!(ask::<String>(&server, &["GET", "k"]), "3");
}

/// There are no more than Java can count.
#[tokio::test]
async fn more_permits_than_can_be_counted_are_refused() {
    let server = RedisServer::start();
    let backend = backend(&server.url());
    let key = Key::new("k").unwrap();
    for kind in [Kind::Semaphore, Kind::Permits] {
        server.command(&["FLUSHALL"]);
        for (supplying, fine) in [
            (Supplying::Begin(2_147_483_648), false),
            (Supplying::Add(-2_147_483_649), false),
            (Supplying::Add(i64::MAX), false),
            (Supplying::Begin(2_147_483_647), true),
            (Supplying::Add(1), false),
            (Supplying::Set(u32::MAX), false),
            (Supplying::Add(i64::MIN), false),
            (Supplying::Drain, true),
        ] {
            let outcome = backend.apply_one(kind, &key, &Operation::Supply(supplying), PATIENCE).await;
            match outcome {
                Ok(_) if fine => {}
                Err(error) if !fine => {
                    assert_eq!(error.kind, StoreErrorKind::Unsupported, "{kind} {supplying:?}: {error}");
                    assert!(error.message.contains("no more than 2147483647 permits"), "{error}");
                }
                outcome => panic!("{kind} {supplying:?}: {outcome:?}"),
            }
        }
        assert_eq!(ask::<String>(&server, &["GET", "k"]), "0");
    }
}

/// A read-write lock as Redisson has it is one to us too, in the way of those who want a side, and a conflict for others.
#[tokio::test]
async fn a_read_write_lock_of_another_library_is_one() {
    let server = RedisServer::start();
    let client = client(&server.url()).await;
    let claim = "01234567-89ab-cdef-0123-456789abcdef:1";
    server.command(&["HSET", "k", "mode", "read", claim, "2"]);
    server.command(&["PEXPIRE", "k", "60000"]);
    let before = contents(&server);
    let lock = client.rw_lock("k").unwrap();
    let held = lock.read().inspect().await.unwrap().unwrap();
    assert_eq!((held.kind, held.holder().count, held.holder().token), (Kind::Read, 2, None));
    assert!(lock.read().try_lock().await.unwrap().is_none() && lock.write().try_lock().await.unwrap().is_none());
    assert_eq!(lock.write().lock_timeout(ms(300)).await.unwrap_err().kind(), ErrorKind::Timeout);
    for kind in [Kind::Reentrant, Kind::Simple, Kind::Fair] {
        let error = client.lock_of(kind, "k").unwrap().lock_timeout(PATIENCE).await.unwrap_err();
        assert!(error.kind() == ErrorKind::Conflict && error.to_string().contains("held as=read"), "{kind}: {error}");
    }
    assert_eq!(contents(&server), before);
    assert!(lock.read().force_release().await.unwrap().is_some());
    assert_eq!(lock.read().inspect().await.unwrap(), None);
}

/// What others keep in a hash or a string may look like a lock of ours from afar. Whoever waits for it leaves no mark.
#[tokio::test]
async fn what_only_looks_like_a_lock_of_ours_is_not_marked_by_those_who_wait() {
    let uuid = "01234567-89ab-cdef-0123-456789abcdef";
    let (claim, under) = (format!("{uuid}:9"), format!("{uuid}:9^"));
    let server = RedisServer::start();
    let client = client(&server.url()).await;
    let outer = client.lock("outer").unwrap().lock().await.unwrap();
    let mut wrong = Vec::new();
    for (what, fields) in [
        ("a read-write lock with a fence", vec!["mode", "read", "fence", "1794785127916504", &claim, "1"]),
        ("a garden", vec!["fence", "12", "gate", "1"]),
        ("a fence alone", vec!["fence", "12"]),
        ("a fence and a short id", vec!["fence", "12", "a-b:1", "1"]),
        ("a fence and something with a mark", vec!["fence", "12", "note:^", "5"]),
        ("a fence and something under the id of a session", vec!["fence", "12", &claim, "three apples"]),
        ("a fence and a claim that is written differently", vec!["fence", "12", &under, "5"]),
    ] {
        server.command(&["DEL", "k"]);
        server.command(&[["HSET", "k"].as_slice(), &fields].concat());
        let before = contents(&server);
        let lock = client.lock("k").unwrap();
        for options in [Options::new(), Options::new().under(&outer.lineage())] {
            for (how, error) in [
                ("waits", lock.lock_with(options.clone().wait(PATIENCE)).await.err()),
                ("asks", lock.try_lock_with(options).await.err()),
            ] {
                match error {
                    Some(error) if error.kind() == ErrorKind::Conflict => {}
                    other => wrong.push(format!("{what}, {how}: {other:?}")),
                }
            }
        }
        if contents(&server) != before || !server.keys("tenure:line:*").is_empty() {
            wrong.push(format!("{what} was changed to {:?}", contents(&server)));
        }
    }
    for value in ["ab:1 2", &format!("{claim} 2 apples"), &format!("{claim} 2 \n"), &format!("{uuid}{claim} 2")] {
        server.command(&["SET", "s", value]);
        // As a simple lock of another library's would be.
        let error = client.simple("s").unwrap().lock_timeout(ms(1000)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout, "`{value}`: {error}");
        let now: String = ask(&server, &["GET", "s"]);
        if now != *value {
            wrong.push(format!("`{value}` was changed to `{now}`"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Beyond 2^53 a script cannot count by one any more: better no token than one that was handed out before.
#[tokio::test]
async fn tokens_that_cannot_be_counted_exactly_are_not_handed_out() {
    let server = RedisServer::start();
    let client = client(&server.url()).await;
    let outer = client.lock("outer").unwrap().lock().await.unwrap();
    let largest = (1u64 << 53) - 1;
    for watermark in [largest, largest + 1, largest + 2, i64::MAX.unsigned_abs()] {
        for (what, simple, options) in [
            ("re-entrant", false, Options::new()),
            ("simple", true, Options::new()),
            ("nested", false, Options::new().under(&outer.lineage())),
        ] {
            server.command(&["SET", "tenure:fence", &watermark.to_string()]);
            // A second one need not look at the clock.
            for _ in 0..2 {
                let taken = if simple {
                    client.simple("k").unwrap().lock_with(options.clone()).await
                } else {
                    client.lock("k").unwrap().lock_with(options.clone()).await
                };
                let Err(error) = taken else { panic!("{what}: a token beyond {watermark} was handed out") };
                assert_eq!(error.kind(), ErrorKind::Unexpected, "{what} at {watermark}: {error}");
                assert!(error.to_string().contains("delete the key `tenure:fence`"), "{what} at {watermark}: {error}");
                assert!(!support::exists(&server, "k"), "{what}: a lock was left");
            }
        }
    }
    server.command(&["SET", "tenure:fence", &(largest - 1).to_string()]);
    let last = client.lock("k").unwrap().lock().await.unwrap();
    assert_eq!(last.token(), largest, "the last that is exact");
    last.release().await.unwrap();
    // As the error says.
    server.command(&["DEL", "tenure:fence"]);
    assert!(client.lock("k").unwrap().lock().await.unwrap().token() > outer.token());
}

/// What somebody else wrote there is named, with what to do about it.
#[tokio::test]
async fn a_watermark_that_is_no_number_is_named() {
    let server = RedisServer::start();
    let client = client(&server.url()).await;
    let outer = client.lock("outer").unwrap().lock().await.unwrap();
    for put in [["SET", "tenure:fence", "many"], ["SET", "tenure:fence", "1.5"], ["RPUSH", "tenure:fence", "a"]] {
        server.command(&["DEL", "tenure:fence"]);
        server.command(&put);
        let under = Options::new().under(&outer.lineage());
        let errors = [
            ("re-entrant", client.lock("k").unwrap().lock().await.err()),
            ("nested", client.lock("k").unwrap().lock_with(under).await.err()),
            ("simple", client.simple("k").unwrap().lock().await.err()),
            ("fair", client.fair("k").unwrap().lock().await.err()),
            ("fenced", client.fenced("k").unwrap().lock().await.err()),
            ("read", client.rw_lock("k").unwrap().read().lock().await.err()),
            ("multi", client.multi(["k", "l"]).unwrap().lock().await.err()),
            ("semaphore", client.semaphore("s").unwrap().of(1).unwrap().acquire().await.err()),
            ("latch", client.latch("l").unwrap().set(1).await.err()),
        ];
        for (what, error) in errors {
            let error = error.unwrap_or_else(|| panic!("fine: {what} with {put:?}"));
            let said = error.to_string();
            assert_eq!(error.kind(), ErrorKind::Unexpected, "{what} with {put:?}: {said}");
            assert!(said.contains("delete the key `tenure:fence`"), "{what} with {put:?}: {said}");
        }
        assert!(!support::exists(&server, "k"), "a lock was left");
    }
}

/// So many claims stand under each other at the most, that everybody can still see and free the lock.
#[tokio::test]
async fn a_lock_takes_no_more_claims_than_others_can_read() {
    let server = RedisServer::start();
    let (client, other) = (client(&server.url()).await, client(&server.url()).await);
    for kind in [Kind::Reentrant, Kind::Fair, Kind::Fenced] {
        let (lock, seen) = (client.lock_of(kind, "k").unwrap(), other.lock_of(kind, "k").unwrap());
        let mut guards = vec![lock.lock().await.unwrap()];
        let error = loop {
            let lineage = guards.last().unwrap().lineage();
            match lock.try_lock_with(Options::new().under(&lineage)).await {
                Ok(guard) => guards.push(guard.unwrap()),
                Err(error) => break error,
            }
        };
        let said = error.to_string();
        assert!(said.contains("stand under each other") && said.contains("pass the guard on"), "{kind}: {said}");
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{kind}: {said}");
        assert!((50..64).contains(&guards.len()), "{kind}: {}", guards.len());
        // Whoever counts, or waits, adds a mark.
        let again = guards[0].reenter().await.unwrap();
        assert_eq!(seen.lock_timeout(ms(300)).await.unwrap_err().kind(), ErrorKind::Timeout, "{kind}");
        assert_eq!(seen.inspect().await.unwrap().unwrap().holders.len(), guards.len(), "{kind}");
        assert_eq!(other.list("k").await.unwrap().len(), 1, "{kind}");
        again.release().await.unwrap();
        // One who leaves makes room for another.
        guards.pop().unwrap().release().await.unwrap();
        let lineage = guards.last().unwrap().lineage();
        guards.push(lock.try_lock_with(Options::new().under(&lineage)).await.unwrap().unwrap());
        assert!(seen.force_release().await.unwrap().is_some(), "{kind}");
        drop(guards);
        assert!(seen.lock().await.unwrap().release().await.is_ok(), "{kind}");
    }
}

/// Why a key was refused, by every way in: with a server that nobody reaches, so that nothing can have been sent.
async fn refused_keys(client: &Client, key: &str) -> Vec<(String, Option<Error>)> {
    let lock = |kind: &Kind| (format!("lock_of {kind}"), client.lock_of(*kind, key).err());
    let mut ways: Vec<_> = Kind::ALL.iter().map(lock).collect();
    ways.extend([
        ("lock".to_owned(), client.lock(key).err()),
        ("simple".to_owned(), client.simple(key).err()),
        ("fair".to_owned(), client.fair(key).err()),
        ("rw_lock".to_owned(), client.rw_lock(key).err()),
        ("multi".to_owned(), client.multi([key]).err()),
        ("fenced".to_owned(), client.fenced(key).err()),
        ("semaphore".to_owned(), client.semaphore(key).err()),
        ("permits".to_owned(), client.permits(key).err()),
        ("latch".to_owned(), client.latch(key).err()),
        ("with_lock".to_owned(), client.with_lock(key, Options::new(), async |_| ()).await.err()),
        ("policy".to_owned(), client.run(&Policy::new(), key, async {}).await.err()),
        (
            "policy's prefix".to_owned(),
            client.run(&Policy::new().prefix(key[..1].to_owned()), &key[1..], async {}).await.err(),
        ),
    ]);
    ways
}

/// What lies beside locks is no key: a simple lock on the watermark would overwrite it, and nobody had a token any more.
#[tokio::test]
async fn names_beside_locks_are_refused_as_keys() {
    let absent =
        |prefix: &str| builder().prefix(prefix).connect_within(ms(10)).build(backend("redis://127.0.0.1:1")).unwrap();
    let mut wrong = Vec::new();
    for (prefix, key) in [
        ("", "tenure:fence"),
        ("", "tenure:line:{victim}"),
        ("", "tenure:newest:{account:7}"),
        ("", "redisson_lock_queue:{order}"),
        ("", "redisson_unlock_latch:{order}:0123456789abcdef0123456789abcdef"),
        ("", "{order}:timeout"),
        ("", "{order}:01234567-89ab-cdef-0123-456789abcdef:1:rwlock_timeout:1"),
        ("tenure:", "order"),
        ("ten", "ure:fence"),
        ("{app}:", "order:timeout"),
    ] {
        for (way, error) in refused_keys(&absent(prefix), key).await {
            let said = error.as_ref().map(ToString::to_string).unwrap_or_default();
            let named = said.contains("choose another") && said.ends_with(&format!("key=`{prefix}{key}`"));
            if error.is_none_or(|error| error.kind() != ErrorKind::Invalid) || !named {
                wrong.push(format!("{way} of `{prefix}{key}`: {said:?}"));
            }
        }
    }
    for (prefix, key) in [("", "tenure"), ("", "order:timeout"), ("", "redisson_sc:order"), ("app:", "tenure:fence")] {
        if let Err(error) = absent(prefix).lock(key) {
            wrong.push(format!("`{prefix}{key}` collides with nothing: {error}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What is no lock by one rule must be none by every other: `force_release` decides in the store, the rest here.
#[tokio::test]
async fn hashes_that_look_like_locks_at_first_sight_stay_unharmed() {
    let uuid = "01234567-89ab-cdef-0123-456789abcdef";
    let server = RedisServer::start();
    let client = client(&server.url()).await;
    let mut harmed = Vec::new();
    for (what, field, value) in [
        ("a fence without a holder", "fence", "wood"),
        ("something kept under the id of a session", &format!("{uuid}:cart"), "three apples"),
        ("something kept under a short id", "a-b-c-d-e:cart", "1"),
        ("an id and a colon", &format!("{uuid}:"), "1"),
        ("a claim that is written as one of another sort", &format!("{uuid}:1"), "1 0 1"),
        ("a claim that is written as one of another sort", &format!("{uuid}:1^"), "1"),
    ] {
        server.command(&["DEL", "k"]);
        server.command(&["HSET", "k", field, value]);
        let before = server.command(&["DUMP", "k"]);
        let error = client.lock("k").unwrap().force_release().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{what}: {error}");
        if server.command(&["DUMP", "k"]) != before {
            harmed.push(what);
        }
    }
    for value in [format!("{uuid}:1 2 apples"), format!("{uuid}:1 2{}", "0".repeat(300)), "ab:1 2".to_owned()] {
        server.command(&["SET", "k", &value]);
        let error = client.simple("k").unwrap().force_release().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{value}: {error}");
        assert_eq!(ask::<String>(&server, &["GET", "k"]), value);
    }
    assert!(harmed.is_empty(), "refused as a conflict, and deleted all the same: {harmed:#?}");
}

/// Everything logged by anybody in this process.
#[derive(Clone, Default)]
struct Logged(Arc<Mutex<Vec<u8>>>);

impl Write for Logged {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Walks every failing path it can think of with the marker in every password.
#[tokio::test]
async fn secrets_are_never_shown() {
    let logged = Logged::default();
    let writer = logged.clone();
    let subscriber = tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_ansi(false);
    subscriber.with_writer(move || writer.clone()).try_init().unwrap();
    let password = format!("{MARKER}-right");
    let server = RedisServer::builder().password(&password).acl(&format!("user weak on >{password} ~x +@all")).start();
    let mut shown: Vec<(&str, String)> = Vec::new();
    let right = server.url_as("", &password);
    let wrong = server.url_as("", &format!("{MARKER}-wrong"));
    shown.push(("config", format!("{:?}", Config::from_url(&right).unwrap())));
    shown.push(("backend", format!("{:?}", backend(&right))));
    shown.push(("store", format!("{:?}", tenure_core::Store::from(backend(&right)))));
    let mut fail = |what: &'static str, error: Error| {
        let mut text = format!("{error} {error:?} {error:#?}");
        let mut cause = std::error::Error::source(&error);
        while let Some(source) = cause {
            let _ = write!(text, "{source} {source:?}");
            cause = source.source();
        }
        shown.push((what, text));
    };
    fail("wrong password", builder().connect(backend(&wrong)).await.unwrap_err());
    let weak = builder().connect(backend(&server.url_as("weak", &password))).await.unwrap();
    fail("no rights", weak.lock("k").unwrap().lock().await.unwrap_err());
    let client = builder().label("shown").connect(backend(&right)).await.unwrap();
    let lock = client.lock("k").unwrap();
    let mut events = client.events();
    let guard = lock.lock_with(Options::new().lease(LEASE).no_renew()).await.unwrap();
    fail("busy", lock.lock_timeout(ms(300)).await.unwrap_err());
    fail("options", lock.lock_with(Options::new().lease(ms(1))).await.unwrap_err());
    server.command(&["SET", "string", "x"]);
    fail("conflict", client.lock("string").unwrap().lock().await.unwrap_err());
    server.pause();
    fail("silent", lock.try_lock().await.unwrap_err());
    support::soon("the lease ends", guard.lost()).await;
    let guard_shown = format!("{guard:?}");
    fail("lost", guard.release().await.unwrap_err());
    server.resume();
    server.kill();
    fail("down", lock.try_lock().await.unwrap_err());
    fail("bounded", lock.lock_timeout(ms(100)).await.unwrap_err());
    fail(
        "close",
        Client::builder()
            .build(backend(&right))
            .unwrap()
            .close(ms(1))
            .await
            .err()
            .unwrap_or_else(|| Error::invalid("nothing was open")),
    );
    fail("connect", builder().connect_within(ms(100)).connect(backend(&wrong)).await.unwrap_err());
    shown.push(("client", format!("{client:?} {:?} {lock:?} {guard_shown}", client.label())));
    let event = support::soon("an event", events.next()).await;
    shown.push(("event", format!("{event:?} {events:?}")));
    for (what, text) in &shown {
        assert!(!text.contains(MARKER), "the secret is in: {what}");
    }
    let log = || String::from_utf8_lossy(&logged.0.lock().unwrap()).into_owned();
    eventually("the log has the loss", PATIENCE, || log().contains("lock lost")).await;
    assert!(!log().contains(MARKER), "the secret is in the log");
}
