//! Whom a release calls, and that no call is lost: not to those who stand under others, and not when many come at once.

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::net::UnixDatagram;
use std::time::{Duration, Instant};
use support::{LEASE, PATIENCE, Place, eventually, key, soon, until_waited_for};
use tenure_core::{Backend, Claim, Client, Guard, Kind, Lock, Operation, Options, Outcome, Stay};
use tokio::task::JoinHandle;

/// By itself one who waits looks after a second: who is in by then was called. The fastest of several counts, for what
/// else the machine does makes nobody faster.
const CALLED_WITHIN: Duration = Duration::from_millis(400);
const ATTEMPTS: usize = 4;

fn waits(lock: Lock, options: Options) -> JoinHandle<Guard> {
    tokio::spawn(async move { lock.lock_with(options).await.unwrap() })
}

/// The line does not tell who may come in beside those who are still there, so strangers before it keep nobody waiting.
#[tokio::test]
async fn a_sibling_is_called_when_another_leaves() {
    let mut fastest = Duration::MAX;
    for _ in 0..ATTEMPTS {
        let place = Place::new();
        let (holder, sibling) = (place.client().await, place.client().await);
        let strangers = [place.client().await, place.client().await, place.client().await];
        let lock = holder.lock("k").unwrap();
        let outer = lock.lock().await.unwrap();
        let inner = lock.lock_with(Options::new().under(&outer.lineage())).await.unwrap();
        let mut others = Vec::new();
        for (before, stranger) in (1..).zip(&strangers) {
            others.push(waits(stranger.lock("k").unwrap(), Options::new()));
            until_waited_for(&lock, before).await;
        }
        let waiting = waits(sibling.lock("k").unwrap(), Options::new().under(&outer.lineage()));
        until_waited_for(&lock, 4).await;
        let left = Instant::now();
        inner.release().await.unwrap();
        let next = soon("the sibling gets in", waiting).await.unwrap();
        fastest = fastest.min(left.elapsed());
        assert_eq!(next.token(), outer.token());
        assert!(others.iter().all(|other| !other.is_finished()), "no stranger does");
        drop((next, outer));
        eventually("a stranger gets in", PATIENCE, || others.iter().any(JoinHandle::is_finished)).await;
        others.iter().for_each(JoinHandle::abort);
    }
    assert!(fastest < CALLED_WITHIN, "{fastest:?}");
}

/// Many locks that are freed at once are all handed over at once, though the kernel keeps few calls for one who is busy.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_locks_are_handed_over_at_once() {
    const LOCKS: u32 = 500;
    let mut fastest = Duration::MAX;
    for _ in 0..ATTEMPTS {
        let place = Place::new();
        let (one, other) = (place.client().await, place.client().await);
        let mut held = Vec::new();
        for number in 0..LOCKS {
            held.push(one.lock(&format!("k{number}")).unwrap().lock().await.unwrap());
        }
        let waiting: Vec<_> =
            (0..LOCKS).map(|number| waits(other.lock(&format!("k{number}")).unwrap(), Options::new())).collect();
        let in_line = "SELECT count(*) FROM waiters";
        let db = place.peek();
        let count = || db.query_row(in_line, [], |row| row.get::<_, u32>(0)).unwrap();
        eventually("all wait", PATIENCE, || count() == LOCKS).await;
        let began = Instant::now();
        let releasing: Vec<_> =
            held.into_iter().map(|guard| tokio::spawn(async move { guard.release().await.unwrap() })).collect();
        for released in releasing {
            released.await.unwrap();
        }
        let freed = began.elapsed();
        for waiting in waiting {
            drop(soon("it gets in", waiting).await.unwrap());
        }
        let took = began.elapsed().saturating_sub(freed);
        println!("all were free after {freed:?}, and all in {took:?} later");
        fastest = fastest.min(took);
    }
    assert!(fastest < CALLED_WITHIN, "the last came in {fastest:?} after all were free");
}

/// All holders of many locks that are released by force are told long before they would have renewed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_forced_release_is_told() {
    const LOCKS: usize = 300;
    let place = Place::new();
    let options = Options::new().lease(Duration::from_secs(300));
    let holder = Client::builder().options(options).connect(place.backend()).await.unwrap();
    let mut held = Vec::new();
    for number in 0..LOCKS {
        held.push(holder.lock(&format!("k{number}")).unwrap().lock().await.unwrap());
    }
    let bells = || fs::read_dir(format!("{}-wake", place.path.display())).unwrap().count();
    eventually("the holder has a bell", PATIENCE, || bells() == 1).await;
    let other = place.client().await;
    let forcing: Vec<_> = (0..LOCKS)
        .map(|number| {
            let lock = other.lock(&format!("k{number}")).unwrap();
            tokio::spawn(async move { lock.force_release().await.unwrap() })
        })
        .collect();
    for forced in forcing {
        assert!(forced.await.unwrap().is_some());
    }
    for guard in &held {
        soon("the holder is told", guard.lost()).await;
    }
}

/// A bell that is full is rung again when there is room.
#[tokio::test]
async fn calls_to_one_who_is_busy_are_kept() {
    const LOCKS: u64 = 200;
    for locks in [40, LOCKS] {
        let place = Place::new();
        let backend = place.backend();
        backend.reach(LEASE).await.unwrap();
        let bell = UnixDatagram::bind(format!("{}-wake/busy", place.path.display())).unwrap();
        bell.set_read_timeout(Some(PATIENCE)).unwrap();
        let (db, wait) = (place.peek(), "INSERT INTO waiters VALUES (?1, 'busy', 0, 0)");
        for number in 0..locks {
            let (lock, claim) = (format!("k{number}"), Claim::new("client", number));
            let acquire = Operation::Acquire { claim: claim.clone(), under: vec![], lease: PATIENCE, stay: Stay::No };
            backend.apply_one(Kind::Reentrant, &key(&lock), &acquire, LEASE).await.unwrap();
            db.execute(wait, [lock.as_bytes()]).unwrap();
            let release =
                Operation::Release { claim, left: 0, change: 0, lease: LEASE, keep: Duration::ZERO, cancel: None };
            let released = backend.apply_one(Kind::Reentrant, &key(&lock), &release, LEASE).await.unwrap();
            assert_eq!(released, Outcome::Released);
        }
        let heard = tokio::task::spawn_blocking(move || {
            let (mut heard, mut words) = (BTreeSet::new(), [0; 100]);
            while heard.len() < usize::try_from(locks).unwrap() {
                let length = bell.recv(&mut words).expect("a call");
                let words = String::from_utf8_lossy(&words[..length]).into_owned();
                if words == "look" {
                    // It was not worth keeping all of them: this is as good.
                    break;
                }
                heard.insert(words);
            }
            heard.len()
        });
        let heard = heard.await.unwrap();
        assert!(heard > 10 && (heard == 40 || locks == LOCKS), "{heard} of {locks}");
    }
}
