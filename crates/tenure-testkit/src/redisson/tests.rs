//! The driver does as it is told: threads are owners, they do not wait for each other, and errors are answers.

use std::process::{Command, Stdio};
use std::time::Duration;

use super::jvm::{build, driver};
use super::{Answer, JavaLock, Jvm, jvm};
use crate::RedisServer;

const WATCHDOG: Duration = Duration::from_secs(30);

/// An answer that must come, and be no exception.
async fn soon<T>(answer: impl Future<Output = Answer<T>>) -> T {
    tokio::time::timeout(Duration::from_secs(30), answer).await.expect("an answer").expect("no exception")
}

/// One holds, the other waits until it is its turn.
async fn exclude_each_other(one: JavaLock, other: JavaLock) {
    soon(one.lock()).await;
    assert!(!soon(other.try_lock(Duration::ZERO)).await);
    let waiting = other.lock();
    assert_eq!((soon(one.is_held()).await, soon(one.hold_count()).await), (true, 1));
    soon(one.unlock()).await;
    soon(waiting).await;
    assert!(!soon(one.is_held()).await && soon(other.is_held()).await);
    soon(other.unlock()).await;
    assert!(!soon(one.is_locked()).await);
}

#[tokio::test]
async fn threads_are_owners_and_wait_beside_each_other() {
    let server = RedisServer::start();
    let (one, other) = (jvm().connect(&server.url(), WATCHDOG).await, jvm().connect(&server.url(), WATCHDOG).await);
    for other in [other, one.clone()] {
        let (a, b) = (one.thread(), other.thread());
        exclude_each_other(a.lock("k"), b.lock("k")).await;
        exclude_each_other(a.fair_lock("f"), b.fair_lock("f")).await;
        exclude_each_other(a.write_lock("rw"), b.read_lock("rw")).await;
    }
    let (a, b) = (one.thread().read_lock("rw"), one.thread().read_lock("rw"));
    soon(a.lock_for(WATCHDOG)).await;
    assert!(soon(b.try_lock_for(Duration::ZERO, WATCHDOG)).await, "readers share");
    assert!((1..=30_000).contains(&soon(b.remain_time_to_live()).await));
    assert!(soon(b.force_unlock()).await);
}

#[tokio::test]
async fn exceptions_are_answers() {
    let server = RedisServer::start();
    let java = jvm().connect(&server.url(), WATCHDOG).await;
    let lock = java.thread().lock("k");
    for _ in 0..2 {
        let error = lock.unlock().await.unwrap_err();
        assert_eq!(error.class, "java.lang.IllegalMonitorStateException", "{error}");
    }
    soon(lock.lock()).await;
}

#[tokio::test]
async fn the_stress_tells_of_every_hold() {
    let server = RedisServer::start();
    let java = jvm().connect(&server.url(), WATCHDOG).await;
    let section = Duration::from_millis(5);
    let before = crate::history::monotonic_now();
    let holds = soon(java.thread().lock("k").stress(Duration::from_millis(200), section)).await;
    let mut last = before;
    for hold in &holds {
        let ended = hold.ended.expect("an end");
        assert!(last <= hold.asked && hold.asked <= hold.granted, "{hold:?}");
        assert!(Duration::from_nanos(ended - hold.granted) >= section, "{hold:?}");
        last = ended;
    }
    assert!(!holds.is_empty() && last <= crate::history::monotonic_now());
}

#[tokio::test]
#[should_panic(expected = "the driver has ended and owes an answer to: lock")]
async fn whoever_waits_for_a_dead_driver_is_told() {
    let server = RedisServer::start();
    let jvm = Jvm::start();
    let java = jvm.connect(&server.url(), WATCHDOG).await;
    soon(java.thread().lock("k").lock()).await;
    let waiting = java.thread().lock("k").lock();
    jvm.kill();
    let _ = waiting.await;
}

#[tokio::test]
async fn a_shutdown_is_answered() {
    let server = RedisServer::start();
    let jvm = Jvm::start();
    let _java = jvm.connect(&server.url(), WATCHDOG).await;
    tokio::time::timeout(Duration::from_secs(30), jvm.shutdown()).await.expect("an answer");
}

#[test]
fn a_driver_that_nobody_commands_ends() {
    build();
    let ended = Command::new(driver()).stdin(Stdio::null()).output().expect("a driver");
    assert!(ended.status.success() && ended.stdout.starts_with(b"ready "), "{ended:?}");
}

#[test]
fn without_java_there_is_a_line_to_type() {
    let refused = Command::new(driver()).arg("--build").env("PATH", "").output().expect("a shell");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success());
    assert!(said.contains("apt-get install -y --no-install-recommends default-jdk-headless maven\n"), "{said}");
}
