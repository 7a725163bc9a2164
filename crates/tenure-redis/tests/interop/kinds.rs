//! Fair and read-write locks of both libraries on one key, in both layouts.

use crate::sides::{LONG, Sides, client_in};
use crate::support::{PATIENCE, eventually, ms, soon};
use std::time::{Duration, Instant};
use tenure_core::{Kind, Options, Release};
use tenure_redis::Layout;
use tenure_testkit::History;
use tenure_testkit::RedisServer;
use tenure_testkit::figures::is_full;
use tenure_testkit::history::{Hold, monotonic_now};
use tenure_testkit::redisson::{JavaLock, JavaThread, jvm};
use tokio::task::JoinSet;

/// Tenure looks by itself after a second, Redisson when the lease ends. The best of a few attempts is sooner than either.
const PUSHED: Duration = Duration::from_millis(500);
const ATTEMPTS: usize = 5;
const SECTION: Duration = Duration::from_millis(2);

/// A lock of ours that excludes one of theirs.
#[derive(Debug, Clone, Copy)]
struct Pair {
    layout: Layout,
    rust: Kind,
    java: &'static str,
}

const fn pair(layout: Layout, rust: Kind, java: &'static str) -> Pair {
    Pair { layout, rust, java }
}

/// Redisson's fair lock calls nobody but those in its own line, so ours shares a key with it in that layout.
const PAIRS: [Pair; 8] = [
    pair(Layout::Tenure, Kind::Fair, "lock"),
    pair(Layout::Redisson, Kind::Fair, "fair"),
    pair(Layout::Tenure, Kind::Write, "write"),
    pair(Layout::Tenure, Kind::Read, "write"),
    pair(Layout::Tenure, Kind::Write, "read"),
    pair(Layout::Redisson, Kind::Write, "write"),
    pair(Layout::Redisson, Kind::Read, "write"),
    pair(Layout::Redisson, Kind::Write, "read"),
];

fn java_lock(thread: &JavaThread, kind: &str, key: &str) -> JavaLock {
    match kind {
        "lock" => thread.lock(key),
        "fair" => thread.fair_lock(key),
        "read" => thread.read_lock(key),
        _ => thread.write_lock(key),
    }
}

pub(crate) async fn java_wakes_rust() {
    for pair in PAIRS {
        let sides = Sides::meet_in(pair.layout).await;
        let (java, rust) =
            (java_lock(&sides.java.thread(), pair.java, "k"), sides.rust.lock_of(pair.rust, "k").unwrap());
        let mut best = Duration::MAX;
        for _ in 0..ATTEMPTS {
            soon("java gets in", java.lock_for(LONG)).await.unwrap();
            assert!(rust.try_lock().await.unwrap().is_none(), "{pair:?}: both are in");
            let scripts = sides.scripts();
            let waiting = tokio::spawn({
                let rust = rust.clone();
                async move { (rust.lock().await.unwrap(), Instant::now()) }
            });
            sides.somebody_waits(scripts).await;
            let left = Instant::now();
            soon("java leaves", java.unlock()).await.unwrap();
            let (guard, came) = soon("rust gets in", waiting).await.unwrap();
            assert_eq!(guard.release().await.unwrap(), Release::Released, "{pair:?}");
            best = best.min(came - left);
            if best < PUSHED {
                break;
            }
        }
        assert!(best < PUSHED, "{pair:?}: rust was in {best:?} after java had left, at best");
    }
}

pub(crate) async fn rust_wakes_java() {
    for pair in PAIRS {
        let sides = Sides::meet_in(pair.layout).await;
        let (java, rust) =
            (java_lock(&sides.java.thread(), pair.java, "k"), sides.rust.lock_of(pair.rust, "k").unwrap());
        let mut best = Duration::MAX;
        for _ in 0..ATTEMPTS {
            let guard = soon("rust gets in", rust.lock_with(Options::new().lease(LONG))).await.unwrap();
            assert!(!soon("java tries", java.try_lock(Duration::ZERO)).await.unwrap(), "{pair:?}: both are in");
            let scripts = sides.scripts();
            let waiting = tokio::spawn(java.lock());
            sides.somebody_waits(scripts).await;
            let left = Instant::now();
            guard.release().await.unwrap();
            soon("java gets in", waiting).await.unwrap().unwrap();
            best = best.min(left.elapsed());
            soon("java leaves", java.unlock()).await.unwrap();
            if best < PUSHED {
                break;
            }
        }
        assert!(best < PUSHED, "{pair:?}: java was in {best:?} after rust had left, at best");
    }
}

