//! Threads that share the locks of a file and of a server.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;
use tenure::blocking::{self, CancellationToken, Client, MultiLock};
use tenure::{ErrorKind, Kind, Options, Release};
use tenure_testkit::history::Asking;
use tenure_testkit::{History, RedisServer};

const SECOND: Duration = Duration::from_secs(1);

fn file() -> (TempDir, String) {
    let home = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", home.path().join("locks.db").display());
    (home, url)
}

/// What another thread has to say.
fn elsewhere<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|threads| threads.spawn(work).join().unwrap())
}

fn basic_cycle(url: &str) {
    let client = blocking::connect(url).unwrap();
    let lock = client.lock("a").unwrap();
    let outer = lock.lock().unwrap();
    let inner = lock.lock().unwrap();
    let held = lock.inspect().unwrap().unwrap();
    assert_eq!((held.holder().count, held.holder().token), (2, Some(outer.token())));
    assert!(elsewhere(|| lock.try_lock().unwrap().is_none()));
    let error = elsewhere(|| lock.lock_timeout(Duration::from_millis(50)).unwrap_err());
    assert_eq!(
        (error.kind(), error.holder().map(|holder| &holder.claim)),
        (ErrorKind::Timeout, Some(inner.as_async().claim()))
    );

    // One waits until both are released, the other until it is called off.
    let token = CancellationToken::new();
    let waited = thread::scope(|threads| {
        let called_off = threads.spawn(|| lock.lock_unless(&token).unwrap().is_none());
        token.cancel();
        assert!(called_off.join().unwrap());
        let waiter = threads.spawn(|| lock.lock().map(|guard| guard.token()));
        drop(inner);
        outer.release().unwrap();
        waiter.join().unwrap().unwrap()
    });
    let guard = lock.lock_timeout(10 * SECOND).unwrap();
    assert!(guard.token() > waited);
    guard.renew().unwrap();
    assert_eq!(guard.release().unwrap(), Release::Released);
    drop(lock.lock().unwrap());
    client.close(10 * SECOND).unwrap();
    assert!(blocking::connect(url).unwrap().list("*").unwrap().is_empty(), "nothing is left");
}

/// Eight threads of two clients, and two tasks beside them.
fn contention(url: &str) {
    const ROUNDS: usize = 25;
    let clients = [blocking::connect(url).unwrap(), blocking::connect(url).unwrap()];
    let (history, inside) = (History::new(), AtomicU32::new(0));
    let section = |asking: Asking, token| {
        let record = asking.granted(token);
        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "somebody else is in");
        thread::yield_now();
        inside.fetch_sub(1, Ordering::SeqCst);
        record.ended();
    };
    thread::scope(|threads| {
        for number in 0..8 {
            let (client, history, section) = (&clients[number % 2], &history, &section);
            threads.spawn(move || {
                let lock = client.lock("a").unwrap();
                for round in 0..ROUNDS {
                    let asking = history.asking("a", &format!("thread {number}"));
                    let guard = lock.lock_timeout(60 * SECOND).unwrap();
                    section(asking, guard.token());
                    if (number + round) % 2 == 0 {
                        guard.release().unwrap();
                    }
                }
            });
        }
        let task = async |client: &Client, name: &str| {
            let lock = client.as_async().lock("a").unwrap();
            for _ in 0..ROUNDS {
                let asking = history.asking("a", name);
                let guard = lock.lock_timeout(60 * SECOND).await.unwrap();
                section(asking, guard.token());
                guard.release().await.unwrap();
            }
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async { tokio::join!(task(&clients[0], "a task"), task(&clients[1], "another task")) });
    });
    history.check().assert_clean().assert_at_least(10 * ROUNDS);
}

