//! Sections: work that never runs without its lock, and goes in again where it is nested.

// Sections that lie within each other are futures that do.
#![allow(clippy::large_futures)]

use super::bench::{Bench, millis, renewed, unrenewed};
use super::case::cases;
use super::waiting::{eventually, heard, soon};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;
use tenure_core::{Client, ErrorKind, Guard, Kind, Lock, Options, Owner, Retry, What, current};

cases!("sections":
    a_section_runs_under_its_lock_and_releases_it,
    a_section_shows_its_guard,
    what_a_closure_does_before_its_future_is_inside,
    nested_sections_go_in_again,
    the_current_guard_is_the_innermost,
    a_spawned_task_is_not_inside,
    a_section_goes_in_again_although_the_one_around_it_is_lost,
    a_section_goes_in_beside_a_guard_that_outlived_another,
    a_section_that_was_begun_in_another_knows_those_around_both,
    the_scope_of_the_same_owner_is_inside,
    a_guard_inside_a_section_goes_in_again,
    a_guard_that_outlives_its_section_keeps_the_lock,
    the_other_side_is_gone_into_from_inside uses Read,
    a_simple_lock_is_not_gone_into_again,
    a_section_that_is_not_let_in_runs_nothing uses Fair,
    a_section_that_loses_its_lock_is_dropped,
    a_section_that_is_put_out_at_its_end_is_told,
    a_section_that_panics_releases,
    a_section_that_is_cancelled_releases,
    a_section_that_is_cancelled_is_gone_before_its_lock_is,
    a_section_that_takes_long_is_hinted_at,
    another_client_is_somebody_else,
);

pub(super) async fn count(lock: &Lock) -> u32 {
    lock.inspect().await.unwrap().map_or(0, |held| held.holder().count)
}

async fn client_and_lock(bench: &Bench) -> (Client, Lock) {
    let client = bench.client().await;
    let lock = client.lock_of(bench.kind(), &bench.key("a")).unwrap();
    (client, lock)
}

async fn a_section_runs_under_its_lock_and_releases_it(bench: &Bench) {
    let lock = bench.lock("a").await;
    assert_eq!(lock.run(count(&lock)).await.unwrap(), 1);
    assert!(!lock.is_locked().await.unwrap());
    bench.assert_nothing_left().await;
}

async fn a_section_shows_its_guard(bench: &Bench) {
    let client = bench.client().await;
    let options = renewed(5_000).wait(millis(5_000));
    let key = bench.key("a");
    let seen = client.with_lock(&key, options, async |guard| {
        let current = current().expect("a section");
        assert_eq!((current.token(), current.key()), (guard.token(), guard.key()));
        assert!(current.is_held() && current.remaining() > millis(1));
        guard.key().to_string()
    });
    assert_eq!(seen.await.unwrap(), key);
    bench.assert_nothing_left().await;
}

async fn what_a_closure_does_before_its_future_is_inside(bench: &Bench) {
    let (client, key) = (bench.client().await, bench.key("a"));
    let section = client.with_lock(&key, Options::new(), |guard: &Guard| {
        let (seen, token) = (current().map(|current| current.token()), guard.token());
        async move { (seen, token) }
    });
    let (seen, token) = section.await.unwrap();
    assert_eq!(seen, Some(token));
}

async fn nested_sections_go_in_again(bench: &Bench) {
    let (client, lock) = client_and_lock(bench).await;
    let (mut events, waiter, mut waiting) = (client.events(), lock.clone(), None);
    let outer = lock.run(async {
        let token = current().unwrap().token();
        // Past whoever waits.
        waiting = Some(tokio::spawn(async move { waiter.run(async {}).await }));
        heard(&mut events, "somebody waits", |what| matches!(what, What::Waiting { .. })).await;
        let inner = soon("going in again", lock.run(async { (current().unwrap().token(), count(&lock).await) }));
        assert_eq!(inner.await.unwrap(), (token, 2));
        assert_eq!(count(&lock).await, 1);
    });
    soon("the section", outer).await.unwrap();
    soon("who waited gets in", waiting.unwrap()).await.unwrap().unwrap();
    bench.assert_nothing_left().await;
}