/// In Redisson's line, both stand in the order in which they came.
pub(crate) async fn one_line_for_both() {
    let sides = Sides::meet_in(Layout::Redisson).await;
    let rust = sides.rust.fair("k").unwrap();
    let guard = rust.lock().await.unwrap();
    let length = || sides.server.command(&["LLEN", "redisson_lock_queue:{k}"]);
    let mut waiting = JoinSet::new();
    for number in 0..6 {
        if number % 2 == 0 {
            let java = sides.java.thread().fair_lock("k");
            waiting.spawn(async move {
                java.lock().await.unwrap();
                let came = Instant::now();
                java.unlock().await.unwrap();
                (number, came)
            });
        } else {
            let rust = rust.clone();
            waiting.spawn(async move {
                let guard = rust.lock().await.unwrap();
                let came = Instant::now();
                guard.release().await.unwrap();
                (number, came)
            });
        }
        eventually("it stands in line", PATIENCE, || length() == tenure_redis::redis::Value::Int(number + 1)).await;
    }
    assert_eq!(rust.inspect().await.unwrap().unwrap().line.len(), 6);
    guard.release().await.unwrap();
    let mut served = Vec::new();
    while let Some(done) = soon("everyone is served", waiting.join_next()).await {
        served.push(done.unwrap());
    }
    served.sort_by_key(|(_, came)| *came);
    let order: Vec<i64> = served.iter().map(|(number, _)| *number).collect();
    assert_eq!(order, [0, 1, 2, 3, 4, 5]);
}

/// In Redisson's layout, readers of both are in together, and a writer of either waits for all of them.
pub(crate) async fn readers_of_both_are_together() {
    let sides = Sides::meet_in(Layout::Redisson).await;
    let (reader, writer) = (sides.java.thread().read_lock("k"), sides.java.thread().write_lock("k"));
    let rust = sides.rust.rw_lock("k").unwrap();
    soon("java reads", reader.lock_for(LONG)).await.unwrap();
    let guard = soon("rust reads", rust.read().lock_with(Options::new().lease(LONG))).await.unwrap();
    assert!(rust.write().try_lock().await.unwrap().is_none());
    assert!(!soon("java tries", writer.try_lock(Duration::ZERO)).await.unwrap());
    assert_eq!(rust.read().inspect().await.unwrap().unwrap().holders.len(), 2);
    soon("java leaves", reader.unlock()).await.unwrap();
    assert!(!soon("java tries", writer.try_lock(Duration::ZERO)).await.unwrap(), "rust still reads");
    let left = soon("java looks", reader.remain_time_to_live()).await.unwrap();
    assert!(left > 30_000, "the lock lasts as long as whoever is in: {left}");
    guard.release().await.unwrap();
    assert!(soon("java tries", writer.try_lock(Duration::ZERO)).await.unwrap());
    assert!(rust.read().try_lock().await.unwrap().is_none());
    soon("java leaves", writer.unlock()).await.unwrap();
    assert!(rust.read().inspect().await.unwrap().is_none());
}

/// A writer of ours that becomes a reader lets Java's readers in, who would otherwise sleep on.
pub(crate) async fn a_downgrade_wakes_java() {
    let sides = Sides::meet_in(Layout::Redisson).await;
    let rust = sides.rust.rw_lock("k").unwrap();
    let writer = rust.write().lock_with(Options::new().lease(LONG)).await.unwrap();
    let java = sides.java.thread().read_lock("k");
    let scripts = sides.scripts();
    let waiting = tokio::spawn(java.lock());
    sides.somebody_waits(scripts).await;
    let reader = writer.downgrade().await.unwrap();
    soon("java reads", waiting).await.unwrap().unwrap();
    assert!(reader.is_held());
    reader.release().await.unwrap();
    soon("java leaves", java.unlock()).await.unwrap();
}

/// How often either is in, as the other sees it.
pub(crate) async fn counts_and_leases_agree() {
    let sides = Sides::meet_in(Layout::Redisson).await;
    for (java, kind) in [("fair", Kind::Fair), ("read", Kind::Read), ("write", Kind::Write)] {
        let (java, rust) = (java_lock(&sides.java.thread(), java, "k"), sides.rust.lock_of(kind, "k").unwrap());
        let options = Options::new().lease(LONG).no_renew();
        let outer = rust.lock_with(options.clone()).await.unwrap();
        let inner = outer.reenter_with(options).await.unwrap();
        assert!(soon("java looks", java.is_locked()).await.unwrap(), "{kind}");
        assert!(!soon("java looks", java.is_held()).await.unwrap(), "{kind}");
        let left = soon("java looks", java.remain_time_to_live()).await.unwrap();
        // Its end is rounded up to a whole millisecond, and may be looked at in the same one.
        assert!((30_000..=60_001).contains(&left), "{kind}: {left}");
        assert_eq!(inner.release().await.unwrap(), Release::StillHeld(1));
        outer.release().await.unwrap();
        assert!(!soon("java looks", java.is_locked()).await.unwrap(), "{kind}");
        for count in 1..=2 {
            soon("java gets in", java.lock_for(LONG)).await.unwrap();
            let held = rust.inspect().await.unwrap().unwrap();
            assert_eq!((held.holder().count, held.holder().token), (count, None), "{kind}");
            assert_eq!(held.kind, if kind == Kind::Fair { Kind::Reentrant } else { kind }, "its keys look alike");
            assert!(held.holder().remaining.unwrap() > ms(30_000), "{kind}: {held:?}");
        }
        for _ in 0..2 {
            soon("java leaves", java.unlock()).await.unwrap();
        }
        assert!(rust.inspect().await.unwrap().is_none(), "{kind}");
    }
}

