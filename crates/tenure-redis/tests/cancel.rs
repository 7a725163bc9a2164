//! The cancel sweep: acquire, re-enter and release are dropped at every point of their lives, and afterwards the store
//! holds what the surviving guards justify, no more and no less.

mod support;

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, LazyLock};
use std::task::Poll;
use support::{LEASE, PATIENCE, backend, count_of, eventually, exists, litter, ms, soon};
use tenure_core::{Client, Guard, Options, Release, What};
use tenure_redis::redis::Script;
use tenure_testkit::{FaultProxy, RedisServer};
use tokio::task::JoinHandle;

macro_rules! hash {
    ($name:ident, $($file:literal),+) => {
        /// What a request that runs the script contains.
        static $name: LazyLock<String> = LazyLock::new(|| {
            let source = concat!($(include_str!(concat!("../scripts/reentrant/", $file, ".lua"))),+);
            Script::new(source).get_hash().to_owned()
        });
    };
}

hash!(ACQUIRE, "acquire", "holder");
hash!(REENTER, "reenter", "count");
hash!(RELEASE, "release");
hash!(LEAVE, "leave", "count");

/// When a future is dropped after its last poll.
#[derive(Debug, Clone, Copy)]
enum Dropped {
    /// Before anybody else runs: what it wanted to send may never leave.
    AtOnce,
    /// When what it sent has been answered, and it was not polled again to hear of it.
    Later,
}

const DROPPED: [Dropped; 2] = [Dropped::AtOnce, Dropped::Later];

/// Polls a future so often, each time it asks for it, and drops it. What it came to, if it was done by then.
async fn polled<F: Future>(future: F, times: usize, dropped: Dropped) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut left = times;
    let output = poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await;
    if output.is_none() && matches!(dropped, Dropped::Later) {
        tokio::time::sleep(ms(20)).await;
    }
    output
}

/// Drops what a task is at, and waits until it is gone.
async fn cancel<T: std::fmt::Debug>(task: JoinHandle<T>) {
    task.abort();
    assert!(task.await.expect_err("it was not done").is_cancelled());
}

struct Scene {
    server: RedisServer,
    proxy: FaultProxy,
    /// All its connections, the janitor's included, go through the proxy.
    client: Client,
    other: Client,
}

impl Scene {
    /// Everyone is connected and every script is known, so that what is trapped is what it is about.
    async fn new() -> Self {
        Self::with(Options::new()).await
    }

    async fn with(options: Options) -> Self {
        let server = RedisServer::start();
        let proxy = FaultProxy::start(server.addr());
        // A request behind a trapped one is given up soon, and its connection with it.
        let client = Client::builder().options(options).answer_within(ms(300));
        let client = client.connect(backend(&proxy.url())).await.unwrap();
        let other = client_of(&server).await;
        let guard = client.lock("warm").unwrap().lock().await.unwrap();
        guard.reenter().await.unwrap().release().await.unwrap();
        drop(guard);
        eventually("the janitor is warm", PATIENCE, || !exists(&server, "warm")).await;
        Self { server, proxy, client, other }
    }

    async fn lock(&self) -> Guard {
        soon("the lock is free", self.client.lock("k").unwrap().lock()).await.unwrap()
    }

    fn acquiring(&self) -> JoinHandle<Result<Guard, tenure_core::Error>> {
        let lock = self.client.lock("k").unwrap();
        tokio::spawn(async move { lock.lock().await })
    }

    /// Until the janitor has left a note that an entry is not to be let in.
    async fn tombstone(&self, entry: u32) {
        let pattern = format!("tenure:cancelled:{{k}}:*/{entry}");
        eventually("the janitor was there", LEASE, || !self.server.keys(&pattern).is_empty()).await;
    }

    /// Nothing is held, anybody can hold, and nothing is left when the client is gone.
    async fn nothing_left(&self) {
        eventually("the lock is free", LEASE / 2, || !exists(&self.server, "k")).await;
        soon("another gets in", self.other.lock("k").unwrap().lock()).await.unwrap().release().await.unwrap();
        let later = self.lock().await;
        self.unharmed(later).await;
        self.client.close(PATIENCE).await.unwrap();
        assert_eq!(litter(&self.server), [""; 0]);
    }

