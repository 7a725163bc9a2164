//! Guards that are dropped, wherever that happens.

use super::bench::{Bench, millis, renewed};
use super::case::cases;
use super::waiting::{eventually, heard, soon};
use tenure_core::{Guard, Lock, Operation, Release, What};

cases!("dropping":
    a_dropped_guard_releases,
    a_dropped_inner_guard_leaves_the_outer_in,
    a_guard_dropped_outside_any_runtime_releases,
    a_guard_dropped_by_a_runtime_that_shuts_down_releases,
    a_guard_whose_client_is_gone_releases,
    a_task_that_panics_releases,
    a_release_that_is_cancelled_is_finished,
    releases_that_hang_keep_no_lock_from_being_renewed,
);

/// Takes a lock, has another client wait for it, lets the guard be dropped somehow, and sees the waiter in. The lease
/// is far too long for it to get in otherwise.
async fn let_go<F: Future<Output = ()>>(bench: &Bench, drop_it: impl FnOnce(Guard) -> F) {
    let other = bench.client().await;
    let mut events = other.events();
    let guard = bench.lock("a").await.lock().await.unwrap();
    let waiter = other.lock_of(bench.kind(), &bench.key("a")).unwrap();
    let waiting = tokio::spawn(async move { waiter.lock().await.unwrap() });
    heard(&mut events, "the waiter waits", |what| matches!(what, What::Waiting { .. })).await;
    drop_it(guard).await;
    let next = soon("the waiter gets in", waiting).await.unwrap();
    assert_eq!(next.release().await.unwrap(), Release::Released);
    eventually("nothing is left", async || bench.keys_left().await.is_empty()).await;
}

async fn a_dropped_guard_releases(bench: &Bench) {
    let_go(bench, async |guard| drop(guard)).await;
}

async fn a_dropped_inner_guard_leaves_the_outer_in(bench: &Bench) {
    let lock = bench.lock("a").await;
    let outer = lock.lock().await.unwrap();
    drop(outer.reenter().await.unwrap());
    let counted = async || lock.inspect().await.unwrap().expect("the outer guard holds").holder().count == 1;
    eventually("the inner entry is counted out", counted).await;
    assert!(outer.is_held());
    assert_eq!(outer.release().await.unwrap(), Release::Released);
    bench.assert_nothing_left().await;
}

async fn a_guard_dropped_outside_any_runtime_releases(bench: &Bench) {
    let outside = async |guard| {
        let thread = std::thread::spawn(move || {
            assert!(tokio::runtime::Handle::try_current().is_err());
            drop::<Guard>(guard);
        });
        tokio::task::spawn_blocking(|| thread.join().unwrap()).await.unwrap();
    };
    let_go(bench, outside).await;
}

async fn a_guard_dropped_by_a_runtime_that_shuts_down_releases(bench: &Bench) {
    let shut_down = async |guard: Guard| {
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
            let (tell, told) = tokio::sync::oneshot::channel();
            runtime.spawn(async move {
                let guard = guard;
                // So that the store was also spoken to on the runtime that goes.
                guard.renew().await.unwrap();
                tell.send(()).unwrap();
                guard.lost().await
            });
            runtime.block_on(told).unwrap();
            drop(runtime);
        });
        tokio::task::spawn_blocking(|| thread.join().unwrap()).await.unwrap();
    };
    let_go(bench, shut_down).await;
}

async fn a_guard_whose_client_is_gone_releases(bench: &Bench) {
    let client = bench.client().await;
    let guard = client.lock_of(bench.kind(), &bench.key("a")).unwrap().lock().await.unwrap();
    drop(client);
    assert!(guard.is_held());
    drop(guard);
    drop(soon("the lock is free", bench.lock("a").await.lock()).await.unwrap());
}

async fn a_task_that_panics_releases(bench: &Bench) {
    let panic = async |guard: Guard| {
        let task = tokio::spawn(async move {
            let _guard = guard;
            tokio::task::yield_now().await;
            panic!("this panic is part of the case");
        });
        assert!(task.await.unwrap_err().is_panic());
    };
    let_go(bench, panic).await;
}

async fn a_release_that_is_cancelled_is_finished(bench: &Bench) {
    let cancel = async |guard: Guard| {
        let mut releasing = Box::pin(guard.release());
        // One that needs no second poll is done, which is as well.
        super::waiting::waits(&mut releasing).await;
        drop(releasing);
    };
    let_go(bench, cancel).await;
    let lock: Lock = bench.lock("a").await;
    assert!(lock.try_lock().await.unwrap().is_some());
}

/// They share a connection with renewals, which go on beside them.
async fn releases_that_hang_keep_no_lock_from_being_renewed(bench: &Bench) {
    let (client, tap) = bench.tapped().await;
    let lock = |name: &str| client.lock_of(bench.kind(), &bench.key(name)).unwrap();
    let lease = millis(1000);
    let kept = lock("kept").lock_with(renewed(1000)).await.unwrap();
    let mut guards = Vec::new();
    for number in 0..100 {
        guards.push(lock(&number.to_string()).lock().await.unwrap());
    }
    tap.hold_back(|operation| matches!(operation, Operation::Release { .. }));
    drop(guards);
    eventually("some are on the way", async || tap.held_back() > 0).await;
    assert!(tokio::time::timeout(lease * 2, kept.lost()).await.is_err(), "it was not renewed");
    tap.let_through();
    kept.release().await.unwrap();
    eventually("nothing is left", async || bench.keys_left().await.is_empty()).await;
}
