//! Multi locks over several stores at once.

mod sets;

use std::sync::atomic::Ordering;
use std::time::Duration;
use tenure::{Client, ErrorKind, Kind, MultiLock, Options, Release};
use tenure_testkit::RedisServer;
use tokio::task::JoinSet;

/// Longer than any of these takes on a busy machine.
const SOON: Duration = Duration::from_secs(30);

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

/// One key in two stores, and in each a crowd that is never gone: the set stands in line for both.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_set_of_one_key_in_two_stores_gets_in_beside_those_who_want_one() {
    let (server, home) = (RedisServer::start(), tempfile::tempdir().unwrap());
    let urls = [server.url(), format!("sqlite:{}", home.path().join("locks.db").display())];
    for kind in [Kind::Reentrant, Kind::Simple, Kind::Fair, Kind::Write, Kind::Read] {
        let mut crowd = JoinSet::new();
        let mut locks = Vec::new();
        for url in &urls {
            // Who only reads is kept out by those who write.
            let theirs = if kind == Kind::Read { Kind::Write } else { kind };
            for _ in 0..2 {
                let lock = connected(url).await.lock_of(theirs, "k").unwrap();
                crowd.spawn(async move {
                    loop {
                        let guard = lock.lock().await.unwrap();
                        tokio::time::sleep(Duration::from_millis(5)).await;
                        guard.release().await.unwrap();
                    }
                });
            }
            locks.push(connected(url).await.lock_of(kind, "k").unwrap());
        }
        let set = MultiLock::new(locks).unwrap();
        for _ in 0..3 {
            let guard = set.lock_timeout(SOON).await.unwrap_or_else(|error| panic!("{kind}: {error}"));
            assert_eq!(guard.release().await.unwrap(), Release::Released, "{kind}");
        }
        crowd.shutdown().await;
    }
}

/// Two who call a server by different names disagree about the order, and may wait for each other: not for long.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn those_who_disagree_about_the_order_get_in() {
    let mut servers = [RedisServer::start(), RedisServer::start()];
    servers.sort_by_key(RedisServer::url);
    let urls = servers.each_ref().map(RedisServer::url);
    let elsewhere = urls[0].replace("127.0.0.1", "localhost");
    let of = async |urls: [&str; 2]| {
        let mut locks = Vec::new();
        for url in urls {
            locks.push(connected(url).await.fair("k").unwrap());
        }
        MultiLock::new(locks).unwrap()
    };
    let sets = [of([&urls[0], &urls[1]]).await, of([&elsewhere, &urls[1]]).await];
    let first = |set: &MultiLock, url: &str| format!("{:?}", set.locks()[0]).contains(url.rsplit(':').next().unwrap());
    assert!(first(&sets[0], &urls[0]) && first(&sets[1], &urls[1]), "they disagree: {sets:?}");
    let mut tasks = JoinSet::new();
    for set in sets {
        tasks.spawn(async move {
            for _ in 0..6 {
                let guard = set.lock_timeout(SOON).await.unwrap();
                guard.release().await.unwrap();
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
}

/// A store that was never there is told of, although another of the same key is.
#[tokio::test]
async fn a_store_that_never_answers_is_told_of() {
    let (server, gone) = (RedisServer::start(), RedisServer::start());
    let url = gone.url();
    drop(gone);
    for wait in [None, Some(Duration::from_millis(700))] {
        let clients = [&server.url(), &url].map(|url| {
            let within = Duration::from_millis(200);
            let builder = Client::builder().answer_within(within).connect_within(within * 3);
            builder.build(tenure::store(url).unwrap()).unwrap()
        });
        let set = MultiLock::new(clients.map(|client| client.lock("k").unwrap())).unwrap();
        let options = wait.map_or_else(Options::new, |wait| Options::new().wait(wait));
        let error = tokio::time::timeout(SOON, set.lock_with(options)).await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    }
    assert!(server.keys("k").is_empty());
}

async fn connected(url: &str) -> Client {
    tenure::connect(url).await.unwrap()
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