    /// A hold that came after the cancelled one is not harmed by what the janitor still does.
    async fn unharmed(&self, later: Guard) {
        tokio::time::sleep(ms(30)).await;
        assert!(later.is_held());
        assert_eq!(count_of(&self.server, &later), Some(1));
        let fence: u64 = support::ask(&self.server, &["HGET", "k", "fence"]);
        assert_eq!(fence, later.token());
        assert_eq!(later.release().await.unwrap(), Release::Released);
    }
}

/// A client with leases so long that a lock left behind is noticed.
async fn client_of(server: &RedisServer) -> Client {
    Client::builder().connect(backend(&server.url())).await.unwrap()
}

#[tokio::test]
async fn an_acquire_cancelled_at_any_poll_leaves_nothing() {
    let server = RedisServer::start();
    let other = client_of(&server).await;
    for (warm, dropped) in [false, true].into_iter().flat_map(|warm| DROPPED.map(|dropped| (warm, dropped))) {
        for polls in 0.. {
            let client = Client::new(backend(&server.url())).unwrap();
            let lock = client.lock("k").unwrap();
            if warm {
                lock.lock().await.unwrap().release().await.unwrap();
            }
            let done = polled(lock.lock(), polls, dropped).await;
            if let Some(guard) = done {
                assert_eq!(guard.unwrap().release().await.unwrap(), Release::Released);
                eprintln!("warm={warm}: an acquire takes {polls} polls");
                break;
            }
            eventually("the lock is free", LEASE / 2, || !exists(&server, "k")).await;
            soon("another gets in", other.lock("k").unwrap().lock()).await.unwrap().release().await.unwrap();
            let later = soon("the same client gets in", lock.lock()).await.unwrap();
            assert_eq!(count_of(&server, &later), Some(1));
            assert_eq!(later.release().await.unwrap(), Release::Released);
            client.close(PATIENCE).await.unwrap();
            assert_eq!(litter(&server), [""; 0], "after {polls} polls, {dropped:?}");
        }
    }
}

/// Here the cancelled one has waited, been called, or just been granted what the holder left.
#[tokio::test]
async fn a_wait_cancelled_at_any_poll_leaves_nothing() {
    let server = RedisServer::start();
    let other = client_of(&server).await;
    for dropped in DROPPED {
        for polls in 0.. {
            let client = client_of(&server).await;
            let lock = client.lock("k").unwrap();
            let held = other.lock("k").unwrap().lock().await.unwrap();
            let mut events = client.events();
            let releasing = tokio::spawn(async move {
                let waits = async { while !matches!(events.next().await.unwrap().what, What::Waiting { .. }) {} };
                // The first polls do not get as far as to wait.
                let _ = tokio::time::timeout(ms(50), waits).await;
                held.release().await.unwrap()
            });
            let done = polled(lock.lock(), polls, dropped).await;
            assert_eq!(soon("the holder leaves", releasing).await.unwrap(), Release::Released);
            if let Some(guard) = done {
                assert_eq!(guard.unwrap().release().await.unwrap(), Release::Released);
                eprintln!("a wait takes {polls} polls");
                break;
            }
            eventually("the lock is free", LEASE / 2, || !exists(&server, "k")).await;
            let later = soon("the same client gets in", lock.lock()).await.unwrap();
            assert_eq!(count_of(&server, &later), Some(1));
            assert_eq!(later.release().await.unwrap(), Release::Released);
            client.close(PATIENCE).await.unwrap();
            assert_eq!(litter(&server), [""; 0], "after {polls} polls, {dropped:?}");
        }
    }
}

#[tokio::test]
async fn a_re_entry_cancelled_at_any_poll_leaves_the_guard_as_it_was() {
    let server = RedisServer::start();
    let client = client_of(&server).await;
    let lock = client.lock("k").unwrap();
    for dropped in DROPPED {
        for polls in 0.. {
            let guard = lock.lock().await.unwrap();
            let token = guard.token();
            let done = polled(guard.reenter(), polls, dropped).await;
            if let Some(again) = done {
                assert_eq!(count_of(&server, &guard), Some(2));
                assert_eq!(again.unwrap().release().await.unwrap(), Release::StillHeld(1));
                eprintln!("a re-entry takes {polls} polls");
                break;
            }
            eventually("one guard is in", LEASE / 2, || count_of(&server, &guard) == Some(1)).await;
            assert!(guard.is_held() && guard.token() == token);
            assert_eq!(guard.release().await.unwrap(), Release::Released, "after {polls} polls");
            eventually("the lock is free", LEASE / 2, || !exists(&server, "k")).await;
        }
    }
    client.close(PATIENCE).await.unwrap();
    assert_eq!(litter(&server), [""; 0]);
}

