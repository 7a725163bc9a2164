//! Whom a release calls.

mod support;

use std::time::{Duration, Instant};
use support::{PATIENCE, Place, eventually, ms, soon};
use tenure_core::{Guard, Lock, Options};
use tokio::task::JoinHandle;

/// By itself one who waits looks after a second: who is in by then was called. The fastest of several counts, for what
/// else the machine does makes nobody faster.
const CALLED_WITHIN: Duration = Duration::from_millis(400);
const ATTEMPTS: usize = 4;

async fn until_waited_for(lock: &Lock, by: u32) {
    let deadline = Instant::now() + PATIENCE;
    while lock.inspect().await.unwrap().expect("it is held").waiters != Some(by) {
        assert!(Instant::now() < deadline, "not waited for by {by}");
        tokio::time::sleep(ms(5)).await;
    }
}

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
