//! Wakers of the application's that hang or panic: whoever else waits is told all the same.
//!
//! By the clock of these stores no time passes, so that nobody looks by itself: what is heard was told.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Wake, Waker};
use std::time::Duration;
use tenure_core::{Client, Event, Guard, Lock, ManualClock, Memory, Options, What};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// However busy the machine is.
const SOON: Duration = Duration::from_secs(20);
/// A waker that hangs for longer has been forgotten.
const FORGOTTEN: Duration = Duration::from_secs(120);
/// More than a client has threads for.
const MANY: usize = 40;

type Polled<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A waker that hangs until this is dropped.
struct Hangs(Arc<Hanging>);

#[derive(Default)]
struct Hanging {
    /// How many threads hang in it, and whether they may go.
    state: Mutex<(usize, bool)>,
    changed: Condvar,
}

impl Hangs {
    fn new() -> Self {
        Self(Arc::default())
    }

    /// Polls once: from then on this is the waker.
    fn awaits<T>(&self, future: impl Future<Output = T> + Send + 'static) -> Polled<T> {
        let mut future: Polled<T> = Box::pin(future);
        let waker = Waker::from(Arc::clone(&self.0));
        assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending(), "there is nothing to wait for");
        future
    }

    /// Returns when a thread hangs in it.
    async fn hung(&self) {
        let hanging = Arc::clone(&self.0);
        let hung = tokio::task::spawn_blocking(move || {
            let state = hanging.state.lock().unwrap();
            let waited = hanging.changed.wait_timeout_while(state, SOON, |(hung, _)| *hung == 0).unwrap();
            !waited.1.timed_out()
        });
        assert!(hung.await.unwrap(), "the waker is not called");
    }
}

impl Drop for Hangs {
    fn drop(&mut self) {
        self.0.state.lock().unwrap().1 = true;
        self.0.changed.notify_all();
    }
}

impl Wake for Hanging {
    fn wake(self: Arc<Self>) {
        let mut state = self.state.lock().unwrap();
        state.0 += 1;
        self.changed.notify_all();
        drop(self.changed.wait_timeout_while(state, FORGOTTEN, |(_, may_go)| !*may_go).unwrap());
    }
}

/// Two clients of one store.
fn clients() -> (Client, Client) {
    let store = Memory::with_clock(ManualClock::new());
    (Client::new(store.clone()).unwrap(), Client::new(store).unwrap())
}

async fn hold(client: &Client, key: &str) -> Guard {
    client.lock(key).unwrap().lock().await.unwrap()
}

/// Takes a lock away from its holder.
async fn force(client: &Client, key: &str) {
    client.lock(key).unwrap().force_release().await.unwrap().expect("it is held");
}

/// Waits for a lock that is held, until it has been seen to wait.
async fn waits(client: &Client, key: &str) -> JoinHandle<Guard> {
    let (lock, mut events) = (client.lock(key).unwrap(), client.events());
    let waiting = tokio::spawn(async move { lock.lock().await.unwrap() });
    while !matches!(next(&mut events).await.what, What::Waiting { .. }) {}
    // What it does next is to wait until it is called; it looks once more when it can hear.
    tokio::task::yield_now().await;
    waiting
}

async fn next(events: &mut tenure_core::Events) -> Event {
    timeout(SOON, events.next()).await.expect("it is said").expect("the client lives")
}

