//! Fencing tokens.

use super::bench::Bench;
use super::case::cases;

cases!("tokens":
    tokens_grow_with_every_grant needs Fencing,
    tokens_grow_from_client_to_client needs Fencing,
    tokens_grow_over_a_lock_that_was_freed_by_force needs Fencing,
    re_entry_keeps_the_token needs Fencing,
);

async fn tokens_grow_with_every_grant(bench: &Bench) {
    let lock = bench.lock("a").await;
    let mut last = 0;
    for _ in 0..200 {
        let guard = lock.lock().await.unwrap();
        assert!(guard.token() > last, "{} after {last}", guard.token());
        last = guard.token();
        guard.release().await.unwrap();
    }
}

async fn tokens_grow_from_client_to_client(bench: &Bench) {
    let mut last = 0;
    for round in 0..10 {
        let lock = bench.lock("a").await;
        for _ in 0..5 {
            let guard = lock.lock().await.unwrap();
            assert!(guard.token() > last, "{} after {last} in round {round}", guard.token());
            last = guard.token();
            drop(guard);
        }
    }
}

async fn tokens_grow_over_a_lock_that_was_freed_by_force(bench: &Bench) {
    let lock = bench.lock("a").await;
    let mut guards = Vec::new();
    for _ in 0..20 {
        guards.push(lock.lock().await.unwrap());
        lock.force_release().await.unwrap();
    }
    assert!(guards.is_sorted_by(|one, other| one.token() < other.token()), "{guards:?}");
}

async fn re_entry_keeps_the_token(bench: &Bench) {
    let lock = bench.lock("a").await;
    let guard = lock.lock().await.unwrap();
    let inner = guard.reenter().await.unwrap();
    let innermost = inner.reenter().await.unwrap();
    assert_eq!([inner.token(), innermost.token()], [guard.token(); 2]);
    assert_eq!(lock.inspect().await.unwrap().unwrap().holder().token, Some(guard.token()));
}
