//! Counts and fenced locks of both libraries on one key: what one takes the other has not, and each is woken by the other.

use crate::sides::LONG;
use crate::support::{PATIENCE, backend, claim, eventually, ms, soon};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};
use tenure_core::kernel::{Counting, Latch, Supplying, Want};
use tenure_core::{Backend, Claim, Key, Kind, Operation, Outcome, Stay};
use tenure_redis::Redis;
use tenure_redis::redis;
use tenure_testkit::RedisServer;
use tenure_testkit::redisson::{Redisson, jvm};
use tokio::task::JoinSet;

/// Both looks of either side that are not pushed come later.
const PUSHED: Duration = Duration::from_millis(500);
/// Braces and other alphabets make other channels.
const KEYS: [&str; 3] = ["plain", "{order}:7", "zähler"];

/// A server, Java on it, and our backend: handles come after it.
struct Meeting {
    java: Redisson,
    rust: Redis,
    // Last, so that it is there until the others have gone.
    server: RedisServer,
}

impl Meeting {
    async fn new() -> Self {
        let server = RedisServer::start();
        let (java, rust) = (jvm().connect(&server.url(), LONG).await, backend(&server.url()));
        Self { java, rust, server }
    }

    async fn on(&self, kind: Kind, key: &str, operation: Operation) -> Outcome {
        on(&self.rust, kind, key, operation).await
    }

    fn scripts(&self) -> u64 {
        self.server.command_calls("evalsha") + self.server.command_calls("eval")
    }

    /// Until somebody who began to wait after that many scripts listens and has asked again.
    async fn somebody_waits(&self, scripts: u64) {
        eventually("somebody waits", PATIENCE, || self.scripts() >= scripts + 2).await;
    }

    /// Until somebody listens to this channel.
    async fn somebody_listens(&self, channel: &str) {
        let one = redis::Value::Array(vec![redis::Value::BulkString(channel.into()), redis::Value::Int(1)]);
        let listens = || self.server.command(&["PUBSUB", "NUMSUB", channel]) == one;
        eventually("somebody listens", PATIENCE, listens).await;
    }

    /// The next message in this channel, while `work` is done; it begins when somebody listens.
    async fn heard<T, F: Future<Output = T>>(&self, channel: &str, work: impl FnOnce() -> F) -> (T, String) {
        let client = redis::Client::open(self.server.url()).unwrap();
        let (channel, told) = (channel.to_owned(), tokio::sync::oneshot::channel());
        let (is_live, live) = told;
        let hearing = tokio::task::spawn_blocking(move || {
            let mut line = client.get_connection().unwrap();
            let mut ear = line.as_pubsub();
            ear.set_read_timeout(Some(PATIENCE)).unwrap();
            ear.subscribe(&channel).unwrap();
            is_live.send(()).unwrap();
            ear.get_message().expect("a message").get_payload::<String>().unwrap()
        });
        live.await.unwrap();
        let done = work().await;
        (done, soon("a message", hearing).await.unwrap())
    }
}

async fn on(backend: &Redis, kind: Kind, key: &str, operation: Operation) -> Outcome {
    backend.apply_one(kind, &Key::new(key).unwrap(), &operation, PATIENCE).await.unwrap()
}

/// Where it is told how many permits there are.
fn channel_of(key: &str) -> String {
    if key.contains('{') { format!("redisson_sc:{key}") } else { format!("redisson_sc:{{{key}}}") }
}

fn take(number: u64, want: u32) -> Operation {
    Operation::Take { claim: claim(number), want: Want::Some(want), of: None, lease: LONG, stay: Stay::No }
}

fn take_id(id: &str, lease: Duration) -> Operation {
    let want = Want::Named(vec![Claim::found(id)]);
    Operation::Take { claim: claim(1), want, of: None, lease, stay: Stay::No }
}

fn leave(number: u64) -> Operation {
    let keep = Duration::ZERO;
    Operation::Release { claim: claim(number), left: 0, change: 1, lease: ms(1), keep, cancel: None }
}

fn is_granted(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Granted(_))
}