/// Four Java threads and four Rust tasks on each pair, by the clock that both have.
pub(crate) async fn stress() {
    let length = Duration::from_secs(if is_full() { 30 } else { 5 });
    for pair in PAIRS {
        // Readers of one library are in together, which is no overlap; those who write show that they are kept out.
        if pair.rust == Kind::Read || pair.java == "read" {
            continue;
        }
        let server = RedisServer::start();
        let history = History::new();
        let mut threads = Vec::new();
        for _ in 0..2 {
            let java = jvm().connect(&server.url(), LONG).await;
            threads.extend([java_lock(&java.thread(), pair.java, "k"), java_lock(&java.thread(), pair.java, "k")]);
        }
        let mut tasks = JoinSet::new();
        let ends = Instant::now() + length;
        for client in 0..2 {
            let rust = client_in(&server, pair.layout).await;
            for task in 0..2 {
                let (lock, history) = (rust.lock_of(pair.rust, "k").unwrap(), history.clone());
                tasks.spawn(async move {
                    while Instant::now() < ends {
                        let asked = monotonic_now();
                        let guard = lock.lock().await.unwrap();
                        let granted = monotonic_now();
                        tokio::time::sleep(SECTION).await;
                        let ended = Some(monotonic_now());
                        assert!(guard.is_held(), "lost in the middle");
                        let (who, token) = (format!("rust {client}/{task}"), Some(guard.token()));
                        history.add(Hold { key: "k".to_owned(), who, token, asked, granted, ended });
                        guard.release().await.unwrap();
                    }
                });
            }
        }
        let running: Vec<_> = threads.iter().map(|lock| lock.stress(length, SECTION)).collect();
        for holds in running {
            let holds =
                tokio::time::timeout(length + 3 * PATIENCE, holds).await.expect("java comes to an end").unwrap();
            for hold in holds {
                history.add(hold);
            }
        }
        while let Some(ended) = soon("a task ends", tasks.join_next()).await {
            ended.unwrap();
        }
        let report = history.check();
        println!("{pair:?}: {report}{:?}", report.by_who);
        report.assert_clean().assert_at_least(50);
        assert_eq!(report.by_who.len(), 8, "{pair:?}: somebody never got in\n{report}");
        if is_full() {
            println!(
                "\nFULL | {} lock shared with Redisson's {} in {:?}'s layout, 4 Java threads × 4 Rust tasks, {length:?} | {} holds \
                 | 0 overlaps, wait p50 {:?} p99 {:?} max {:?}, shares {}..{}",
                pair.rust,
                pair.java,
                pair.layout,
                report.holds,
                report.wait_p50(),
                report.wait_p99(),
                report.wait_max(),
                report.fewest(),
                report.most()
            );
        }
    }
}

/// A reader or a waiter of ours that is gone without a word keeps Java out no longer than its lease.
pub(crate) async fn what_died_on_our_side_does_not_keep_java_out() {
    for (layout, kind, java) in [
        (Layout::Redisson, Kind::Fair, "fair"),
        (Layout::Redisson, Kind::Read, "write"),
        (Layout::Redisson, Kind::Write, "read"),
        (Layout::Tenure, Kind::Read, "write"),
        (Layout::Tenure, Kind::Write, "read"),
    ] {
        let sides = Sides::meet_in(layout).await;
        let java = java_lock(&sides.java.thread(), java, "k");
        let lock = sides.rust.lock_of(kind, "k").unwrap();
        let guard = lock.lock_with(Options::new().lease(ms(1500)).no_renew()).await.unwrap();
        std::mem::forget(guard);
        soon("java gets in", java.lock()).await.unwrap();
        soon("java leaves", java.unlock()).await.unwrap();
    }
}

/// The reverse, of a Java holder whose lease ends.
pub(crate) async fn what_died_in_java_does_not_keep_us_out() {
    for pair in PAIRS {
        let sides = Sides::meet_in(pair.layout).await;
        let java = java_lock(&sides.java.thread(), pair.java, "k");
        soon("java gets in", java.lock_for(ms(1500))).await.unwrap();
        let rust = sides.rust.lock_of(pair.rust, "k").unwrap();
        soon("rust gets in", rust.lock()).await.unwrap().release().await.unwrap();
    }
}
