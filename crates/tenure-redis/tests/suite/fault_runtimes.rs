//! Runtimes that are gone, not driven, or blocked: a client serves whoever calls it, and its watchdog keeps on.

use crate::support::{LEASE, PATIENCE, accepted, backend, builder, client, count_of, eventually, exists, soon};
use std::time::Instant;
use tenure_core::Release;
use tenure_testkit::RedisServer;
use tokio::runtime::{Builder, Runtime};

fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn two_workers() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

#[test]
fn a_client_outlives_the_runtime_it_was_first_used_on() {
    let server = RedisServer::start();
    let first = two_workers();
    let client = first.block_on(client(&server.url()));
    let lock = client.lock("k").unwrap();
    let guard = first.block_on(lock.lock()).unwrap();
    drop(first);
    let second = current_thread();
    second.block_on(async {
        // Renewed meanwhile, although the runtime it was taken on is gone.
        tokio::time::sleep(LEASE * 2).await;
        assert!(guard.is_held());
        assert_eq!(count_of(&server, &guard), Some(1));
        assert_eq!(guard.release().await.unwrap(), Release::Released);
        let guard = lock.lock().await.unwrap();
        let waiting = tokio::spawn({
            let lock = lock.clone();
            async move { lock.lock().await }
        });
        guard.release().await.unwrap();
        soon("the waiter gets in", waiting).await.unwrap().unwrap().release().await.unwrap();
    });
}

#[test]
fn a_guard_dropped_outside_any_runtime_is_released() {
    let server = RedisServer::start();
    let runtime = current_thread();
    let client = runtime.block_on(client(&server.url()));
    let guard = runtime.block_on(client.lock("k").unwrap().lock()).unwrap();
    drop(runtime);
    drop(guard);
    current_thread().block_on(eventually("it is released", LEASE / 2, || !exists(&server, "k")));
}

/// The first runtime is left in the middle: connected, with a request on its way that it will never see answered.
#[test]
fn a_runtime_that_nobody_drives_does_not_stop_others() {
    let server = RedisServer::start();
    let idle = current_thread();
    let client = idle.block_on(client(&server.url()));
    let left = client.lock("left").unwrap();
    idle.block_on(async {
        left.lock().await.unwrap().release().await.unwrap();
        tokio::spawn(async move { left.lock().await });
        // Polled once, so that it has been sent.
        tokio::task::yield_now().await;
        tokio::task::yield_now().await;
    });
    let busy = two_workers();
    busy.block_on(async {
        let lock = client.lock("k").unwrap();
        for _ in 0..20 {
            let began = Instant::now();
            lock.lock().await.unwrap().release().await.unwrap();
            assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
        }
        let guard = lock.lock().await.unwrap();
        tokio::time::sleep(LEASE * 2).await;
        assert!(guard.is_held());
    });
    // What was left in the middle goes with its runtime, and leaves nothing.
    drop(idle);
    busy.block_on(eventually("what was left is tidied up", PATIENCE, || !exists(&server, "left")));
}

/// Every worker of the application's runtime is stuck for three leases, and the lock is not lost.
#[test]
fn a_blocked_executor_loses_no_lock() {
    let server = RedisServer::start();
    let runtime = two_workers();
    runtime.block_on(async {
        let client = builder().connect(backend(&server.url())).await.unwrap();
        let guard = client.lock("k").unwrap().lock().await.unwrap();
        let token = guard.token();
        let (watched, began) = (guard.cancellation_token(), Instant::now());
        let blocked: Vec<_> = (0..4).map(|_| tokio::spawn(async { std::thread::sleep(LEASE * 3 / 2) })).collect();
        for task in blocked {
            task.await.unwrap();
        }
        assert!(began.elapsed() >= LEASE * 3, "the workers were blocked: {:?}", began.elapsed());
        assert!(guard.is_held() && !watched.is_cancelled());
        assert_eq!(count_of(&server, &guard), Some(1));
        assert_eq!(guard.token(), token);
        assert_eq!(guard.release().await.unwrap(), Release::Released);
    });
}

/// As many as a server has that runs one per core: each keeps its connection, however many others come and go.
#[test]
fn forty_runtimes_keep_forty_connections() {
    let server = RedisServer::start();
    let runtimes: Vec<Runtime> = (0..40).map(|_| current_thread()).collect();
    let client = runtimes[0].block_on(client(&server.url()));
    let before = accepted(&server);
    for _ in 0..10 {
        for (n, runtime) in runtimes.iter().enumerate() {
            let lock = client.lock(&format!("k{n}")).unwrap();
            runtime.block_on(async { lock.lock().await.unwrap().release().await.unwrap() });
        }
    }
    let opened = accepted(&server) - before;
    eprintln!("400 cycles on 40 runtimes opened {opened} connections");
    assert!((39..50).contains(&opened), "400 cycles on 40 runtimes opened {opened} connections");
}