/// What is taken on one side is not to be had on the other, and what comes back wakes who waits there.
pub(crate) async fn one_semaphore_for_both() {
    let meeting = Meeting::new().await;
    for key in KEYS {
        let java = meeting.java.thread().semaphore(key);
        assert!(soon("java begins", java.try_set_permits(3)).await.unwrap());
        soon("java takes", java.acquire(2)).await.unwrap();
        assert!(matches!(meeting.on(Kind::Semaphore, key, take(1, 2)).await, Outcome::Busy(_)));
        assert!(is_granted(&meeting.on(Kind::Semaphore, key, take(1, 1)).await));
        assert!(!soon("java tries", java.try_acquire(1, Duration::ZERO)).await.unwrap());
        assert_eq!(soon("java looks", java.available_permits()).await.unwrap(), 0);
        let (_, message) = meeting.heard(&channel_of(key), || soon("java gives back", java.release(2))).await;
        assert_eq!(message, "2");
        assert!(is_granted(&meeting.on(Kind::Semaphore, key, take(2, 2)).await));
        // Java sleeps until it is told.
        let scripts = meeting.scripts();
        let waiting = tokio::spawn(java.acquire(3));
        meeting.somebody_waits(scripts).await;
        meeting.on(Kind::Semaphore, key, leave(1)).await;
        let left = Instant::now();
        assert_eq!(meeting.on(Kind::Semaphore, key, leave(2)).await, Outcome::Released);
        soon("java gets them", waiting).await.unwrap().unwrap();
        println!("java was told after {:?}", left.elapsed());
        soon("java adds", java.add_permits(4)).await.unwrap();
        assert_eq!(soon("java drains", java.drain_permits()).await.unwrap(), 4);
        let added = meeting.on(Kind::Semaphore, key, Operation::Supply(Supplying::Add(2))).await;
        assert!(matches!(added, Outcome::Supply(supply) if supply.available == 2), "{added:?}");
        assert_eq!(soon("java looks", java.available_permits()).await.unwrap(), 2);
    }
}

/// Threads and tasks take and give back in a race: there are never more out than there are.
pub(crate) async fn never_over_granted() {
    const PERMITS: i64 = 3;
    let meeting = Meeting::new().await;
    let rust = Arc::new(backend(&meeting.server.url()));
    assert!(soon("java begins", meeting.java.thread().semaphore("k").try_set_permits(3)).await.unwrap());
    let (out, most, rounds) = (Arc::new(AtomicI64::new(0)), Arc::new(AtomicI64::new(0)), Arc::new(AtomicI64::new(0)));
    let ends = Instant::now() + Duration::from_secs(3);
    let mut all = JoinSet::new();
    for number in 0..4u64 {
        let java = meeting.java.thread().semaphore("k");
        let (out, most, rounds) = (Arc::clone(&out), Arc::clone(&most), Arc::clone(&rounds));
        all.spawn(async move {
            let want = 1 + u32::try_from(number % 2).unwrap();
            while Instant::now() < ends {
                java.acquire(want).await.unwrap();
                most.fetch_max(out.fetch_add(want.into(), Ordering::SeqCst) + i64::from(want), Ordering::SeqCst);
                tokio::time::sleep(ms(2)).await;
                out.fetch_sub(want.into(), Ordering::SeqCst);
                java.release(want).await.unwrap();
                rounds.fetch_add(1, Ordering::SeqCst);
            }
        });
    }
    for number in 0..4u64 {
        let rust = Arc::clone(&rust);
        let (out, most, rounds) = (Arc::clone(&out), Arc::clone(&most), Arc::clone(&rounds));
        all.spawn(async move {
            let want = 1 + u32::try_from(number % 2).unwrap();
            let mut at = number * 1_000_000;
            while Instant::now() < ends {
                at += 1;
                if !is_granted(&on(&rust, Kind::Semaphore, "k", take(at, want)).await) {
                    tokio::time::sleep(ms(1)).await;
                    continue;
                }
                most.fetch_max(out.fetch_add(want.into(), Ordering::SeqCst) + i64::from(want), Ordering::SeqCst);
                tokio::time::sleep(ms(2)).await;
                out.fetch_sub(want.into(), Ordering::SeqCst);
                assert!(matches!(on(&rust, Kind::Semaphore, "k", leave(at)).await, Outcome::Released | Outcome::Left));
                rounds.fetch_add(1, Ordering::SeqCst);
            }
        });
    }
    while let Some(done) = soon("all come to an end", all.join_next()).await {
        done.unwrap();
    }
    println!("{} rounds, {} out at most", rounds.load(Ordering::SeqCst), most.load(Ordering::SeqCst));
    assert_eq!(most.load(Ordering::SeqCst), PERMITS, "as many as there are, and never more");
    assert!(rounds.load(Ordering::SeqCst) > 50);
    assert_eq!(meeting.server.command(&["GET", "k"]), redis::Value::BulkString(b"3".to_vec()));
}

