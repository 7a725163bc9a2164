//! Semaphores, permits with names, latches and fenced locks, as the server has them: what is published, what another library
//! may do to a count meanwhile, and what is left of those who died.

use crate::support::{ask, backend, claim, eventually, exists, ms};
use std::time::Duration;
use tenure_core::kernel::{Counting, Latch, Supply, Supplying, Want};
use tenure_core::{Backend, Claim, Key, Kind, Operation, Outcome, Sight, Stay, StoreErrorKind};
use tenure_redis::Redis;
use tenure_redis::redis::{self, PubSub};
use tenure_testkit::RedisServer;

const WITHIN: Duration = Duration::from_secs(5);
const ID: &str = "00112233445566778899aabbccddeeff";

/// One operation on `k`.
async fn on(backend: &Redis, kind: Kind, operation: Operation) -> Outcome {
    backend.apply_one(kind, &Key::new("k").unwrap(), &operation, WITHIN).await.unwrap()
}

fn take(number: u64, want: u32, of: Option<u32>, lease: Duration) -> Operation {
    let stay = Stay::InLine { place: ms(3000) };
    Operation::Take { claim: claim(number), want: Want::Some(want), of, lease, stay }
}

fn take_id(id: &str, of: Option<u32>, lease: Duration) -> Operation {
    let want = Want::Named(vec![Claim::found(id)]);
    Operation::Take { claim: claim(1), want, of, lease, stay: Stay::No }
}

fn give_back(id: &str) -> Operation {
    Operation::GiveBack { ids: vec![Claim::found(id)], all: true, cancel: None }
}

fn leave(number: u64) -> Operation {
    let keep = Duration::ZERO;
    Operation::Release { claim: claim(number), left: 0, change: 1, lease: ms(1), keep, cancel: None }
}

fn acquire(number: u64, lease: Duration) -> Operation {
    Operation::Acquire { claim: claim(number), under: Vec::new(), lease, stay: Stay::No }
}

async fn supply(backend: &Redis, kind: Kind, supplying: Supplying) -> Supply {
    match on(backend, kind, Operation::Supply(supplying)).await {
        Outcome::Supply(supply) => supply,
        other => panic!("{supplying:?}: {other:?}"),
    }
}

async fn count(backend: &Redis, counting: Counting) -> Latch {
    match on(backend, Kind::Latch, Operation::Count(counting)).await {
        Outcome::Latch(latch) => latch,
        other => panic!("{other:?}"),
    }
}

async fn seen(backend: &Redis, kind: Kind) -> Option<Sight> {
    match on(backend, kind, Operation::Inspect).await {
        Outcome::Seen(sight) => sight,
        other => panic!("{other:?}"),
    }
}

/// The next message in any of the channels that were subscribed to.
fn heard(ear: &mut PubSub<'_>) -> (String, String) {
    let message = ear.get_message().expect("a message in time");
    (message.get_channel_name().to_owned(), message.get_payload().unwrap())
}

fn line_to(server: &RedisServer) -> redis::Connection {
    redis::Client::open(server.url()).unwrap().get_connection().unwrap()
}

