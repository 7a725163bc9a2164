//! Ghosts: requests and answers that are on their way when whoever sent them has given up. However late they arrive,
//! the store holds what the surviving guards justify, no more and no less.

use crate::support::scripts::{ACQUIRE, LEAVE, REENTER, RELEASE};
use crate::support::{
    self, LEASE, PATIENCE, backend, client_of, count_of, eventually, exists, gets_in, is_free_for, leaves_nothing, ms,
    soon, tombstones,
};
use std::fmt::Debug;
use std::sync::Arc;
use tenure_core::{Client, Error, Guard, Options, Release};
use tenure_testkit::proxy::Held;
use tenure_testkit::{FaultProxy, RedisServer};
use tokio::task::JoinHandle;

/// Drops what a task is at, and waits until it is gone.
async fn cancel<T: Debug>(task: JoinHandle<T>) {
    task.abort();
    assert!(task.await.expect_err("it was not done").is_cancelled());
}

/// Starts what runs into a trap, and waits until it has.
async fn caught<T: Send + 'static>(trap: &Held, sending: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    let task = tokio::spawn(sending);
    trap.caught().await;
    task
}

/// Lets a ghost arrive, and waits until the server has dealt with it.
async fn arrives(ghost: Held) {
    ghost.release();
    ghost.done().await;
}

async fn re_entering(guard: Arc<Guard>) -> Result<Guard, Error> {
    guard.reenter().await
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
        gets_in(&self.client).await
    }

    fn acquiring(&self) -> impl Future<Output = Result<Guard, Error>> + Send + 'static {
        let lock = self.client.lock("k").unwrap();
        async move { lock.lock().await }
    }

    fn count(&self, guard: &Guard) -> Option<u32> {
        count_of(&self.server, guard)
    }

    /// Sends, and gives up while the request that runs this script is on its way.
    async fn ghost<T: Debug + Send + 'static>(
        &self,
        script: &str,
        sending: impl Future<Output = T> + Send + 'static,
    ) -> Held {
        let ghost = self.proxy.hold_request(script);
        cancel(caught(&ghost, sending).await).await;
        ghost
    }

    /// Until the janitor has left a note that an entry is not to be let in.
    async fn tombstone(&self) {
        eventually("the janitor was there", LEASE, || tombstones(&self.server) > 0).await;
    }

    /// Nothing is held, anybody can hold, and nothing is left when the client is gone.
    async fn nothing_left(&self) {
        is_free_for(&self.server, &[&self.other]).await;
        self.unharmed(self.lock().await).await;
        leaves_nothing(&self.server, &self.client).await;
    }

    /// A hold that came after the cancelled one is not harmed by what the janitor still does.
    async fn unharmed(&self, later: Guard) {
        tokio::time::sleep(ms(30)).await;
        assert!(later.is_held());
        assert_eq!(self.count(&later), Some(1));
        let fence: u64 = support::ask(&self.server, &["HGET", "k", "fence"]);
        assert_eq!(fence, later.token());
        assert_eq!(later.release().await.unwrap(), Release::Released);
    }
}

/// The acquire is on its way when it is given up; the janitor, on another connection, is there before it.
#[tokio::test]
async fn a_ghost_acquire_does_not_take_a_free_lock() {
    let scene = Scene::new().await;
    let ghost = scene.ghost(&ACQUIRE, scene.acquiring()).await;
    scene.tombstone().await;
    arrives(ghost).await;
    assert!(!exists(&scene.server, "k"), "the ghost took the lock");
    scene.nothing_left().await;
}

#[tokio::test]
async fn a_ghost_acquire_does_not_harm_a_later_hold() {
    let scene = Scene::new().await;
    let ghost = scene.ghost(&ACQUIRE, scene.acquiring()).await;
    let later = scene.lock().await;
    arrives(ghost).await;
    scene.unharmed(later).await;
    scene.nothing_left().await;
}

