//! Who waits is woken by the other library's release, and not by looking after a while.

use crate::sides::{LONG, Sides};
use crate::support::{ms, soon};
use std::time::{Duration, Instant};
use tenure_core::{Options, Release};

/// Tenure looks by itself after a second, Redisson when the lease ends. The best of a few attempts is sooner than either.
const PUSHED: Duration = Duration::from_millis(500);
const ATTEMPTS: usize = 5;
/// Braces and other alphabets make other channels.
const KEYS: [&str; 3] = ["plain", "{order}:7", "bestellung:ä"];

/// Takes and frees a lock of either side, so that the server knows all scripts and one attempt is one script.
async fn warm_up(sides: &Sides) {
    let java = sides.java.thread().lock("warm-up");
    soon("java gets in", java.lock()).await.unwrap();
    soon("java leaves", java.unlock()).await.unwrap();
    let rust = soon("rust gets in", sides.rust.lock("warm-up").unwrap().lock()).await.unwrap();
    rust.release().await.unwrap();
}

pub(crate) async fn java_wakes_rust() {
    let sides = Sides::meet().await;
    warm_up(&sides).await;
    for key in KEYS {
        let (java, rust) = (sides.java.thread().lock(key), sides.rust.lock(key).unwrap());
        let mut best = Duration::MAX;
        for _ in 0..ATTEMPTS {
            soon("java gets in", java.lock_for(LONG)).await.unwrap();
            let scripts = sides.scripts();
            let waiting = tokio::spawn({
                let rust = rust.clone();
                async move { (rust.lock().await.unwrap(), Instant::now()) }
            });
            sides.somebody_waits(scripts).await;
            let left = Instant::now();
            soon("java leaves", java.unlock()).await.unwrap();
            let (guard, came) = soon("rust gets in", waiting).await.unwrap();
            guard.release().await.unwrap();
            best = best.min(came - left);
            if best < PUSHED {
                break;
            }
        }
        assert!(best < PUSHED, "rust was in {best:?} after java had left {key:?}, at best");
    }
}

pub(crate) async fn rust_wakes_java() {
    let sides = Sides::meet().await;
    warm_up(&sides).await;
    for key in KEYS {
        let (java, rust) = (sides.java.thread().lock(key), sides.rust.lock(key).unwrap());
        let mut best = Duration::MAX;
        for _ in 0..ATTEMPTS {
            let guard = soon("rust gets in", rust.lock_with(Options::new().lease(LONG))).await.unwrap();
            let scripts = sides.scripts();
            let waiting = java.lock();
            sides.somebody_waits(scripts).await;
            let left = Instant::now();
            guard.release().await.unwrap();
            soon("java gets in", waiting).await.unwrap();
            best = best.min(left.elapsed());
            soon("java leaves", java.unlock()).await.unwrap();
            if best < PUSHED {
                break;
            }
        }
        assert!(best < PUSHED, "java was in {best:?} after rust had left {key:?}, at best");
    }
}

/// A lock that was released but is kept taken for a while is free when that is over, also for those who had seen the
/// longer lease before.
pub(crate) async fn rust_keeps_it_for_a_while() {
    let sides = Sides::meet().await;
    warm_up(&sides).await;
    let (java, rust) = (sides.java.thread().lock("k"), sides.rust.lock("k").unwrap());
    let guard = rust.lock_with(Options::new().lease(LONG).at_least(ms(4000))).await.unwrap();
    let scripts = sides.scripts();
    let waiting = tokio::spawn(java.lock());
    sides.somebody_waits(scripts).await;
    let released = guard.release().await.unwrap();
    assert!(matches!(released, Release::Kept(_)), "{released:?}");
    soon("java gets in", waiting).await.unwrap().unwrap();
}