#[tokio::test]
async fn a_semaphore_tells_java_how_many_there_are_and_calls_who_came_first() {
    let server = RedisServer::start();
    let backend = backend(&server.url());
    let mut line = line_to(&server);
    let mut ear = line.as_pubsub();
    ear.set_read_timeout(Some(WITHIN)).unwrap();
    let notice = format!("tenure:notice:{}", claim(1).client());
    ear.subscribe(&["redisson_sc:{k}", &notice]).unwrap();
    let said = |text: &str| ("redisson_sc:{k}".to_owned(), text.to_owned());
    assert!(matches!(on(&backend, Kind::Semaphore, take(1, 2, Some(3), WITHIN)).await, Outcome::Granted(_)));
    assert_eq!(heard(&mut ear), said("3"));
    let Outcome::Busy(busy) = on(&backend, Kind::Semaphore, take(2, 2, None, WITHIN)).await else { panic!() };
    assert_eq!((busy.ahead, busy.holder.map(|holder| holder.claim)), (Some(0), Some(claim(1))));
    // One is free, but it would be taken from the one who came first.
    let Outcome::Busy(busy) = on(&backend, Kind::Semaphore, take(3, 1, None, WITHIN)).await else { panic!() };
    assert_eq!(busy.ahead, Some(1));
    assert_eq!(on(&backend, Kind::Semaphore, take(4, 4, None, WITHIN)).await, Outcome::Short(3));
    let sight = seen(&backend, Kind::Reentrant).await.unwrap();
    assert_eq!((sight.kind, sight.waiters, sight.line.len()), (Kind::Semaphore, Some(2), 2));
    assert_eq!((sight.holders.len(), sight.holders[0].count), (1, 2));
    assert_eq!(on(&backend, Kind::Semaphore, leave(1)).await, Outcome::Released);
    assert_eq!(heard(&mut ear), said("3"));
    for number in [2, 3] {
        assert_eq!(heard(&mut ear), (notice.clone(), format!("call {}", claim(number))));
    }
    assert!(matches!(on(&backend, Kind::Semaphore, take(3, 1, None, WITHIN)).await, Outcome::Granted(_)));
    assert!(matches!(on(&backend, Kind::Semaphore, take(2, 2, None, WITHIN)).await, Outcome::Granted(_)));
    assert_eq!(ask::<i64>(&server, &["GET", "k"]), 0);
    let Outcome::Forced(Some(sight)) = on(&backend, Kind::Reentrant, Operation::ForceRelease).await else { panic!() };
    assert_eq!(sight.holders.len(), 2);
    assert_eq!(ask::<i64>(&server, &["GET", "k"]), 3);
    assert_eq!(seen(&backend, Kind::Semaphore).await, None);
    assert!(server.keys("tenure:queue*").is_empty(), "nobody stands in line any more");
}

/// What a holder that died has is given back when anybody of ours comes to the key.
#[tokio::test]
async fn permits_of_the_dead_come_back() {
    let server = RedisServer::start();
    let backend = backend(&server.url());
    on(&backend, Kind::Semaphore, take(1, 3, Some(3), ms(50))).await;
    assert_eq!(ask::<i64>(&server, &["GET", "k"]), 0);
    let deadline = std::time::Instant::now() + WITHIN;
    while supply(&backend, Kind::Semaphore, Supplying::Look).await.available < 3 {
        assert!(std::time::Instant::now() < deadline);
        tokio::time::sleep(ms(5)).await;
    }
    assert_eq!(ask::<i64>(&server, &["GET", "k"]), 3);
    assert!(!exists(&server, "tenure:permits:ends:{k}"));
}

/// Another library counts without leases: what it adds is there, what it takes is gone, and a count that it removes takes
/// ours with it.
#[tokio::test]
async fn what_another_library_does_to_a_count_is_heeded() {
    let server = RedisServer::start();
    let backend = backend(&server.url());
    server.command(&["SET", "k", "5"]);
    assert_eq!(
        supply(&backend, Kind::Semaphore, Supplying::Look).await,
        Supply { was: Some(5), available: 5, total: None }
    );
    assert!(matches!(on(&backend, Kind::Semaphore, take(1, 2, Some(9), WITHIN)).await, Outcome::Granted(_)));
    assert_eq!(ask::<i64>(&server, &["GET", "k"]), 3, "it was begun before");
    // Java takes one; there are then five in all, as far as we can tell.
    server.command(&["DECRBY", "k", "1"]);
    assert_eq!(
        supply(&backend, Kind::Semaphore, Supplying::Set(10)).await,
        Supply { was: Some(2), available: 8, total: Some(10) }
    );
    server.command(&["INCRBY", "k", "4"]);
    assert_eq!(
        supply(&backend, Kind::Semaphore, Supplying::Look).await,
        Supply { was: Some(12), available: 12, total: Some(14) }
    );
    server.command(&["DEL", "k"]);
    assert_eq!(on(&backend, Kind::Semaphore, leave(1)).await, Outcome::NotHeld);
    assert_eq!(
        supply(&backend, Kind::Semaphore, Supplying::Look).await,
        Supply { was: None, available: 0, total: None }
    );
    assert!(server.keys("*k*").is_empty());
    // Nothing of ours stays beside a count that is not ours.
    server.command(&["SET", "k", "1"]);
    on(&backend, Kind::Semaphore, take(1, 1, None, WITHIN)).await;
    assert_eq!(on(&backend, Kind::Semaphore, leave(1)).await, Outcome::Released);
    assert_eq!(server.keys("*k*"), ["k"]);
}