#[tokio::test]
async fn a_release_cancelled_at_any_poll_is_finished() {
    let server = RedisServer::start();
    let (client, other) = (client_of(&server).await, client_of(&server).await);
    let lock = client.lock("k").unwrap();
    for (nested, dropped) in [false, true].into_iter().flat_map(|nested| DROPPED.map(|dropped| (nested, dropped))) {
        for polls in 0.. {
            let guard = lock.lock().await.unwrap();
            if nested {
                let again = guard.reenter().await.unwrap();
                let done = polled(again.release(), polls, dropped).await;
                eventually("one guard is in", LEASE / 2, || count_of(&server, &guard) == Some(1)).await;
                assert!(guard.is_held());
                assert_eq!(guard.release().await.unwrap(), Release::Released);
                if done.is_some() {
                    break;
                }
            } else if let Some(done) = polled(guard.release(), polls, dropped).await {
                assert_eq!(done.unwrap(), Release::Released);
                break;
            }
            eventually("the lock is free", LEASE / 2, || !exists(&server, "k")).await;
            soon("another gets in", other.lock("k").unwrap().lock()).await.unwrap().release().await.unwrap();
        }
    }
    client.close(PATIENCE).await.unwrap();
    assert_eq!(litter(&server), [""; 0]);
}

/// The acquire is on its way when it is given up; the janitor, on another connection, is there before it.
#[tokio::test]
async fn a_ghost_acquire_does_not_take_a_free_lock() {
    let scene = Scene::new().await;
    let ghost = scene.proxy.hold_request(&ACQUIRE);
    let task = scene.acquiring();
    ghost.caught().await;
    cancel(task).await;
    scene.tombstone(0).await;
    ghost.release();
    ghost.done().await;
    assert!(!exists(&scene.server, "k"), "the ghost took the lock");
    scene.nothing_left().await;
}

#[tokio::test]
async fn a_ghost_acquire_does_not_harm_a_later_hold() {
    let scene = Scene::new().await;
    let ghost = scene.proxy.hold_request(&ACQUIRE);
    let task = scene.acquiring();
    ghost.caught().await;
    cancel(task).await;
    let later = scene.lock().await;
    ghost.release();
    ghost.done().await;
    scene.unharmed(later).await;
    scene.nothing_left().await;
}

/// However late: a network may keep a request for longer than a short lease.
#[tokio::test]
async fn a_ghost_acquire_that_is_later_than_its_lease_does_not_take_the_lock() {
    let scene = Scene::with(Options::new().lease(LEASE)).await;
    let ghost = scene.proxy.hold_request(&ACQUIRE);
    let task = scene.acquiring();
    ghost.caught().await;
    cancel(task).await;
    scene.tombstone(0).await;
    tokio::time::sleep(LEASE + ms(200)).await;
    ghost.release();
    ghost.done().await;
    assert!(!exists(&scene.server, "k"), "the ghost took the lock");
}

#[tokio::test]
async fn an_acquire_cancelled_after_it_was_applied_is_undone() {
    let scene = Scene::new().await;
    let answer = scene.proxy.pause_before_reply(&ACQUIRE);
    let task = scene.acquiring();
    answer.caught().await;
    assert!(exists(&scene.server, "k"));
    cancel(task).await;
    eventually("it is undone", LEASE / 2, || !exists(&scene.server, "k")).await;
    answer.release();
    scene.nothing_left().await;
}

