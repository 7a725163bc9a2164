//! A file that another process keeps locked, as one does that was stopped in the middle of a write: calls end in time,
//! say what they know, and leave nothing behind.

mod support;

use rusqlite::Connection;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use support::{LEASE, PATIENCE, Place, eventually, key, ms, soon};
use tenure_core::{
    Backend, Claim, ErrorKind, Kind, Operation, Outcome, Pattern, Release, Stay, StoreError, StoreErrorKind,
};

/// Keeps the file from being written until it is dropped.
struct Stuck(Connection);

impl Stuck {
    fn new(place: &Place) -> Self {
        let db = place.peek();
        db.execute_batch("BEGIN IMMEDIATE").unwrap();
        Self(db)
    }
}

impl Drop for Stuck {
    fn drop(&mut self) {
        self.0.execute_batch("ROLLBACK").unwrap();
    }
}

fn acquire(number: u64) -> Operation {
    let claim = Claim::new("client", number);
    Operation::Acquire { claim, under: Vec::new(), lease: Duration::from_secs(30), stay: Stay::No }
}

/// Why the store did not do as it was asked. It stops waiting a twentieth before the call does; a machine that pauses for longer
/// just then leaves it unknown whether anything was done, and it is asked once more.
async fn answered(mut ask: impl AsyncFnMut() -> StoreError) -> StoreError {
    for _ in 0..50 {
        let error = ask().await;
        if error.kind != StoreErrorKind::Unanswered {
            return error;
        }
    }
    panic!("it is never known whether anything was done")
}

#[tokio::test]
async fn every_call_ends_in_time_and_says_that_nothing_was_done() {
    let place = Place::new();
    let backend = place.backend();
    backend.reach(LEASE).await.unwrap();
    let stuck = Stuck::new(&place);
    for within in [20, 100, 400].map(ms) {
        let error = answered(async || {
            let began = Instant::now();
            let error = backend.apply_one(Kind::Reentrant, &key("k"), &acquire(1), within).await.unwrap_err();
            let took = began.elapsed();
            assert!(took >= within / 2 && took <= within + PATIENCE, "{took:?} of {within:?}");
            error
        });
        let error = error.await;
        assert_eq!(error.kind, StoreErrorKind::Unreachable, "{error}");
        assert!(error.message.contains("another process keeps the file locked"), "{error}");
    }
    let renewal = Operation::Renew { claim: Claim::new("client", 1), lease: Duration::from_secs(9) };
    let renew = async || backend.apply_one(Kind::Reentrant, &key("k"), &renewal, ms(50)).await.unwrap_err();
    let error = answered(renew).await;
    assert_eq!(error.kind, StoreErrorKind::Unreachable, "{error}");
    drop(stuck);
    assert!(!place.is_held("k"));
}

/// One who looks needs nobody's leave.
#[tokio::test]
async fn looking_goes_on() {
    let place = Place::new();
    let backend = place.backend();
    let granted = backend.apply_one(Kind::Reentrant, &key("k"), &acquire(1), LEASE).await.unwrap();
    assert!(matches!(granted, Outcome::Granted(_)));
    let _stuck = Stuck::new(&place);
    let seen = backend.apply_one(Kind::Reentrant, &key("k"), &Operation::Inspect, LEASE).await.unwrap();
    assert!(matches!(seen, Outcome::Seen(Some(_))));
    let busy = backend.apply_one(Kind::Reentrant, &key("k"), &acquire(2), LEASE).await.unwrap();
    assert!(matches!(busy, Outcome::Busy(_)));
    assert_eq!(backend.list(&Pattern::new("*"), LEASE).await.unwrap().len(), 1);
}

/// A call that is dropped while it waits for the file is not done when the file is free.
#[tokio::test]
async fn a_call_that_was_given_up_is_not_done() {
    let place = Place::new();
    let backend = place.backend();
    backend.reach(LEASE).await.unwrap();
    let stuck = Stuck::new(&place);
    let (lock, given_up) = (key("k"), acquire(1));
    let call = backend.apply_one(Kind::Reentrant, &lock, &given_up, Duration::from_secs(30));
    assert!(tokio::time::timeout(ms(50), call).await.is_err());
    drop(stuck);
    // The thread has stopped waiting for the one that was given up, and does the next.
    let next = backend.apply_one(Kind::Reentrant, &lock, &acquire(2), LEASE).await.unwrap();
    assert!(matches!(next, Outcome::Granted(_)));
}

/// One that was never begun, because another waits for the file before it, is not begun either.
#[tokio::test]
async fn a_call_that_was_given_up_in_the_queue_is_never_begun() {
    let place = Place::new();
    let backend = place.backend();
    backend.reach(LEASE).await.unwrap();
    let stuck = Stuck::new(&place);
    let (lock, other, first, second) = (key("k"), key("other"), acquire(1), acquire(2));
    let waits = backend.apply_one(Kind::Reentrant, &other, &first, Duration::from_secs(5));
    let queued = backend.apply_one(Kind::Reentrant, &lock, &second, ms(50));
    let (waits, queued) = tokio::join!(waits, async {
        let error = queued.await.unwrap_err();
        drop(stuck);
        error
    });
    assert_eq!(queued.kind, StoreErrorKind::Unreachable, "{queued}");
    assert!(matches!(waits.unwrap(), Outcome::Granted(_)));
    assert!(!place.is_held("k"));
}