async fn the_current_guard_is_the_innermost(bench: &Bench) {
    let (client, outer) = client_and_lock(bench).await;
    let inner = client.lock_of(bench.kind(), &bench.key("b")).unwrap();
    let key = || current().map(|guard| guard.key().clone());
    let section = outer.run(async {
        assert_eq!(key().as_ref(), Some(outer.key()));
        inner.run(async { assert_eq!(key().as_ref(), Some(inner.key())) }).await.unwrap();
        assert_eq!(key().as_ref(), Some(outer.key()));
        Owner::new().scope(async { assert_eq!(key().as_ref(), Some(outer.key())) }).await;
        current().unwrap()
    });
    let kept = section.await.unwrap();
    assert_eq!(key(), None);
    assert_eq!(kept.check().unwrap_err().kind(), ErrorKind::Lost, "it was to look at, not to keep");
}

async fn a_spawned_task_is_not_inside(bench: &Bench) {
    let lock = bench.lock("a").await;
    let section = lock.run(async {
        let lock = lock.clone();
        let outside = tokio::spawn(async move {
            assert!(current().is_none() && Owner::current().is_none());
            lock.run_with(Options::new().wait(millis(300)), async { panic!("two are in at once") }).await
        });
        outside.await.unwrap().unwrap_err().kind()
    });
    assert_eq!(section.await.unwrap(), ErrorKind::Timeout);
}

async fn a_section_goes_in_again_although_the_one_around_it_is_lost(bench: &Bench) {
    let lock = bench.lock("a").await;
    let scope = Owner::new().scope(async {
        let outer = lock.lock_with(Options::new().reentrant()).await.unwrap();
        lock.force_release().await.unwrap();
        soon("it is lost", outer.lost()).await;
        let nested = lock.run(async { lock.run(count(&lock)).await });
        assert_eq!(soon("it goes in again", nested).await.unwrap().unwrap(), 2);
        drop(outer);
    });
    scope.await;
    eventually("nothing is left", async || bench.keys_left().await.is_empty()).await;
}

async fn a_section_goes_in_beside_a_guard_that_outlived_another(bench: &Bench) {
    let lock = bench.lock("a").await;
    let scope = Owner::new().scope(async {
        let taken = lock.run(async { lock.lock_with(Options::new().reentrant()).await.unwrap() });
        let guard = taken.await.unwrap();
        assert_eq!(soon("it goes in again", lock.run(count(&lock))).await.unwrap(), 2);
        guard.release().await.unwrap();
    });
    scope.await;
    bench.assert_nothing_left().await;
}

/// Begun inside a section of another key, and awaited when that one has ended.
async fn a_section_that_was_begun_in_another_knows_those_around_both(bench: &Bench) {
    let (client, outer) = client_and_lock(bench).await;
    let [between, inner] = ["b", "c"].map(|name| client.lock_of(bench.kind(), &bench.key(name)).unwrap());
    let (entered, is_in) = tokio::sync::oneshot::channel();
    let (go_on, goes_on) = tokio::sync::oneshot::channel();
    let section = outer.run(async {
        let mut begun = Box::pin(inner.run(async {
            entered.send(()).unwrap();
            goes_on.await.unwrap();
            outer.run(count(&outer)).await
        }));
        let begins = async {
            tokio::select! {
                _ = &mut begun => unreachable!("it waits to go on"),
                is_in = is_in => is_in.unwrap(),
            }
        };
        between.run(begins).await.unwrap();
        go_on.send(()).unwrap();
        soon("it goes in again", begun).await.unwrap().unwrap()
    });
    assert_eq!(section.await.unwrap(), 2);
    bench.assert_nothing_left().await;
}

async fn the_scope_of_the_same_owner_is_inside(bench: &Bench) {
    let (lock, owner) = (bench.lock("a").await, Owner::new());
    let inner = async || owner.scope(async { lock.run(count(&lock)).await }).await;
    let outer = owner.scope(lock.run(async {
        assert!(owner.scope(async { current() }).await.is_some());
        inner().await
    }));
    assert_eq!(soon("it goes in again", outer).await.unwrap().unwrap(), 2);
    // Another owner's scope in between does not hide the section.
    let outer = owner.scope(lock.run(Owner::new().scope(inner())));
    assert_eq!(soon("it goes in again", outer).await.unwrap().unwrap(), 2);
    // Made outside, and polled inside.
    let inner = owner.scope(async { lock.run(count(&lock)).await });
    let outer = lock.run_with(Options::new().owner(owner.clone()), inner);
    assert_eq!(soon("it goes in again", outer).await.unwrap().unwrap(), 2);
    bench.assert_nothing_left().await;
}