/// Two guards are in, one re-entry is on its way and given up; then it arrives.
#[tokio::test]
async fn a_ghost_re_entry_is_not_counted() {
    let scene = Scene::new().await;
    let guard = Arc::new(scene.lock().await);
    let again = guard.reenter().await.unwrap();
    let ghost = scene.proxy.hold_request(&REENTER);
    let task = tokio::spawn({
        let guard = Arc::clone(&guard);
        async move { guard.reenter().await }
    });
    ghost.caught().await;
    cancel(task).await;
    scene.tombstone(2).await;
    assert_eq!(count_of(&scene.server, &guard), Some(2));
    ghost.release();
    ghost.done().await;
    assert_eq!(count_of(&scene.server, &guard), Some(2));
    assert_eq!(again.release().await.unwrap(), Release::StillHeld(1));
    assert_eq!(count_of(&scene.server, &guard), Some(1));
    assert_eq!(Arc::into_inner(guard).unwrap().release().await.unwrap(), Release::Released);
    scene.nothing_left().await;
}

#[tokio::test]
async fn a_re_entry_cancelled_after_it_was_applied_is_undone() {
    let scene = Scene::new().await;
    let guard = Arc::new(scene.lock().await);
    let answer = scene.proxy.pause_before_reply(&REENTER);
    let task = tokio::spawn({
        let guard = Arc::clone(&guard);
        async move { guard.reenter().await }
    });
    answer.caught().await;
    assert_eq!(count_of(&scene.server, &guard), Some(2));
    cancel(task).await;
    eventually("it is undone", LEASE / 2, || count_of(&scene.server, &guard) == Some(1)).await;
    answer.release();
    assert!(guard.is_held());
    assert_eq!(Arc::into_inner(guard).unwrap().release().await.unwrap(), Release::Released);
    scene.nothing_left().await;
}

#[tokio::test]
async fn a_ghost_release_does_not_harm_a_later_hold() {
    let scene = Scene::new().await;
    let guard = scene.lock().await;
    let ghost = scene.proxy.hold_request(&RELEASE);
    let task = tokio::spawn(guard.release());
    ghost.caught().await;
    cancel(task).await;
    let later = scene.lock().await;
    ghost.release();
    ghost.done().await;
    scene.unharmed(later).await;
    scene.nothing_left().await;
}

#[tokio::test]
async fn a_release_cancelled_after_it_was_applied_does_not_harm_a_later_hold() {
    let scene = Scene::new().await;
    let guard = scene.lock().await;
    let answer = scene.proxy.pause_before_reply(&RELEASE);
    let task = tokio::spawn(guard.release());
    answer.caught().await;
    assert!(!exists(&scene.server, "k"));
    cancel(task).await;
    let later = scene.lock().await;
    answer.release();
    scene.unharmed(later).await;
    scene.nothing_left().await;
}

/// The inner guard's release is given up and done by the janitor; the holder goes in again; then the first sending of
/// that release arrives, which says one is in when there are two.
#[tokio::test]
async fn a_ghost_leave_does_not_uncount_a_later_entry() {
    let scene = Scene::new().await;
    let guard = scene.lock().await;
    let again = guard.reenter().await.unwrap();
    let ghost = scene.proxy.hold_request(&LEAVE);
    let task = tokio::spawn(again.release());
    ghost.caught().await;
    cancel(task).await;
    eventually("one guard is in", LEASE / 2, || count_of(&scene.server, &guard) == Some(1)).await;
    // On another connection, or it would arrive behind the ghost.
    scene.proxy.reset();
    let again = guard.reenter().await.unwrap();
    assert_eq!(count_of(&scene.server, &guard), Some(2));
    ghost.release();
    ghost.done().await;
    let seen = count_of(&scene.server, &guard);
    // Whatever the store counts meanwhile, the lock is held until both are gone.
    assert_eq!(again.release().await.unwrap(), Release::StillHeld(1));
    assert!(scene.other.lock("k").unwrap().try_lock().await.unwrap().is_none());
    assert_eq!(guard.release().await.unwrap(), Release::Released);
    scene.nothing_left().await;
    assert_eq!(seen, Some(2), "two guards are in");
}

/// The same with the janitor itself on the way: it has worked out how many stay in, and then one more comes.
#[tokio::test]
async fn a_late_janitor_does_not_uncount_a_later_entry() {
    let scene = Scene::new().await;
    let guard = scene.lock().await;
    let again = guard.reenter().await.unwrap();
    let late = scene.proxy.hold_request(&LEAVE);
    drop(again);
    late.caught().await;
    let again = guard.reenter().await.unwrap();
    assert_eq!(count_of(&scene.server, &guard), Some(2));
    late.release();
    late.done().await;
    let seen = count_of(&scene.server, &guard);
    assert_eq!(again.release().await.unwrap(), Release::StillHeld(1));
    assert_eq!(guard.release().await.unwrap(), Release::Released);
    scene.nothing_left().await;
    assert_eq!(seen, Some(2), "two guards are in");
}