/// A permit is known by its id on both sides: either can make it last, and give it back.
pub(crate) async fn permits_pass_between_both() {
    let meeting = Meeting::new().await;
    let give_back = |id: &str| Operation::GiveBack { ids: vec![Claim::found(id)], all: true, cancel: None };
    for key in KEYS {
        let java = meeting.java.thread().permits(key);
        assert!(soon("java begins", java.try_set_permits(2)).await.unwrap());
        let of_java = soon("java takes", java.acquire(LONG)).await.unwrap();
        let of_rust = "00112233445566778899aabbccddeeff";
        assert!(is_granted(&meeting.on(Kind::Permits, key, take_id(of_rust, LONG)).await));
        assert_eq!(soon("java looks", java.available_permits()).await.unwrap(), 0);
        let Outcome::Busy(_) = meeting.on(Kind::Permits, key, take_id("another", LONG)).await else {
            panic!("too many")
        };
        let Outcome::Seen(Some(sight)) = meeting.on(Kind::Permits, key, Operation::Inspect).await else { panic!() };
        let mut names: Vec<&str> = sight.holders.iter().map(|holder| holder.claim.as_str()).collect();
        names.sort_unstable();
        let mut both = [of_java.as_str(), of_rust];
        both.sort_unstable();
        assert_eq!(names, both);
        // Each makes the other's last.
        let renew = Operation::Renew { claim: Claim::found(&of_java), lease: 2 * LONG };
        assert_eq!(meeting.on(Kind::Permits, key, renew).await, Outcome::Renewed);
        let left = soon("java looks", java.lease_time(&of_java)).await.unwrap();
        assert!((100_000..=122_000).contains(&left), "{left}");
        assert!(soon("java renews", java.update_lease_time(of_rust, 2 * LONG)).await.unwrap());
        // Each gives the other's back, and wakes who waits.
        let waiting = tokio::spawn(java.try_acquire(PATIENCE, LONG));
        meeting.somebody_listens(&channel_of(key)).await;
        assert_eq!(meeting.on(Kind::Permits, key, give_back(&of_java)).await, Outcome::GivenBack(1));
        let next = soon("java gets one", waiting).await.unwrap().unwrap().expect("a permit");
        assert!(soon("java gives back", java.try_release(of_rust)).await.unwrap());
        assert_eq!(meeting.on(Kind::Permits, key, give_back(of_rust)).await, Outcome::NotHeld);
        assert_eq!(meeting.on(Kind::Permits, key, give_back(&next)).await, Outcome::GivenBack(1));
        assert_eq!(soon("java looks", java.available_permits()).await.unwrap(), 2);
    }
    // What ends on our side is there for Java, and the reverse.
    let java = meeting.java.thread().permits("k");
    assert!(soon("java begins", java.try_set_permits(1)).await.unwrap());
    assert!(is_granted(&meeting.on(Kind::Permits, "k", take_id("dies", ms(200))).await));
    let id = soon("java gets it", java.try_acquire(PATIENCE, ms(200))).await.unwrap();
    assert!(id.is_some(), "when it had ended");
    let began = Instant::now();
    while !is_granted(&meeting.on(Kind::Permits, "k", take_id("next", LONG)).await) {
        assert!(began.elapsed() < PATIENCE, "what has ended in java is to be had");
        tokio::time::sleep(ms(20)).await;
    }
    assert!(began.elapsed() > PUSHED, "a second later, for its clock may be another");
}