/// A loss, an event and a call are heard of.
async fn assert_told(client: &Client, rival: &Client, of: &str) {
    let (lost, called) = (format!("lost {of}"), format!("called {of}"));
    let guard = hold(client, &lost).await;
    let token = guard.cancellation_token();
    let losing = tokio::spawn(async move { guard.lost().await });
    let cancelled = tokio::spawn(token.cancelled_owned());
    let held = hold(client, &called).await;
    let waiting = waits(client, &called).await;
    let mut events = client.events();
    let hearing = tokio::spawn(async move { while !matches!(next(&mut events).await.what, What::Lost { .. }) {} });
    force(rival, &lost).await;
    timeout(SOON, cancelled).await.expect("the token is cancelled").unwrap();
    timeout(SOON, losing).await.expect("the loss is told").unwrap();
    timeout(SOON, hearing).await.expect("the event is heard").unwrap();
    // Not here: what is dropped is released by the client's own thread.
    drop(held);
    drop(timeout(SOON, waiting).await.expect("it is called").unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subscriber_that_hangs_keeps_nobody_else_from_being_told() {
    let ((client, rival), hangs) = (clients(), Hangs::new());
    let mut events = client.events();
    let _next = hangs.awaits(async move { events.next().await });
    drop(hold(&client, "something happens").await);
    hangs.hung().await;
    assert_told(&client, &rival, "beside a subscriber").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_hangs_keeps_nobody_else_from_being_told() {
    let ((client, rival), hangs) = (clients(), Hangs::new());
    let guard = hold(&client, "hangs").await;
    let _cancelled = hangs.awaits(guard.cancellation_token().cancelled_owned());
    force(&rival, "hangs").await;
    hangs.hung().await;
    assert_told(&client, &rival, "beside a token").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_who_waits_for_a_loss_and_hangs_keeps_nobody_else_from_being_told() {
    let ((client, rival), hangs) = (clients(), Hangs::new());
    let guard = Arc::new(hold(&client, "hangs").await);
    let (first, second) = (Arc::clone(&guard), Arc::clone(&guard));
    let _lost = hangs.awaits(async move { first.lost().await });
    let other = tokio::spawn(async move { second.lost().await });
    force(&rival, "hangs").await;
    hangs.hung().await;
    timeout(SOON, other).await.expect("the other who waits for this very loss is told").unwrap();
    assert_told(&client, &rival, "beside a loss").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_who_is_called_and_hangs_keeps_nobody_else_from_being_told() {
    let ((client, rival), hangs) = (clients(), Hangs::new());
    let (held, lock) = (hold(&client, "hangs").await, client.lock("hangs").unwrap());
    let mut events = client.events();
    let _waits = called_by(&hangs, lock, &mut events).await;
    drop(held);
    hangs.hung().await;
    assert_told(&client, &rival, "beside a call").await;
}

/// One that waits for its call with a waker that hangs.
async fn called_by(hangs: &Hangs, lock: Lock, events: &mut tenure_core::Events) -> Polled<()> {
    let waits = hangs.awaits(async move { drop(lock.lock().await.unwrap()) });
    while !matches!(next(events).await.what, What::Waiting { .. }) {}
    waits
}

/// However many hang: what nobody must act upon takes no thread from what somebody must.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_subscribers_that_hang_delay_no_token() {
    let ((client, rival), hangs) = (clients(), Hangs::new());
    let guard = hold(&client, "lost").await;
    let cancelled = tokio::spawn(guard.cancellation_token().cancelled_owned());
    let subscribers: Vec<_> = (0..MANY)
        .map(|_| {
            let mut events = client.events();
            hangs.awaits(async move { events.next().await })
        })
        .collect();
    drop(hold(&client, "something happens").await);
    hangs.hung().await;
    force(&rival, "lost").await;
    timeout(SOON, cancelled).await.expect("the token is cancelled").unwrap();
    drop(subscribers);
}

/// By the clock that runs: at its deadline, whoever hangs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_is_cancelled_at_its_deadline_while_a_subscriber_hangs() {
    let (client, hangs) = (Client::new(Memory::new()).unwrap(), Hangs::new());
    let mut events = client.events();
    let _next = hangs.awaits(async move { events.next().await });
    drop(hold(&client, "something happens").await);
    hangs.hung().await;
    let short = Options::new().lease(Duration::from_millis(500)).no_renew();
    let guard = client.lock("short").unwrap().lock_with(short).await.unwrap();
    let token = guard.cancellation_token();
    timeout(SOON, token.cancelled()).await.expect("the token is cancelled while the subscriber hangs");
}

struct Panics;

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        panic!("this panic is part of the case");
    }
}

/// tokio forgets the others whom it was about to wake.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waker_that_panics_keeps_none_of_its_neighbours_from_being_woken() {
    let (client, rival) = clients();
    let guard = Arc::new(hold(&client, "lost").await);
    let waker = Waker::from(Arc::new(Panics));
    let mut panics = pin!(guard.lost());
    assert!(panics.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    // In this order: the others stand behind it. They have wakers of their own, and are polled by nobody but them.
    let others: Vec<_> = (0..3).map(|_| Thread::that_awaits(&guard)).collect();
    force(&rival, "lost").await;
    for other in others {
        other.ends().await;
    }
}

/// A thread without a runtime, which waits for a loss.
struct Thread(std::sync::mpsc::Receiver<()>);

impl Thread {
    fn that_awaits(guard: &Arc<Guard>) -> Self {
        let (guard, (started, starts), (end, ends)) =
            (Arc::clone(guard), std::sync::mpsc::channel(), std::sync::mpsc::channel());
        std::thread::spawn(move || {
            let mut lost = pin!(guard.lost());
            let waker = Waker::from(Arc::new(Unparks(std::thread::current())));
            assert!(lost.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            started.send(()).unwrap();
            while lost.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
                std::thread::park();
            }
            end.send(()).unwrap();
        });
        starts.recv_timeout(SOON).expect("it waits");
        Self(ends)
    }

    async fn ends(self) {
        let ended = tokio::task::spawn_blocking(move || self.0.recv_timeout(SOON)).await.unwrap();
        ended.expect("it is told of the loss");
    }
}

struct Unparks(std::thread::Thread);

impl Wake for Unparks {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
