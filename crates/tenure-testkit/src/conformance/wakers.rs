//! Wakers of the application's that hang: no lock that is renewed is lost by that, and nobody is told late of one that is.
//!
//! Whoever answers a task, or calls it, runs its waker. If that is a thread that leases depend on, they depend on the waker. One
//! that panics is no case here: where a worker of tokio's calls it, tokio aborts the process.

use super::bench::{Bench, renewed, unrenewed};
use super::case::cases;
use super::waiting::{eventually, heard, soon};
use std::pin::pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};
use tenure_core::{Client, Guard, What};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

cases!("wakers":
    one_that_hangs_when_its_task_is_answered_costs_nobody_a_lock,
    one_that_hangs_when_its_task_is_called_costs_nobody_a_lock,
    one_that_hangs_when_its_token_is_cancelled_keeps_nobody_from_being_told,
);

const LEASE: Duration = Duration::from_secs(1);
/// One who is not polled for so long waits for a call, or for its own next look, which comes once a second.
const QUIET: Duration = Duration::from_millis(200);
/// A waker that hangs for longer has been forgotten.
const FORGOTTEN: Duration = Duration::from_secs(60);

/// A waker that hangs when it is told to, once.
struct Hostile {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    hangs: bool,
    /// Whether it has done so.
    has_hung: bool,
    /// Whether the task is to be polled.
    woken: bool,
    /// How often it was.
    polls: u32,
}

impl Hostile {
    fn new() -> Arc<Self> {
        let state = State { hangs: false, has_hung: false, woken: false, polls: 0 };
        Arc::new(Self { state: Mutex::new(state), changed: Condvar::new() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Whether it hangs when it next wakes. If it does so already, it goes on.
    fn hangs(&self, hangs: bool) {
        self.state().hangs = hangs;
        self.changed.notify_all();
    }

    /// Returns when its task has nothing more to do until it is called.
    async fn sleeps(&self) {
        let (mut polls, mut since) = (0, Instant::now());
        eventually("its task sleeps", async || {
            let now = self.state().polls;
            if std::mem::replace(&mut polls, now) != now {
                since = Instant::now();
            }
            polls > 0 && since.elapsed() >= QUIET
        })
        .await;
    }

    async fn has_hung(&self) {
        eventually("the waker is called", async || self.state().has_hung).await;
    }

    /// Polls a future to its end by this waker, with a runtime of its own, whose timers wake by it too.
    fn drive<T: Send + 'static>(self: &Arc<Self>, future: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        let hostile = Arc::clone(self);
        tokio::task::spawn_blocking(move || {
            let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
            let done = hostile.poll(&runtime, future);
            runtime.shutdown_background();
            done
        })
    }

    fn poll<T>(self: &Arc<Self>, runtime: &Runtime, future: impl Future<Output = T>) -> T {
        let _inside = runtime.enter();
        let waker = Waker::from(Arc::clone(self));
        let (mut future, mut context) = (pin!(future), Context::from_waker(&waker));
        loop {
            if let Poll::Ready(done) = future.as_mut().poll(&mut context) {
                return done;
            }
            self.state().polls += 1;
            drop(self.changed.wait_while(self.state(), |state| !std::mem::take(&mut state.woken)).unwrap());
        }
    }
}

impl Wake for Hostile {
    fn wake(self: Arc<Self>) {
        let mut state = self.state();
        state.woken = true;
        self.changed.notify_all();
        if state.has_hung || !state.hangs {
            return;
        }
        state.has_hung = true;
        drop(self.changed.wait_timeout_while(state, FORGOTTEN, |state| state.hangs).unwrap());
    }
}

/// A lock that is renewed, and stays so.
async fn healthy(bench: &Bench, client: &Client, name: &str) -> Guard {
    let lock = client.lock_of(bench.kind(), &bench.key(name)).unwrap();
    lock.lock_with(renewed(LEASE.as_millis().try_into().unwrap())).await.unwrap()
}

async fn stays(guard: &Guard) {
    let lost = tokio::time::timeout(LEASE * 2, guard.lost()).await;
    assert!(lost.is_err() && guard.is_held(), "it was not renewed: {lost:?}");
}

async fn one_that_hangs_when_its_task_is_answered_costs_nobody_a_lock(bench: &Bench) {
    let (client, hostile) = (bench.client().await, Hostile::new());
    let guard = healthy(bench, &client, "healthy").await;
    let lock = client.lock_of(bench.kind(), &bench.key("asked")).unwrap();
    hostile.hangs(true);
    // In a store that answers at once nobody is woken.
    let asking = hostile.drive(async move { lock.lock().await.unwrap() });
    stays(&guard).await;
    hostile.hangs(false);
    soon("it is answered after all", asking).await.unwrap().release().await.unwrap();
}

async fn one_that_hangs_when_its_task_is_called_costs_nobody_a_lock(bench: &Bench) {
    let (holder, client, hostile) = (bench.client().await, bench.client().await, Hostile::new());
    let (theirs, ours) = (healthy(bench, &holder, "theirs").await, healthy(bench, &client, "ours").await);
    let held = healthy(bench, &holder, "held").await;
    let (lock, mut events) = (client.lock_of(bench.kind(), &bench.key("held")).unwrap(), client.events());
    let waiting = hostile.drive(async move { lock.lock().await.unwrap() });
    heard(&mut events, "it waits", |what| matches!(what, What::Waiting { .. })).await;
    hostile.sleeps().await;
    hostile.hangs(true);
    // Not here: what is dropped is released by the holder's own thread.
    drop(held);
    hostile.has_hung().await;
    tokio::join!(stays(&theirs), stays(&ours));
    hostile.hangs(false);
    soon("it gets in after all", waiting).await.unwrap().release().await.unwrap();
}

async fn one_that_hangs_when_its_token_is_cancelled_keeps_nobody_from_being_told(bench: &Bench) {
    let (client, rival, hostile) = (bench.client().await, bench.client().await, Hostile::new());
    let hangs = healthy(bench, &client, "hangs").await;
    let ours = healthy(bench, &client, "ours").await;
    let cancelled = hostile.drive(hangs.cancellation_token().cancelled_owned());
    hostile.sleeps().await;
    hostile.hangs(true);
    rival.lock_of(bench.kind(), &bench.key("hangs")).unwrap().force_release().await.unwrap();
    hostile.has_hung().await;
    // Meanwhile, another is lost, and that is heard of.
    let lock = client.lock_of(bench.kind(), &bench.key("short")).unwrap();
    let mut events = client.events();
    let short = lock.lock_with(unrenewed(500)).await.unwrap();
    soon("its token is cancelled", short.cancellation_token().cancelled_owned()).await;
    heard(&mut events, "it is lost", |what| matches!(what, What::Lost { .. })).await;
    stays(&ours).await;
    hostile.hangs(false);
    soon("the one that hung goes on", cancelled).await.unwrap();
}