#[tokio::test]
async fn permits_with_names_are_redissons() {
    let server = RedisServer::start();
    let backend = backend(&server.url());
    let granted = on(&backend, Kind::Permits, take_id(ID, Some(2), ms(60_000))).await;
    assert!(matches!(granted, Outcome::Granted(grant) if grant.count == 1));
    let found: Vec<(Vec<u8>, f64)> = ask(&server, &["ZRANGE", "{k}:timeout", "0", "-1", "WITHSCORES"]);
    let raw: Vec<u8> = (0..16).map(|n| n * 0x11).collect();
    assert_eq!(found[0].0, raw, "16 bytes");
    let ours: f64 = server_time(&server) / 1000.0;
    assert!((found[0].1 - ours - 61_000.0).abs() < 2_000.0, "a second later than it ends: {} at {ours}", found[0].1);
    assert!(matches!(on(&backend, Kind::Permits, take_id("no digits", None, ms(60_000))).await, Outcome::Granted(_)));
    let Outcome::Busy(busy) = on(&backend, Kind::Permits, take_id("another", None, WITHIN)).await else { panic!() };
    assert!(busy.ahead.is_none() && busy.again.is_some_and(|again| again <= ms(60_000)));
    let sight = seen(&backend, Kind::Permits).await.unwrap();
    let mut names: Vec<&str> = sight.holders.iter().map(|holder| holder.claim.as_str()).collect();
    names.sort_unstable();
    assert_eq!((sight.kind, names), (Kind::Permits, vec![ID, "no digits"]));
    // As another library gives it back.
    let mut line = line_to(&server);
    redis::cmd("ZREM").arg("{k}:timeout").arg(&raw).exec(&mut line).unwrap();
    server.command(&["INCR", "k"]);
    assert_eq!(on(&backend, Kind::Permits, give_back(ID)).await, Outcome::NotHeld);
    assert_eq!(
        supply(&backend, Kind::Permits, Supplying::Look).await,
        Supply { was: Some(1), available: 1, total: Some(2) }
    );
    assert_eq!(on(&backend, Kind::Permits, give_back("no digits")).await, Outcome::GivenBack(1));
    assert_eq!((ask::<i64>(&server, &["GET", "k"]), server.keys("*k*")), (2, vec!["k".to_owned()]));
}

fn server_time(server: &RedisServer) -> f64 {
    let time: Vec<String> = ask(server, &["TIME"]);
    time[0].parse::<f64>().unwrap() * 1e6 + time[1].parse::<f64>().unwrap()
}

