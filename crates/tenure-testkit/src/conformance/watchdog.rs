//! The death of the client's own thread.

use super::bench::{Bench, millis, renewed};
use super::case::cases;
use super::tap::Tap;
use super::waiting::{eventually, heard, soon};
use futures_util::future::{join, try_join_all};
use std::sync::Arc;
use std::time::Duration;
use tenure_core::{Client, ErrorKind, Loss, Options, What};

cases!("watchdog":
    when_it_dies_every_guard_is_lost,
    when_it_died_no_lock_is_taken,
    when_it_dies_waiters_do_not_hang,
    when_it_died_a_close_does_not_hang,
);

/// Kills the thread of a client by way of a guard that is to be renewed.
async fn kill(bench: &Bench, client: &Client, tap: &Arc<Tap>) {
    let guard = client.lock_of(bench.kind(), &bench.key("bait")).unwrap().lock_with(renewed(1000)).await.unwrap();
    // Only now: a client that has just begun to listen asks about its holds, and would die before the bait is out.
    tap.make_renewals_panic();
    assert_eq!(soon("the watchdog dies", guard.lost()).await, Loss::WatchdogDied);
    assert!(!guard.is_held());
}

async fn when_it_dies_every_guard_is_lost(bench: &Bench) {
    let (client, tap) = bench.tapped().await;
    let renewed = client.lock_of(bench.kind(), &bench.key("a")).unwrap().lock().await.unwrap();
    let unrenewed =
        client.lock_of(bench.kind(), &bench.key("b")).unwrap().lock_with(Options::new().no_renew()).await.unwrap();
    let inner = unrenewed.reenter().await.unwrap();
    let work = unrenewed.run(std::future::pending::<()>());
    let ((), stopped) = join(kill(bench, &client, &tap), soon("work stops", work)).await;
    assert_eq!(stopped.unwrap_err().kind(), ErrorKind::Lost);
    for guard in [renewed, inner, unrenewed] {
        assert_eq!(soon("the guard is lost", guard.lost()).await, Loss::WatchdogDied);
        assert!(!guard.is_held());
        assert_eq!(soon("the release", guard.release()).await.unwrap_err().kind(), ErrorKind::Lost);
    }
}

async fn when_it_died_no_lock_is_taken(bench: &Bench) {
    let (client, tap) = bench.tapped().await;
    kill(bench, &client, &tap).await;
    let lock = client.lock_of(bench.kind(), &bench.key("a")).unwrap();
    for error in [
        soon("lock", lock.lock()).await.map(drop).unwrap_err(),
        soon("lock_timeout", lock.lock_timeout(Duration::from_secs(60))).await.map(drop).unwrap_err(),
        soon("try_lock", lock.try_lock()).await.map(drop).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Unexpected);
        assert!(error.to_string().contains("watchdog"), "{error}");
    }
    eventually("only the bait's lease ends what is left", async || bench.keys_left().await.is_empty()).await;
}

async fn when_it_dies_waiters_do_not_hang(bench: &Bench) {
    let (client, tap) = bench.tapped().await;
    let mut events = client.events();
    let one = bench.lock("a").await;
    let guard = one.lock().await.unwrap();
    let lock = client.lock_of(bench.kind(), &bench.key("a")).unwrap();
    // The first speaks to the store, the second waits in line behind it.
    let waiting = [lock.clone(), lock].map(|lock| {
        tokio::spawn(async move {
            let error = lock.lock_with(renewed(1000)).await.expect_err("got in on a client that nobody looks after");
            assert_eq!(error.kind(), ErrorKind::Unexpected);
        })
    });
    heard(&mut events, "somebody waits", |what| matches!(what, What::Waiting { .. })).await;
    kill(bench, &client, &tap).await;
    guard.release().await.unwrap();
    soon("the waiters hear of it", try_join_all(waiting)).await.unwrap();
    // One that was being granted the lock has nobody who would cancel that: its lease ends it.
    eventually("the lock is free", async || !one.is_locked().await.unwrap()).await;
}

async fn when_it_died_a_close_does_not_hang(bench: &Bench) {
    let (client, tap) = bench.tapped().await;
    kill(bench, &client, &tap).await;
    // Whether it can say that all is released does not matter; that it says something does.
    let _ = soon("closing", client.close(millis(200))).await;
}