fn every_kind(url: &str) {
    let client = blocking::connect(url).unwrap();
    for kind in [Kind::Reentrant, Kind::Simple, Kind::Fair, Kind::Fenced, Kind::Read, Kind::Write] {
        let lock = client.lock_of(kind, &format!("of {kind}")).unwrap();
        let guard = lock.lock().unwrap();
        assert!(elsewhere(|| lock.try_lock().unwrap().is_none() || kind == Kind::Read), "{kind}");
        match lock.lock() {
            Ok(again) => assert_eq!(again.release().unwrap(), Release::StillHeld(1), "{kind}"),
            Err(error) => assert_eq!((kind, error.kind()), (Kind::Simple, ErrorKind::Conflict)),
        }
        drop(guard);
        let waited = elsewhere(|| lock.lock_timeout(10 * SECOND).unwrap().release().unwrap());
        // Those who read need not wait until the first has left.
        assert!(waited == Release::Released || (waited, kind) == (Release::Left, Kind::Read), "{kind}: {waited:?}");
    }
    read_write_and_sets(&client);
    counts(&client);
    client.close(10 * SECOND).unwrap();
}

fn read_write_and_sets(client: &Client) {
    let catalogue = client.rw_lock("catalogue").unwrap();
    let reader = catalogue.read().lock().unwrap();
    let writer = reader.upgrade().unwrap();
    assert!(elsewhere(|| catalogue.read().try_lock().unwrap().is_none()));
    drop(writer);
    reader.release().unwrap();
    let reader = catalogue.write().lock_timeout(10 * SECOND).unwrap().downgrade().unwrap();
    assert!(elsewhere(|| catalogue.read().try_lock().unwrap().is_some()));
    reader.release().unwrap();

    let (one, two) = (client.lock("one").unwrap(), client.fair("two").unwrap());
    let both = MultiLock::new([&two, &one]).unwrap();
    let guard = both.lock().unwrap();
    assert!(elsewhere(|| both.try_lock().unwrap().is_none() && one.try_lock().unwrap().is_none()));
    assert!(one.try_lock().unwrap().is_some(), "the same thread");
    assert_eq!(guard.keys().map(ToString::to_string).collect::<Vec<_>>(), ["one", "two"]);
    guard.check().unwrap();
    drop(guard);
    let waited = elsewhere(|| both.lock_timeout(10 * SECOND).unwrap().release().unwrap());
    assert_eq!(waited, Release::Released);
}

fn counts(client: &Client) {
    let calls = client.semaphore("calls").unwrap().of(3).unwrap();
    let (one, two) = (calls.acquire().unwrap(), calls.acquire_many(2).unwrap());
    assert!(calls.try_acquire().unwrap().is_none());
    drop(one);
    calls.acquire_with(1, Options::new().wait(10 * SECOND)).unwrap().release().unwrap();
    two.release().unwrap();
    assert_eq!((calls.available().unwrap(), calls.permits().unwrap()), (3, Some(3)));

    let seats = client.permits("seats").unwrap().of(2).unwrap();
    let both = seats.acquire_many(2, 60 * SECOND).unwrap();
    assert!(seats.try_acquire(60 * SECOND).unwrap().is_none());
    seats.renew(&both[0], 60 * SECOND).unwrap();
    elsewhere(|| seats.release_many(&both).unwrap());
    assert_eq!(seats.available().unwrap(), 2);

    let latch = client.latch("latch").unwrap();
    assert!(latch.try_set(2).unwrap());
    let opened = thread::scope(|threads| {
        let waiter = threads.spawn(|| latch.wait_timeout(10 * SECOND));
        latch.down().unwrap();
        latch.down_once("the last").unwrap();
        waiter.join().unwrap()
    });
    opened.unwrap();
    assert_eq!(latch.count().unwrap(), 0);
}

#[test]
fn the_basic_cycle_on_sqlite() {
    let (_home, url) = file();
    basic_cycle(&url);
}

#[test]
fn the_basic_cycle_on_redis() {
    basic_cycle(&RedisServer::start().url());
}

#[test]
fn threads_and_tasks_never_meet_on_sqlite() {
    let (_home, url) = file();
    contention(&url);
}

#[test]
fn threads_and_tasks_never_meet_on_redis() {
    contention(&RedisServer::start().url());
}

#[test]
fn every_kind_on_sqlite() {
    let (_home, url) = file();
    every_kind(&url);
}

#[test]
fn every_kind_on_redis() {
    every_kind(&RedisServer::start().url());
}

#[test]
fn a_store_that_is_not_there_is_an_error() {
    let error = blocking::connect("redis://127.0.0.1:1").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert_eq!(blocking::connect("memory:x").unwrap_err().kind(), ErrorKind::Invalid);
}