/// A permit of another library's ends a second after it says so, since that is by its own clock; what it made last longer
/// is its own.
#[tokio::test]
async fn permits_of_another_library_end_by_its_clock_and_a_second() {
    let server = RedisServer::start();
    let backend = backend(&server.url());
    let at = |millis: f64| format!("{:.0}", server_time(&server) / 1000.0 + millis);
    server.command(&["SET", "k", "0"]);
    server.command(&["ZADD", "{k}:timeout", &at(-500.0), "late", &at(-1500.0), "over", "922337203685477", "ever"]);
    let look = supply(&backend, Kind::Permits, Supplying::Look).await;
    assert_eq!((look.available, look.total), (1, Some(3)));
    let renew = |id: &str| Operation::Renew { claim: Claim::found(id), lease: ms(60_000) };
    assert_eq!(on(&backend, Kind::Permits, renew("late")).await, Outcome::Renewed);
    assert_eq!(on(&backend, Kind::Permits, renew("over")).await, Outcome::NotHeld);
    let sight = seen(&backend, Kind::Permits).await.unwrap();
    let ever = sight.holders.iter().find(|holder| holder.claim.as_str() == "ever").unwrap();
    assert_eq!((sight.holders.len(), ever.remaining), (2, None));
    // One of ours that Java has made last longer.
    on(&backend, Kind::Permits, take_id("ours", None, ms(30))).await;
    server.command(&["ZADD", "{k}:timeout", &at(60_000.0), "ours"]);
    let ended = server_time(&server) + 30_000.0;
    eventually("the lease that we gave it has ended", WITHIN, || server_time(&server) > ended).await;
    assert_eq!(supply(&backend, Kind::Permits, Supplying::Look).await.available, 0);
    assert_eq!(on(&backend, Kind::Permits, give_back("ours")).await, Outcome::GivenBack(1));
}

#[tokio::test]
async fn a_latch_is_redissons_and_says_what_it_says() {
    let server = RedisServer::start();
    let backend = backend(&server.url());
    let mut line = line_to(&server);
    let mut ear = line.as_pubsub();
    ear.set_read_timeout(Some(WITHIN)).unwrap();
    ear.subscribe("redisson_countdownlatch__channel__{k}").unwrap();
    let first = count(&backend, Counting::Begin(2)).await;
    assert_eq!((first.was, first.count, heard(&mut ear).1), (0, 2, "1".to_owned()));
    assert_eq!(count(&backend, Counting::Down(Some(claim(1)))).await.count, 1);
    assert_eq!(count(&backend, Counting::Down(Some(claim(1)))).await.count, 1, "an id counts once");
    // Java counts as well.
    assert_eq!(ask::<i64>(&server, &["GET", "k"]), 1);
    assert_eq!(count(&backend, Counting::Down(None)).await, Latch { was: 1, count: 0, round: None });
    assert_eq!((heard(&mut ear).1, server.keys("*k*")), ("0".to_owned(), vec![]));
    assert_eq!(count(&backend, Counting::Down(None)).await.count, 0);
    assert!(!exists(&server, "k"), "nothing is counted below zero");
    // Java shuts it: the first who looks gives the round a number, and the next ones see the same.
    server.command(&["SET", "k", "3"]);
    let (one, other) = (count(&backend, Counting::Wait(None)).await, count(&backend, Counting::Wait(None)).await);
    assert!(one == other && one.round > first.round, "{one:?} {other:?}");
    count(&backend, Counting::Down(Some(claim(1)))).await;
    // Java opens it and shuts it again for as often: nobody can tell but by the count's having grown.
    server.command(&["SET", "k", "3"]);
    let again = count(&backend, Counting::Down(Some(claim(1)))).await;
    assert!(again.count == 2 && again.round > one.round, "{again:?}");
    count(&backend, Counting::Set(5)).await;
    assert_eq!(heard(&mut ear).1, "1");
    assert_eq!(count(&backend, Counting::Delete).await, Latch { was: 5, count: 0, round: None });
    assert_eq!((heard(&mut ear).1, server.keys("*k*")), ("1".to_owned(), vec![]));
}

