//! Multi locks over several stores at once.

mod sets;

use std::sync::atomic::Ordering;
use tenure::{MultiLock, Release};
use tenure_testkit::RedisServer;

#[tokio::test]
async fn a_set_of_three_stores_excludes_others() {
    let (servers, home) = ([RedisServer::start(), RedisServer::start()], tempfile::tempdir().unwrap());
    let mut urls: Vec<String> = servers.iter().map(RedisServer::url).collect();
    urls.push(format!("sqlite:{}", home.path().join("locks.db").display()));
    let set = async || {
        let mut locks = Vec::new();
        for (at, url) in urls.iter().enumerate() {
            let client = tenure::connect(url).await.unwrap();
            // The same key in every store, and one of its own.
            locks.extend([client.lock("k").unwrap(), client.lock(&format!("k{at}")).unwrap()]);
        }
        MultiLock::new(locks).unwrap()
    };
    let (one, other) = (set().await, set().await);
    let guard = one.lock().await.unwrap();
    assert_eq!(guard.guards().len(), 6);
    assert!(other.try_lock().await.unwrap().is_none());
    assert!(other.try_lock().await.unwrap().is_none());
    assert_eq!(guard.release().await.unwrap(), Release::Released);
    let guard = other.try_lock().await.unwrap().expect("all are free");
    assert_eq!(guard.release().await.unwrap(), Release::Released);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_sets_over_three_stores_neither_deadlock_nor_leave_anything() {
    const SETS: usize = 5_000;
    let (report, tally) = sets::take(SETS).await;
    println!("{tally:?}\n{report}");
    report.assert_clean();
    let count = |count: &std::sync::atomic::AtomicUsize| count.load(Ordering::Relaxed);
    assert!(count(&tally.held) >= SETS / 2 && count(&tally.given_up) >= SETS / 100, "{tally:?}");
}