/// The answer to the janitor is lost, so it asks again, when the lock may be somebody else's.
#[tokio::test]
async fn a_janitor_that_asks_twice_does_not_harm_a_later_hold() {
    for _ in 0..5 {
        let scene = Scene::new().await;
        let guard = scene.lock().await;
        let lost = scene.proxy.drop_reply_after(&RELEASE);
        drop(guard);
        lost.await;
        let later = scene.lock().await;
        scene.unharmed(later).await;
        scene.nothing_left().await;
    }
}

#[tokio::test]
async fn what_is_dropped_during_an_outage_is_released_after_it() {
    let scene = Scene::new().await;
    let guard = scene.client.lock("k").unwrap().lock_with(Options::new()).await.unwrap();
    scene.proxy.cut();
    drop(guard);
    let task = tokio::spawn({
        let lock = scene.client.lock("k").unwrap();
        async move { lock.lock().await }
    });
    tokio::time::sleep(ms(500)).await;
    cancel(task).await;
    scene.proxy.heal();
    eventually("the lock is free", ms(2000), || !exists(&scene.server, "k")).await;
    scene.nothing_left().await;
}

/// Nothing is cancelled here: whoever loses an answer asks again, and it is as if it had asked once.
#[tokio::test]
async fn lost_answers_are_asked_for_again() {
    let scene = Scene::new().await;
    let lost = scene.proxy.drop_reply_after(&ACQUIRE);
    let guard = scene.lock().await;
    lost.await;
    assert_eq!(count_of(&scene.server, &guard), Some(1));
    let lost = scene.proxy.drop_reply_after(&REENTER);
    let again = guard.reenter().await.unwrap();
    lost.await;
    assert_eq!(count_of(&scene.server, &guard), Some(2));
    let lost = scene.proxy.drop_reply_after(&LEAVE);
    assert_eq!(again.release().await.unwrap(), Release::StillHeld(1));
    lost.await;
    let lost = scene.proxy.drop_reply_after(&RELEASE);
    assert_eq!(guard.release().await.unwrap(), Release::Released);
    lost.await;
    scene.nothing_left().await;
}

/// The wait runs out while the server is frozen; thawed, it finds the acquire and the janitor's release in either order.
#[tokio::test]
async fn a_wait_that_ran_out_while_the_server_was_frozen_leaves_no_lock() {
    let server = RedisServer::start();
    let client = client_of(&server).await;
    for wait in [300, 600] {
        server.pause();
        let long = Options::new().wait(ms(wait));
        client.lock("k").unwrap().lock_with(long).await.unwrap_err();
        server.resume();
        // A lease of 30 s would be noticed.
        eventually("the ghost is gone", ms(5000), || {
            let tombstones = server.keys("tenure:cancelled:*");
            !exists(&server, "k") && !tombstones.is_empty()
        })
        .await;
        soon("another gets in", client_of(&server).await.lock("k").unwrap().lock())
            .await
            .unwrap()
            .release()
            .await
            .unwrap();
    }
    client.close(PATIENCE).await.unwrap();
    assert_eq!(litter(&server), [""; 0]);
}

/// The queue of one client's waiters: those who leave it are passed over.
#[tokio::test]
async fn waiters_that_leave_the_line_are_passed_over() {
    let scene = Scene::new().await;
    let guard = scene.lock().await;
    let mut waiting: Vec<_> = (0..6).map(|_| Some(scene.acquiring())).collect();
    // All have been polled and stand in line, in the order in which they were spawned.
    tokio::task::yield_now().await;
    for leaves in [0, 2, 3] {
        cancel(waiting[leaves].take().unwrap()).await;
    }
    guard.release().await.unwrap();
    for task in waiting.into_iter().flatten() {
        soon("the next gets in", task).await.unwrap().unwrap().release().await.unwrap();
    }
    scene.nothing_left().await;
}