/// As when it waited for longer than the server keeps it: the latch has not been open for that.
#[tokio::test]
async fn a_round_that_was_forgotten_is_that_of_those_who_wait() {
    let server = RedisServer::start();
    let backend = backend(&server.url());
    let first = count(&backend, Counting::Begin(2)).await;
    assert_eq!(count(&backend, Counting::Down(Some(claim(1)))).await.count, 1);
    server.command(&["DEL", "tenure:latch:{k}"]);
    assert_eq!(count(&backend, Counting::Wait(first.round)).await.round, first.round);
    // Ids of a round that nobody knows would be taken for those of another.
    server.command(&["DEL", "tenure:latch:{k}"]);
    assert_eq!(count(&backend, Counting::Down(Some(claim(1)))).await.count, 0);
}

/// Whoever only looks, and is mistaken, changes nothing.
#[tokio::test]
async fn a_look_leaves_no_mark() {
    let server = RedisServer::start();
    let backend = backend(&server.url());
    server.command(&["SET", "k", "3"]);
    assert_eq!(count(&backend, Counting::Look).await, Latch { was: 3, count: 3, round: None });
    assert_eq!(server.keys("*"), ["k"]);
    assert!(matches!(on(&backend, Kind::Semaphore, take(1, 1, None, ms(5000))).await, Outcome::Granted(_)));
}

#[tokio::test]
async fn a_key_in_braces_is_another() {
    let server = RedisServer::start();
    let backend = backend(&server.url());
    assert!(matches!(on(&backend, Kind::Semaphore, take(1, 2, Some(2), ms(5000))).await, Outcome::Granted(_)));
    let braced = Key::new("{k}").unwrap();
    let look = Operation::Supply(Supplying::Look);
    let seen = backend.apply_one(Kind::Semaphore, &braced, &look, WITHIN).await.unwrap();
    assert_eq!(seen, Outcome::Supply(Supply { was: None, available: 0, total: None }));
    assert_eq!(on(&backend, Kind::Semaphore, leave(1)).await, Outcome::Released);
    assert_eq!(supply(&backend, Kind::Semaphore, Supplying::Look).await.available, 2);
}

/// Redisson can let a count end; what lies beside it must neither outlast it nor end before it.
#[tokio::test]
async fn what_lies_beside_a_count_lasts_as_long_as_it() {
    let server = RedisServer::start();
    let backend = backend(&server.url());
    for (kind, beside) in [(Kind::Semaphore, "tenure:permits:{k}"), (Kind::Permits, "{k}:timeout")] {
        let one = |number: u64| match kind {
            Kind::Semaphore => take(number, 1, None, ms(60_000)),
            _ => take_id(&format!("{number:032x}"), None, ms(60_000)),
        };
        server.command(&["FLUSHALL"]);
        server.command(&["SET", "k", "2", "PX", "30000"]);
        assert!(matches!(on(&backend, kind, one(1)).await, Outcome::Granted(_)));
        assert!((1..=30_000).contains(&server.pttl(beside)), "{kind}: {}", server.pttl(beside));
        // As Redisson's addPermits does.
        server.command(&["PERSIST", "k"]);
        assert!(matches!(on(&backend, kind, one(2)).await, Outcome::Granted(_)));
        assert_eq!(server.pttl(beside), -1, "{kind}");
    }
}

