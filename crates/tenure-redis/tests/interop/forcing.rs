//! Neither library can unlock what the other holds, except by force, and then the other gets to know.

use crate::sides::{LONG, Sides};
use crate::support::{count_of, ms, soon};
use tenure_core::{ErrorKind, Loss, Options, Release};
use tenure_testkit::redisson::Exception;

fn assert_not_owner(refused: Result<(), Exception>) {
    let error = refused.expect_err("an unlock by who does not hold the lock");
    assert_eq!(error.class, "java.lang.IllegalMonitorStateException", "{error}");
}

pub(crate) async fn java_forces() {
    let sides = Sides::meet().await;
    let (java, rust) = (sides.java.thread().lock("k"), sides.rust.lock("k").unwrap());
    // Renewed every 2 s: soon enough to wait for, and long before the lease could have ended by itself.
    let guard = rust.lock_with(Options::new().lease(LONG).renew_every(ms(2000))).await.unwrap();
    assert!(soon("java forces", java.force_unlock()).await.unwrap());
    assert!(!soon("java forces", java.force_unlock()).await.unwrap(), "there is nobody left to put out");
    assert_eq!(soon("rust is told", guard.lost()).await, Loss::Gone);
    assert_eq!(guard.release().await.unwrap_err().kind(), ErrorKind::Lost);
}

pub(crate) async fn rust_forces() {
    let sides = Sides::meet().await;
    let (java, rust) = (sides.java.thread().lock("k"), sides.rust.lock("k").unwrap());
    for _ in 0..2 {
        soon("java gets in", java.lock()).await.unwrap();
    }
    let forced = rust.force_release().await.unwrap().expect("a holder to put out");
    assert_eq!((forced.holder().count, forced.holder().token), (2, None));
    assert!(!soon("java looks", java.is_held()).await.unwrap());
    assert_not_owner(soon("java leaves", java.unlock()).await);
    assert!(rust.force_release().await.unwrap().is_none(), "there is nobody left to put out");
    // Neither is in the other's way afterwards.
    rust.try_lock().await.unwrap().expect("a free lock").release().await.unwrap();
    assert!(soon("java tries", java.try_lock(ms(0))).await.unwrap());
}

pub(crate) async fn java_cannot_unlock() {
    let sides = Sides::meet().await;
    let (java, rust) = (sides.java.thread().lock("k"), sides.rust.lock("k").unwrap());
    assert_not_owner(soon("java leaves", java.unlock()).await);
    let guard = rust.lock().await.unwrap();
    assert_not_owner(soon("java leaves", java.unlock()).await);
    assert!(guard.is_held());
    assert_eq!(count_of(&sides.server, &guard), Some(1));
    assert_eq!(guard.release().await.unwrap(), Release::Released);
}

pub(crate) async fn rust_cannot_release() {
    let sides = Sides::meet().await;
    let (java, rust) = (sides.java.thread().lock("k"), sides.rust.lock("k").unwrap());
    // Not renewed for so long that it has not heard of what Java did when it leaves.
    let guard = rust.lock_with(Options::new().lease(LONG)).await.unwrap();
    assert!(soon("java forces", java.force_unlock()).await.unwrap());
    soon("java gets in", java.lock()).await.unwrap();
    let error = guard.release().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Lost, "{error}");
    assert_eq!(soon("java looks", java.hold_count()).await.unwrap(), 1, "it is still Java's");
    soon("java leaves", java.unlock()).await.unwrap();
}
