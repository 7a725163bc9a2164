//! Both libraries see the same lock: who is in, how often, and for how long.

use crate::sides::{LONG, Sides};
use crate::support::{count_of, ms, soon};
use std::time::Duration;
use tenure_core::{Holder, Lock, Options, Release};
use tenure_testkit::redisson::JavaLock;

async fn java_ttl(lock: &JavaLock) -> Duration {
    let left = soon("java looks", lock.remain_time_to_live()).await.unwrap();
    ms(left.try_into().expect("a lock that is held, and for how long"))
}

/// Who holds the lock, and for how long Redisson says so; between two looks of ours, since what is left only shrinks.
async fn seen_by_both(java: &JavaLock, rust: &Lock) -> Holder {
    let remaining = async || rust.inspect().await.unwrap().expect("a lock that is held").holder().clone();
    let (before, between, after) = (remaining().await, java_ttl(java).await, remaining().await);
    let (most, least) = (before.remaining.expect("a lease"), after.remaining.expect("a lease"));
    assert!(least <= between && between <= most, "java sees {between:?} left, rust {most:?} and then {least:?}");
    assert_eq!((&before.claim, before.count), (&after.claim, after.count));
    after
}

pub(crate) async fn java_sees_what_rust_holds() {
    let sides = Sides::meet().await;
    let (java, rust) = (sides.java.thread().lock("k"), sides.rust.lock("k").unwrap());
    // Not renewed, so that what is left only shrinks.
    let options = Options::new().lease(LONG).no_renew();
    let first = rust.lock_with(options.clone()).await.unwrap();
    let second = first.reenter_with(options.clone()).await.unwrap();
    let third = second.reenter_with(options).await.unwrap();

    assert!(soon("java looks", java.is_locked()).await.unwrap());
    assert!(!soon("java looks", java.is_held()).await.unwrap());
    assert_eq!(soon("java looks", java.hold_count()).await.unwrap(), 0, "that is another's");
    for (left, guard) in [(3, third), (2, second)] {
        let seen = seen_by_both(&java, &rust).await;
        assert_eq!((&seen.claim, seen.count, seen.token), (guard.claim(), left, Some(guard.token())));
        assert!(seen.remaining > Some(LONG / 2), "a lease of {LONG:?} and no more than {:?} left", seen.remaining);
        assert!(!soon("java tries", java.try_lock(Duration::ZERO)).await.unwrap());
        assert_eq!(guard.release().await.unwrap(), Release::StillHeld(left - 1));
    }
    assert_eq!(count_of(&sides.server, &first), Some(1));
    assert!(soon("java looks", java.is_locked()).await.unwrap());
    assert_eq!(first.release().await.unwrap(), Release::Released);

    assert!(!soon("java looks", java.is_locked()).await.unwrap());
    assert_eq!(soon("java looks", java.remain_time_to_live()).await.unwrap(), -2);
    assert!(soon("java tries", java.try_lock(Duration::ZERO)).await.unwrap());
}

pub(crate) async fn rust_sees_what_java_holds() {
    let sides = Sides::meet().await;
    let (java, rust) = (sides.java.thread().lock("k"), sides.rust.lock("k").unwrap());
    for _ in 0..2 {
        soon("java gets in", java.lock_for(LONG)).await.unwrap();
    }
    for left in [2, 1] {
        assert_eq!(soon("java looks", java.hold_count()).await.unwrap(), left);
        let seen = seen_by_both(&java, &rust).await;
        assert_eq!((seen.count, seen.token), (left, None));
        assert!(seen.remaining > Some(LONG / 2), "a lease of {LONG:?} and no more than {:?} left", seen.remaining);
        let listed = sides.rust.list("*").await.unwrap();
        assert_eq!(
            listed.iter().map(|held| (held.key.as_str(), held.holder().count)).collect::<Vec<_>>(),
            [("k", left)]
        );
        assert!(rust.try_lock().await.unwrap().is_none());
        soon("java leaves", java.unlock()).await.unwrap();
    }
    assert!(rust.inspect().await.unwrap().is_none());
    assert!(rust.try_lock().await.unwrap().is_some());
}