/// Tokens are kept in the key that Redisson's fenced lock counts them by.
#[tokio::test]
async fn a_fenced_lock_counts_on_from_redissons_tokens() {
    let server = RedisServer::start();
    let backend = backend(&server.url());
    let token = async |number| match on(&backend, Kind::Fenced, acquire(number, WITHIN)).await {
        Outcome::Granted(grant) => grant.token,
        other => panic!("{other:?}"),
    };
    let first = token(1).await;
    assert_eq!(token(1).await, first);
    let sight = seen(&backend, Kind::Reentrant).await.unwrap();
    assert_eq!((sight.kind, sight.holders[0].token), (Kind::Fenced, Some(first)));
    assert!(sight.holders[0].held_for.unwrap() < WITHIN);
    let stays = Operation::Acquire { claim: claim(2), under: Vec::new(), lease: WITHIN, stay: Stay::Waits };
    for kind in [Kind::Reentrant, Kind::Fair, Kind::Simple, Kind::Read] {
        for wants in [acquire(2, WITHIN), stays.clone()] {
            assert_eq!(on(&backend, kind, wants).await, Outcome::Conflict(Kind::Fenced), "{kind}");
        }
    }
    assert_eq!(on(&backend, Kind::Fenced, leave(1)).await, Outcome::Released);
    // An hour ahead of the clock, so that it tells counting on from starting anew.
    let ahead: u64 = ask(&server, &["INCRBY", "redisson_lock_token:{k}", "3600000000"]);
    assert_eq!(token(2).await, ahead + 1);
    assert!(matches!(on(&backend, Kind::Reentrant, Operation::ForceRelease).await, Outcome::Forced(Some(_))));
    assert_eq!(ask::<i64>(&server, &["PTTL", "redisson_lock_token:{k}"]), -1, "for ever");
    // A lock of Java's, which has no mark, is waited for.
    server.command(&["HSET", "k", "01234567-89ab-cdef-0123-456789abcdee:1", "1"]);
    assert!(matches!(on(&backend, Kind::Fenced, acquire(1, WITHIN)).await, Outcome::Busy(_)));
}

/// What a restart or a fail-over forgets of the counter, or of the watermark, is made up for by the clock; and a counter that
/// another library began at one is as well.
#[tokio::test]
async fn fenced_tokens_rise_whatever_is_forgotten() {
    let server = RedisServer::start();
    let backend = backend(&server.url());
    let mut last = 0;
    let mut rises = async |kind: Kind| {
        let Outcome::Granted(grant) = on(&backend, kind, acquire(1, WITHIN)).await else { panic!("it is free") };
        assert!(grant.token > last, "{kind}: {} after {last}", grant.token);
        last = grant.token;
        assert_eq!(on(&backend, kind, leave(1)).await, Outcome::Released);
        grant.token
    };
    let first = rises(Kind::Reentrant).await;
    let second = rises(Kind::Fenced).await;
    let forgets: [&[&str]; 6] = [
        &["FLUSHALL"],
        &["DEL", "redisson_lock_token:{k}"],
        &["SET", "redisson_lock_token:{k}", "7"],
        // A primary that was promoted has not heard of the last grant.
        &["SET", "redisson_lock_token:{k}", &first.to_string()],
        &["DEL", "tenure:fence"],
        &["SET", "tenure:fence", &second.to_string()],
    ];
    for forget in forgets {
        server.command(forget);
        for kind in [Kind::Fenced, Kind::Reentrant, Kind::Fenced] {
            rises(kind).await;
        }
    }
}

/// What is far ahead of the clock was written by somebody else. Whatever is not above the watermark counts all the same.
#[tokio::test]
async fn one_fenced_lock_does_not_bring_all_tokens_to_their_end() {
    let server = RedisServer::start();
    let backend = backend(&server.url());
    let key = |name| Key::new(name).unwrap();
    let take = async |name| backend.apply_one(Kind::Fenced, &key(name), &acquire(1, WITHIN), WITHIN).await;
    server.command(&["SET", "redisson_lock_token:{far}", "4503599627370490"]);
    let error = take("far").await.unwrap_err();
    assert!(error.kind == StoreErrorKind::Unexpected && error.message.contains("redisson_lock_token:{far}"), "{error}");
    assert!(ask::<u64>(&server, &["GET", "tenure:fence"]) < 4_000_000_000_000_000, "the watermark stayed");
    // A store whose watermark is as far, as another one may have left it.
    server.command(&["SET", "tenure:fence", "4503599627370496"]);
    let mut last = 0;
    for round in 0..3 {
        for name in ["far", "near"] {
            match take(name).await {
                Ok(Outcome::Granted(grant)) if grant.token > last => last = grant.token,
                other => panic!("round {round}, {name}: {other:?} after {last}"),
            }
            assert_eq!(backend.apply_one(Kind::Fenced, &key(name), &leave(1), WITHIN).await, Ok(Outcome::Released));
        }
    }
}

