//! A wait of nothing is one attempt, and a shortest hold of nothing is none, wherever they are said.

use std::time::Duration;
use tenure_core::{Client, Error, ErrorKind, Kind, Memory, MultiLock, Options, Policy, Retry, Sort, What};

const NOTHING: Duration = Duration::ZERO;

fn client() -> Client {
    Client::new(Memory::new()).expect("a client")
}

/// One attempt met another holder.
#[track_caller]
fn assert_busy<T>(asked: Result<T, Error>) {
    let Err(error) = asked else { panic!("two are in") };
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
}

#[tokio::test]
async fn a_lock_is_asked_for_once() {
    let client = client();
    let mut events = client.events();
    for kind in [Kind::Reentrant, Kind::Simple, Kind::Fair, Kind::Write, Kind::Fenced] {
        let lock = client.lock_of(kind, kind.name()).unwrap();
        let guard = lock.lock_timeout(NOTHING).await.unwrap();
        assert_busy(lock.lock_timeout(NOTHING).await);
        let polls = Options::new().wait(NOTHING).retry(Retry::fixed(Duration::from_millis(1)));
        assert_busy(lock.lock_with(polls).await);
        assert_busy(lock.run_with(Options::new().wait(NOTHING), async {}).await);
        guard.release().await.unwrap();
        lock.lock_timeout(NOTHING).await.unwrap().release().await.unwrap();
    }
    drop(client);
    while let Some(event) = events.next().await {
        assert!(!matches!(event.what, What::Waiting { .. }), "one attempt is no wait: {event:?}");
    }
}

#[tokio::test]
async fn all_else_is_asked_for_once() {
    let client = client();
    let set = MultiLock::new([client.lock("a").unwrap(), client.lock("b").unwrap()]).unwrap();
    let guards = set.lock_timeout(NOTHING).await.unwrap();
    assert_busy(set.lock_timeout(NOTHING).await);
    guards.release().await.unwrap();

    let semaphore = client.semaphore("s").unwrap().of(1).unwrap();
    let permit = semaphore.acquire_timeout(NOTHING).await.unwrap();
    assert_busy(semaphore.acquire_timeout(NOTHING).await);
    permit.release().await.unwrap();

    let permits = client.permits("p").unwrap().of(1).unwrap();
    let id = permits.acquire_timeout(Duration::from_secs(60), NOTHING).await.unwrap();
    assert_busy(permits.acquire_timeout(Duration::from_secs(60), NOTHING).await);
    permits.release(&id).await.unwrap();

    let sides = client.rw_lock("rw").unwrap();
    let (one, another) = (sides.read().lock().await.unwrap(), sides.read().lock().await.unwrap());
    assert_busy(one.upgrade_with(Options::new().wait(NOTHING)).await);
    another.release().await.unwrap();
    one.upgrade_with(Options::new().wait(NOTHING)).await.unwrap().release().await.unwrap();

    let latch = client.latch("l").unwrap();
    latch.try_set(1).await.unwrap();
    assert_busy(latch.wait_timeout(NOTHING).await);
    latch.down().await.unwrap();
    latch.wait_timeout(NOTHING).await.unwrap();
}

#[tokio::test]
async fn a_policy_and_a_client_that_wait_for_nothing_ask_once() {
    let options = Options::new().wait(NOTHING);
    let client = Client::builder().options(options.clone()).build(Memory::new()).unwrap();
    let lock = client.lock("k").unwrap();
    let guard = lock.lock().await.unwrap();
    assert_busy(lock.lock().await);
    let policy = Policy::new().options(options);
    // What a policy says is what its options mean.
    assert_busy(lock.lock_with(policy.get_options().clone()).await);
    assert_busy(client.run(&policy, "k", async {}).await);
    guard.release().await.unwrap();

    let policy = policy.kind(Sort::Semaphore(1));
    let permit = client.semaphore("s").unwrap().of(1).unwrap().acquire().await.unwrap();
    assert_busy(client.run(&policy, "s", async {}).await);
    permit.release().await.unwrap();
}

#[tokio::test]
async fn a_lock_is_kept_for_no_time() {
    let lock = client().lock("k").unwrap();
    let guard = lock.lock_with(Options::new().at_least(NOTHING)).await.unwrap();
    assert_eq!(guard.release().await.unwrap(), tenure_core::Release::Released);
    // What was said before is taken away.
    let options = Options::new().at_least(Duration::from_secs(60)).at_least(NOTHING);
    lock.lock_with(options).await.unwrap().release().await.unwrap();
    lock.lock_timeout(NOTHING).await.expect("it is not kept").release().await.unwrap();
}