async fn a_guard_inside_a_section_goes_in_again(bench: &Bench) {
    let lock = bench.lock("a").await;
    let section = lock.run(async {
        let guard = lock.lock_with(Options::new().reentrant()).await.unwrap();
        assert_eq!((count(&lock).await, guard.token()), (2, current().unwrap().token()));
        // And a section beside it, in again.
        assert_eq!(lock.run(count(&lock)).await.unwrap(), 3);
        guard.release().await.unwrap();
    });
    soon("the section", section).await.unwrap();
    bench.assert_nothing_left().await;
}

async fn a_guard_that_outlives_its_section_keeps_the_lock(bench: &Bench) {
    let lock = bench.lock("a").await;
    let scope = Owner::new().scope(async {
        let guard = lock.run(async { lock.lock_with(Options::new().reentrant()).await.unwrap() }).await.unwrap();
        assert!(guard.is_held() && count(&lock).await == 1);
        let again = lock.lock_with(Options::new().reentrant()).await.unwrap();
        again.release().await.unwrap();
        guard.release().await.unwrap();
    });
    soon("all of it", scope).await;
    bench.assert_nothing_left().await;
}

async fn the_other_side_is_gone_into_from_inside(bench: &Bench) {
    let lock = bench.client().await.rw_lock(&bench.key("sides")).unwrap();
    for (outer, inner) in [(lock.write(), lock.read()), (lock.read(), lock.write())] {
        let section = outer.run(async { inner.run(async { lock.read().is_locked().await.unwrap() }).await.unwrap() });
        assert!(soon("the other side", section).await.unwrap());
    }
    bench.assert_nothing_left().await;
}

async fn a_simple_lock_is_not_gone_into_again(bench: &Bench) {
    let lock = bench.client().await.simple(&bench.key("simple")).unwrap();
    let error = lock.run(async { lock.run(async { panic!("twice in") }).await.unwrap_err() });
    assert_eq!(soon("the refusal", error).await.unwrap().kind(), ErrorKind::Conflict);
    bench.assert_nothing_left().await;
}

async fn a_section_that_is_not_let_in_runs_nothing(bench: &Bench) {
    let (client, lock) = client_and_lock(bench).await;
    let guard = bench.lock("a").await.lock().await.unwrap();
    let ran = AtomicU32::new(0);
    let body = || async {
        ran.fetch_add(1, Ordering::SeqCst);
    };
    let polls = Retry::fixed(millis(5)).times(2);
    let other = if bench.kind() == Kind::Fair { Kind::Reentrant } else { Kind::Fair };
    let conflicting = client.lock_of(other, &bench.key("a")).unwrap();
    for (options, lock, expected) in [
        (Options::new().wait(millis(300)), &lock, ErrorKind::Timeout),
        (Options::new().retry(polls), &lock, ErrorKind::Timeout),
        // Said at once: nothing that is waited for would change it.
        (Options::new().wait(millis(60_000)), &conflicting, ErrorKind::Conflict),
        (Options::new().lease(millis(1)), &lock, ErrorKind::Invalid),
    ] {
        assert_eq!(soon("the refusal", lock.run_with(options, body())).await.unwrap_err().kind(), expected);
    }
    guard.release().await.unwrap();
    client.close(millis(5_000)).await.unwrap();
    assert_eq!(lock.run(body()).await.unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!(ran.load(Ordering::SeqCst), 0, "the body was run without the lock");
}

async fn a_section_that_loses_its_lock_is_dropped(bench: &Bench) {
    /// Notes when the work is dropped.
    struct Dropped(Arc<OnceLock<Instant>>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.set(Instant::now()).unwrap();
        }
    }
    let (lock, other) = (bench.lock("a").await, bench.lock("a").await);
    let at = Arc::new(OnceLock::new());
    let (kept, (entered, is_in)) = (Dropped(Arc::clone(&at)), tokio::sync::oneshot::channel());
    let next = tokio::spawn(async move {
        is_in.await.unwrap();
        let guard = other.lock().await.unwrap();
        (Instant::now(), guard)
    });
    let section = lock.run_with(unrenewed(300), async move {
        entered.send(()).unwrap();
        std::future::pending::<()>().await;
        drop(kept);
    });
    let error = soon("the work is stopped", section).await.unwrap_err();
    assert_eq!((error.kind(), error.key()), (ErrorKind::Lost, Some(lock.key())));
    let (got_in, guard) = soon("the next gets in", next).await.unwrap();
    let dropped = *at.get().expect("the work was dropped");
    assert!(dropped < got_in, "the work was still there when the next got in");
    guard.release().await.unwrap();
}

