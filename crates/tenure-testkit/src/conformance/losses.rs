//! Work that must stop when its lock is lost.

use super::bench::{Bench, unrenewed};
use super::case::cases;
use super::waiting::soon;
use std::sync::Arc;
use tenure_core::{ErrorKind, Release};

cases!("losses":
    work_is_dropped_when_the_lock_is_lost,
    work_that_ends_in_time_gives_its_output,
    work_does_not_begin_under_a_lost_lock,
    a_token_is_cancelled_when_the_lock_is_lost,
    a_token_of_a_released_lock_is_not_cancelled,
);

async fn work_is_dropped_when_the_lock_is_lost(bench: &Bench) {
    let lock = bench.lock("a").await;
    let guard = lock.lock_with(unrenewed(200)).await.unwrap();
    let alive = Arc::new(());
    let kept = Arc::clone(&alive);
    let work = async move {
        std::future::pending::<()>().await;
        drop(kept);
    };
    let error = soon("the work is stopped", guard.run(work)).await.unwrap_err();
    assert_eq!((error.kind(), error.key()), (ErrorKind::Lost, Some(lock.key())));
    assert_eq!(Arc::strong_count(&alive), 1, "the work was not dropped");
    assert!(!guard.is_held());
}

async fn work_that_ends_in_time_gives_its_output(bench: &Bench) {
    let lock = bench.lock("a").await;
    let guard = lock.lock().await.unwrap();
    let work = async {
        tokio::task::yield_now().await;
        lock.is_locked().await.unwrap()
    };
    assert!(guard.run(work).await.unwrap());
    assert_eq!(guard.release().await.unwrap(), Release::Released);
}

async fn work_does_not_begin_under_a_lost_lock(bench: &Bench) {
    let guard = bench.lock("a").await.lock_with(unrenewed(100)).await.unwrap();
    soon("the lease ends", guard.lost()).await;
    let error = guard.run(async { panic!("the work was begun") }).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Lost);
}

async fn a_token_is_cancelled_when_the_lock_is_lost(bench: &Bench) {
    let guard = bench.lock("a").await.lock_with(unrenewed(1000)).await.unwrap();
    let token = guard.cancellation_token();
    assert!(!token.is_cancelled());
    soon("the token is cancelled", token.cancelled()).await;
    assert!(!guard.is_held());
    assert!(guard.cancellation_token().is_cancelled(), "one that is asked for later is cancelled too");
}

async fn a_token_of_a_released_lock_is_not_cancelled(bench: &Bench) {
    let guard = bench.lock("a").await.lock().await.unwrap();
    let token = guard.cancellation_token();
    let inner = guard.reenter().await.unwrap();
    inner.release().await.unwrap();
    assert!(guard.is_held() && !token.is_cancelled());
    guard.release().await.unwrap();
    assert!(!token.is_cancelled(), "what was released is not lost");
}
