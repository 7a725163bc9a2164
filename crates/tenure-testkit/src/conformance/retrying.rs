//! Asking again by a policy.

use super::bench::{Bench, millis};
use super::case::cases;
use super::waiting::{eventually, soon};
use std::time::Instant;
use tenure_core::{ErrorKind, Options, Release, Retry};

cases!("retrying":
    so_many_retries_are_one_attempt_more,
    a_wait_bounds_the_retries,
    a_retry_gets_a_lock_that_became_free,
    one_attempt_is_one_attempt,
);

async fn so_many_retries_are_one_attempt_more(bench: &Bench) {
    let holder = bench.lock("a").await.lock().await.unwrap();
    for retries in [0, 1, 4] {
        let (client, tap) = bench.tapped().await;
        let lock = client.lock_of(bench.kind(), &bench.key("a")).unwrap();
        let policy = Retry::fixed(millis(20)).times(retries);
        let error = soon("giving up", lock.lock_with(Options::new().retry(policy))).await.unwrap_err();
        assert_eq!((error.kind(), error.key()), (ErrorKind::Timeout, Some(lock.key())));
        assert_eq!(error.holder().map(|holder| &holder.claim), Some(holder.claim()));
        assert_eq!(tap.acquires(), usize::try_from(retries).unwrap() + 1);
    }
}

async fn a_wait_bounds_the_retries(bench: &Bench) {
    let _holder = bench.lock("a").await.lock().await.unwrap();
    let lock = bench.lock("a").await;
    let (bound, began) = (millis(150), Instant::now());
    let options = Options::new().retry(Retry::exponential(millis(40)).times(1000)).wait(bound);
    let error = lock.lock_with(options).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    let waited = began.elapsed();
    assert!(waited >= bound && waited <= bound + millis(3000), "waited {waited:?} for {bound:?}");
}

async fn a_retry_gets_a_lock_that_became_free(bench: &Bench) {
    let holder = bench.lock("a").await.lock().await.unwrap();
    let (client, tap) = bench.tapped().await;
    let lock = client.lock_of(bench.kind(), &bench.key("a")).unwrap();
    let waiting =
        tokio::spawn(async move { lock.lock_with(Options::new().retry(Retry::linear(millis(20)))).await.unwrap() });
    eventually("it was asked for in vain a few times", async || tap.acquires() >= 3).await;
    holder.release().await.unwrap();
    let guard = soon("the lock is obtained", waiting).await.unwrap();
    assert_eq!(guard.release().await.unwrap(), Release::Released);
    bench.assert_nothing_left().await;
}

async fn one_attempt_is_one_attempt(bench: &Bench) {
    let _holder = bench.lock("a").await.lock().await.unwrap();
    let (client, tap) = bench.tapped().await;
    let lock = client.lock_of(bench.kind(), &bench.key("a")).unwrap();
    assert!(lock.try_lock().await.unwrap().is_none());
    assert_eq!(tap.acquires(), 1);
}