async fn a_section_that_is_put_out_at_its_end_is_told(bench: &Bench) {
    let (lock, other) = (bench.lock("a").await, bench.lock("a").await);
    let section = lock.run(async { other.force_release().await.unwrap().is_some() });
    assert_eq!(soon("the section", section).await.unwrap_err().kind(), ErrorKind::Lost);
}

async fn a_section_that_panics_releases(bench: &Bench) {
    let lock = bench.lock("a").await;
    let section = lock.clone();
    let panicked = tokio::spawn(async move { section.run(async { panic!("this is meant to happen") }).await });
    assert!(panicked.await.unwrap_err().is_panic());
    eventually("the lock is free", async || !lock.is_locked().await.unwrap()).await;
    assert!(current().is_none());
}

async fn a_section_that_is_cancelled_releases(bench: &Bench) {
    let lock = bench.lock("a").await;
    let (entered, is_in) = tokio::sync::oneshot::channel();
    let section = lock.run(async move {
        entered.send(()).unwrap();
        std::future::pending::<()>().await;
    });
    tokio::select! {
        _ = section => unreachable!(),
        is_in = is_in => is_in.unwrap(),
    }
    eventually("the lock is free", async || !lock.is_locked().await.unwrap()).await;
}

/// What the work drops at its end, it drops under the lock.
async fn a_section_that_is_cancelled_is_gone_before_its_lock_is(bench: &Bench) {
    struct Slow(Arc<AtomicU32>, Lock);
    impl Drop for Slow {
        fn drop(&mut self) {
            let lock = self.1.clone();
            let asked = std::thread::spawn(move || {
                // Nothing is waited for: a release has the time to be there first.
                std::thread::sleep(millis(100));
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                runtime.block_on(lock.try_lock()).unwrap().is_some()
            });
            self.0.store(1 + u32::from(asked.join().unwrap()), Ordering::SeqCst);
        }
    }
    let (client, lock) = client_and_lock(bench).await;
    let other = bench.lock("a").await;
    let run = |free: &Arc<AtomicU32>| {
        let slow = Slow(Arc::clone(free), other.clone());
        async move {
            let _slow = slow;
            std::future::pending::<()>().await;
        }
    };
    for way in 0..3 {
        let free = Arc::new(AtomicU32::new(0));
        let work = run(&free);
        let _: Result<_, tokio::time::error::Elapsed> = match way {
            0 => tokio::time::timeout(millis(100), lock.run(work)).await,
            1 => tokio::time::timeout(millis(100), lock.run_with(Options::new(), work)).await,
            _ if bench.kind() != Kind::Reentrant => return,
            _ => {
                let key = bench.key("a");
                let with = client.with_lock(&key, Options::new(), async |_| work.await);
                tokio::time::timeout(millis(100), with).await
            }
        };
        assert_eq!(free.load(Ordering::SeqCst), 1, "another was let in before the work was gone, way {way}");
        eventually("it is released", async || !lock.is_locked().await.unwrap()).await;
    }
}

async fn a_section_that_takes_long_is_hinted_at(bench: &Bench) {
    let (client, lock) = client_and_lock(bench).await;
    let mut events = client.events();
    lock.run(async {}).await.unwrap();
    lock.run_with(renewed(300), tokio::time::sleep(millis(120))).await.unwrap();
    let long = |what: &What| matches!(what, What::Long { .. });
    let released = heard(&mut events, "the first, which was short", |what| {
        assert!(!long(what), "a short section is hinted at");
        matches!(what, What::Released { .. })
    });
    released.await;
    let hint = heard(&mut events, "a hint", long).await;
    let What::Long { held, lease } = hint.what else { unreachable!() };
    assert!(held >= millis(120) && lease == millis(300), "held {held:?} lease {lease:?}");
}

async fn another_client_is_somebody_else(bench: &Bench) {
    let (lock, other) = (bench.lock("a").await, bench.lock("a").await);
    let section = lock.run(async {
        let refused = async { panic!("two are in at once") };
        other.run_with(Options::new().wait(millis(300)), refused).await.unwrap_err().kind()
    });
    assert_eq!(section.await.unwrap(), ErrorKind::Timeout);
}