/// Renewals and releases do not stand behind a crowd that asks for locks. The file tells the order in which it was asked.
#[tokio::test]
async fn what_keeps_a_hold_goes_first() {
    let place = Place::new();
    let backend = Arc::new(place.backend());
    backend.apply_one(Kind::Reentrant, &key("k"), &acquire(1), LEASE).await.unwrap();
    let stuck = Stuck::new(&place);
    let mut crowd = tokio::task::JoinSet::new();
    let asked = Arc::new(AtomicU64::new(0));
    for number in 0..500 {
        let (backend, asked) = (Arc::clone(&backend), Arc::clone(&asked));
        crowd.spawn(async move {
            asked.fetch_add(1, Ordering::Relaxed);
            let lock = key(&format!("crowd {number}"));
            backend.apply_one(Kind::Reentrant, &lock, &acquire(1000 + number), Duration::from_secs(30)).await.unwrap()
        });
    }
    // There is one thread, which does not turn to us between the count and the question.
    eventually("the crowd asks", PATIENCE, || asked.load(Ordering::Relaxed) == 500).await;
    let lease = Duration::from_secs(3600);
    let renewal = Operation::Renew { claim: Claim::new("client", 1), lease };
    let last = Arc::clone(&asked);
    crowd.spawn(async move {
        last.fetch_add(1, Ordering::Relaxed);
        let renewed = backend.apply_one(Kind::Reentrant, &key("k"), &renewal, Duration::from_secs(30)).await;
        assert_eq!(renewed.unwrap(), Outcome::Renewed);
        Outcome::Renewed
    });
    eventually("the renewal comes", PATIENCE, || asked.load(Ordering::Relaxed) == 501).await;
    drop(stuck);
    soon("all get in", crowd.join_all()).await;

    // `held kind token since ends`
    let time = |lock: &str, at: usize| -> u64 {
        let record = place.record(lock).unwrap();
        record.lines().nth(1).unwrap().split(' ').nth(at).unwrap().parse().unwrap()
    };
    let renewed = time("k", 4) - u64::try_from(lease.as_micros()).unwrap();
    let before = (0..500).filter(|number| time(&format!("crowd {number}"), 3) < renewed).count();
    // One of them was being done when the renewal came.
    assert!(before <= 1, "{before} of the crowd went first");
}

/// While somebody reads, the log grows; when it is over, the disk gets its space back.
#[tokio::test]
async fn a_log_that_has_grown_shrinks_again() {
    const LIMIT: u64 = 8 << 20;
    let place = Place::new();
    let client = place.client().await;
    let lock = client.lock("k").unwrap();
    lock.lock().await.unwrap().release().await.unwrap();
    let reader = place.peek();
    reader.execute_batch("BEGIN; SELECT count(*) FROM locks").unwrap();
    let size = || std::fs::metadata(format!("{}-wal", place.path.display())).unwrap().len();
    while size() < 2 * LIMIT {
        lock.lock().await.unwrap().release().await.unwrap();
    }
    reader.execute_batch("COMMIT").unwrap();
    let began = Instant::now();
    while size() > LIMIT {
        assert!(began.elapsed() < PATIENCE, "{} bytes", size());
        lock.lock().await.unwrap().release().await.unwrap();
    }
}

#[tokio::test]
async fn a_wait_that_runs_out_leaves_nothing() {
    let place = Place::new();
    let client = place.client().await;
    let lock = client.lock("k").unwrap();
    let stuck = Stuck::new(&place);
    let error = lock.lock_timeout(ms(200)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    drop(stuck);
    let guard = soon("it is free", lock.lock()).await.unwrap();
    assert_eq!(guard.release().await.unwrap(), Release::Released);
    assert_eq!(place.litter(), [""; 0]);
}

#[tokio::test]
async fn what_is_dropped_meanwhile_is_released_after_it() {
    let place = Place::new();
    let client = place.client().await;
    let guard = client.lock("k").unwrap().lock().await.unwrap();
    let stuck = Stuck::new(&place);
    drop(guard);
    // Nothing can be done, and by then the release is among it.
    let error = client.lock("other").unwrap().try_lock().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(place.is_held("k"));
    drop(stuck);
    eventually("it is released", ms(5000), || !place.is_held("k")).await;
}

/// A holder is told before its lease can have ended, however long the file is stuck.
#[tokio::test]
async fn a_holder_that_cannot_renew_is_told_in_time() {
    let place = Place::new();
    let client = place.brief_client().await;
    let guard = client.lock("k").unwrap().lock().await.unwrap();
    let stuck = Stuck::new(&place);
    let began = Instant::now();
    soon("it is lost", guard.lost()).await;
    assert!(began.elapsed() <= LEASE + ms(500), "{:?}", began.elapsed());
    drop(stuck);
}