/// However late: a network may keep a request for longer than a short lease.
#[tokio::test]
async fn a_ghost_acquire_that_is_later_than_its_lease_does_not_take_the_lock() {
    let scene = Scene::with(Options::new().lease(LEASE)).await;
    let ghost = scene.ghost(&ACQUIRE, scene.acquiring()).await;
    scene.tombstone().await;
    tokio::time::sleep(LEASE + ms(200)).await;
    arrives(ghost).await;
    assert!(!exists(&scene.server, "k"), "the ghost took the lock");
}

#[tokio::test]
async fn an_acquire_cancelled_after_it_was_applied_is_undone() {
    let scene = Scene::new().await;
    let answer = scene.proxy.pause_before_reply(&ACQUIRE);
    let task = caught(&answer, scene.acquiring()).await;
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
    let ghost = scene.ghost(&REENTER, re_entering(Arc::clone(&guard))).await;
    scene.tombstone().await;
    assert_eq!(scene.count(&guard), Some(2));
    arrives(ghost).await;
    assert_eq!(scene.count(&guard), Some(2));
    assert_eq!(again.release().await.unwrap(), Release::StillHeld(1));
    assert_eq!(scene.count(&guard), Some(1));
    assert_eq!(Arc::into_inner(guard).unwrap().release().await.unwrap(), Release::Released);
    scene.nothing_left().await;
}

#[tokio::test]
async fn a_re_entry_cancelled_after_it_was_applied_is_undone() {
    let scene = Scene::new().await;
    let guard = Arc::new(scene.lock().await);
    let answer = scene.proxy.pause_before_reply(&REENTER);
    let task = caught(&answer, re_entering(Arc::clone(&guard))).await;
    assert_eq!(scene.count(&guard), Some(2));
    cancel(task).await;
    eventually("it is undone", LEASE / 2, || scene.count(&guard) == Some(1)).await;
    answer.release();
    assert!(guard.is_held());
    assert_eq!(Arc::into_inner(guard).unwrap().release().await.unwrap(), Release::Released);
    scene.nothing_left().await;
}

#[tokio::test]
async fn a_ghost_release_does_not_harm_a_later_hold() {
    let scene = Scene::new().await;
    let ghost = scene.ghost(&RELEASE, scene.lock().await.release()).await;
    let later = scene.lock().await;
    arrives(ghost).await;
    scene.unharmed(later).await;
    scene.nothing_left().await;
}

#[tokio::test]
async fn a_release_cancelled_after_it_was_applied_does_not_harm_a_later_hold() {
    let scene = Scene::new().await;
    let guard = scene.lock().await;
    let answer = scene.proxy.pause_before_reply(&RELEASE);
    let task = caught(&answer, guard.release()).await;
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
    let ghost = scene.ghost(&LEAVE, again.release()).await;
    eventually("one guard is in", LEASE / 2, || scene.count(&guard) == Some(1)).await;
    // On another connection, or it would arrive behind the ghost.
    scene.proxy.reset();
    let again = guard.reenter().await.unwrap();
    assert_eq!(scene.count(&guard), Some(2));
    arrives(ghost).await;
    let seen = scene.count(&guard);
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
    assert_eq!(scene.count(&guard), Some(2));
    arrives(late).await;
    let seen = scene.count(&guard);
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
    let guard = scene.lock().await;
    scene.proxy.cut();
    drop(guard);
    let task = tokio::spawn(scene.acquiring());
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
    assert_eq!(scene.count(&guard), Some(1));
    let lost = scene.proxy.drop_reply_after(&REENTER);
    let again = guard.reenter().await.unwrap();
    lost.await;
    assert_eq!(scene.count(&guard), Some(2));
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
        is_free_for(&server, &[&client_of(&server).await]).await;
    }
    leaves_nothing(&server, &client).await;
}

/// The queue of one client's waiters: those who leave it are passed over.
#[tokio::test]
async fn waiters_that_leave_the_line_are_passed_over() {
    let scene = Scene::new().await;
    let guard = scene.lock().await;
    let mut waiting: Vec<_> = (0..6).map(|_| Some(tokio::spawn(scene.acquiring()))).collect();
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