#[tokio::test]
async fn tokens_that_cannot_be_counted_on_from_are_refused_and_stay() {
    let server = RedisServer::start();
    let backend = backend(&server.url());
    let key = Key::new("k").unwrap();
    server.command(&["RPUSH", "redisson_lock_token:{k}", "a"]);
    let error = backend.apply_one(Kind::Fenced, &key, &acquire(1, WITHIN), WITHIN).await.unwrap_err();
    assert!(error.message.contains("redisson_lock_token:{k}"), "{error}");
    for value in ["-1", "4503599627370496", "9007199254740991", "9223372036854775807", "many"] {
        server.command(&["SET", "redisson_lock_token:{k}", value]);
        let error =
            backend.apply_one(Kind::Fenced, &Key::new("k").unwrap(), &acquire(1, WITHIN), WITHIN).await.unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Unexpected, "{error}");
        assert!(
            error.message.ends_with("delete the key, and tokens go on from the clock: key=`redisson_lock_token:{k}`"),
            "{error}"
        );
        assert!(!error.message.contains("NOTOKEN"), "{error}");
        assert_eq!(ask::<String>(&server, &["GET", "redisson_lock_token:{k}"]), value);
        assert!(!exists(&server, "k"));
    }
}

/// All the rights that counts take, as the README has them.
#[tokio::test]
async fn a_user_with_few_rights_can_count() {
    let rights = "-@all +evalsha +eval +exists +incr +incrby +decr +decrby +time +set +get +del +unlink +rename +hset +hget +hexists +hlen \
                  +hgetall +hmget +hdel +hscan +type +getrange +sadd +scard +sismember +expire +zadd +zcard +zcount +zrange \
                  +zrangebyscore +zrank +zrem +zremrangebylex +zscore +zmscore +zpopmin +pexpire +pttl +publish";
    let channels = "resetchannels &redisson_* &tenure:notice:*";
    let keys = "~k ~tenure:* ~redisson_* ~{k}*";
    let server = RedisServer::builder().acl(&format!("user few on >pw {keys} {channels} {rights}")).start();
    let backend = backend(&server.url_as("few", "pw"));
    assert!(matches!(on(&backend, Kind::Semaphore, take(1, 1, Some(1), WITHIN)).await, Outcome::Granted(_)));
    assert!(matches!(on(&backend, Kind::Semaphore, take(2, 1, Some(1), WITHIN)).await, Outcome::Busy(_)));
    on(&backend, Kind::Semaphore, Operation::Renew { claim: claim(1), lease: WITHIN }).await;
    for supplying in [Supplying::Begin(1), Supplying::Set(3), Supplying::Add(1), Supplying::Drain] {
        supply(&backend, Kind::Semaphore, supplying).await;
    }
    assert!(matches!(on(&backend, Kind::Semaphore, Operation::ForceRelease).await, Outcome::Forced(Some(_))));
    on(&backend, Kind::Semaphore, leave(2)).await;
    server.command(&["FLUSHALL"]);
    assert!(matches!(on(&backend, Kind::Permits, take_id(ID, Some(1), WITHIN)).await, Outcome::Granted(_)));
    assert!(matches!(on(&backend, Kind::Permits, take_id("other", Some(1), WITHIN)).await, Outcome::Busy(_)));
    on(&backend, Kind::Permits, Operation::Renew { claim: Claim::found(ID), lease: WITHIN }).await;
    on(&backend, Kind::Permits, give_back(ID)).await;
    server.command(&["FLUSHALL"]);
    for counting in [Counting::Begin(2), Counting::Down(Some(claim(1))), Counting::Set(2), Counting::Delete] {
        count(&backend, counting).await;
    }
    assert!(matches!(on(&backend, Kind::Fenced, acquire(1, WITHIN)).await, Outcome::Granted(_)));
}