/// Counted down by both; who waits in Java hears of ours, and we of Java's.
pub(crate) async fn one_latch_for_both() {
    let meeting = Meeting::new().await;
    let count = async |key: &str, counting| match meeting.on(Kind::Latch, key, Operation::Count(counting)).await {
        Outcome::Latch(latch) => latch,
        other => panic!("{other:?}"),
    };
    for key in KEYS {
        let (java, waits) = (meeting.java.thread().latch(key), meeting.java.thread().latch(key));
        let channel = format!("redisson_countdownlatch__channel__{{{key}}}");
        let begun = count(key, Counting::Begin(3)).await;
        assert!(!soon("java shuts", java.try_set_count(5)).await.unwrap(), "it is shut");
        soon("java counts", java.count_down()).await.unwrap();
        assert_eq!(count(key, Counting::Down(None)).await, Latch { was: 2, count: 1, round: begun.round });
        assert_eq!(soon("java looks", java.count()).await.unwrap(), 1);
        let waiting = tokio::spawn(waits.wait(PATIENCE));
        meeting.somebody_listens(&channel).await;
        let opened = Instant::now();
        assert_eq!(count(key, Counting::Down(None)).await.count, 0);
        assert!(soon("java goes on", waiting).await.unwrap().unwrap());
        assert!(opened.elapsed() < PUSHED, "{:?}", opened.elapsed());
        // The other way round.
        let (shut, message) = meeting.heard(&channel, || soon("java shuts", java.try_set_count(1))).await;
        assert_eq!((shut.unwrap(), message.as_str()), (true, "1"));
        let again = count(key, Counting::Wait(None)).await;
        assert!(again.count == 1 && again.round > begun.round);
        let (_, message) = meeting.heard(&channel, || soon("java counts", java.count_down())).await;
        assert_eq!((message.as_str(), count(key, Counting::Look).await.count), ("0", 0));
        // A latch that is gone.
        soon("java shuts", java.try_set_count(2)).await.unwrap();
        let (gone, message) = meeting.heard(&channel, || soon("java deletes", java.delete())).await;
        assert_eq!((gone.unwrap(), message.as_str()), (true, "1"));
        let (_, message) = meeting.heard(&channel, || count(key, Counting::Set(2))).await;
        assert_eq!((message.as_str(), soon("java looks", java.count()).await.unwrap()), ("1", 2));
        count(key, Counting::Delete).await;
        assert_eq!(soon("java looks", java.count()).await.unwrap(), 0);
    }
}

/// Tokens of a fenced lock rise from grant to grant, whoever is in.
pub(crate) async fn tokens_are_counted_by_both() {
    let meeting = Meeting::new().await;
    for key in KEYS {
        let java = meeting.java.thread().fenced_lock(key);
        let acquire = || Operation::Acquire { claim: claim(1), under: Vec::new(), lease: LONG, stay: Stay::No };
        let mut last = 0;
        for _ in 0..3 {
            let Outcome::Granted(grant) = meeting.on(Kind::Fenced, key, acquire()).await else { panic!("it is free") };
            assert!(grant.token > last, "{} after {last}", grant.token);
            assert!(!soon("java tries", java.try_lock(Duration::ZERO)).await.unwrap(), "{key}: both are in");
            let scripts = meeting.scripts();
            let waiting = tokio::spawn(java.lock_and_get_token());
            meeting.somebody_waits(scripts).await;
            assert_eq!(meeting.on(Kind::Fenced, key, leave(1)).await, Outcome::Released);
            let token = soon("java gets in", waiting).await.unwrap().unwrap();
            assert_eq!(token, grant.token + 1, "java counts on from ours");
            let Outcome::Busy(busy) = meeting.on(Kind::Fenced, key, acquire()).await else { panic!("both are in") };
            assert_eq!(busy.holder.unwrap().token, None, "java does not write it down");
            soon("java leaves", java.unlock()).await.unwrap();
            last = token;
        }
    }
}
