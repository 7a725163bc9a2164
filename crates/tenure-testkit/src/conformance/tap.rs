//! A backend around a backend: counts what is asked, and fails on demand.

use futures_util::future::join_all;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tenure_core::{
    Applied, Backend, Batch, Card, Clock, Key, Kind, Label, Operation, Outcome, Over, Pattern, Port, Sight, Step,
    StoreError, StoreErrorKind,
};
use tokio::sync::{Notify, watch};

/// Some of the operations.
type Which = fn(&Operation) -> bool;

/// What is known of the calls, and what is to become of them.
#[derive(Default)]
pub(super) struct Tap {
    /// The store has said that it takes locks one after the other.
    one_by_one: AtomicBool,
    applied: AtomicUsize,
    acquires: AtomicUsize,
    renewals_panic: AtomicBool,
    holds_back: Mutex<Option<Which>>,
    held_back: AtomicUsize,
    arrived: AtomicUsize,
    let_through: Notify,
    withholds: AtomicBool,
    withheld: AtomicUsize,
    delivery: Notify,
    loses_acquires: AtomicBool,
    lost: Mutex<Vec<(Kind, Key, Operation)>>,
    loses_releases: AtomicBool,
    lost_releases: AtomicUsize,
    forgets_to_answer_renewals: AtomicBool,
    silent: AtomicBool,
    blind: AtomicBool,
    hears: watch::Sender<bool>,
}

impl Tap {
    pub(super) fn takes_one_by_one(&self) -> bool {
        self.one_by_one.load(Ordering::SeqCst)
    }

    /// From now on, the client hears what the store pushes.
    pub(super) fn hear(&self) {
        self.hears.send_replace(true);
    }

    /// How many operations were sent.
    pub(super) fn applied(&self) -> usize {
        self.applied.load(Ordering::SeqCst)
    }

    /// How many of them were acquires.
    pub(super) fn acquires(&self) -> usize {
        self.acquires.load(Ordering::SeqCst)
    }

    /// From now on, whoever renews many holds at once panics: that is the watchdog.
    pub(super) fn make_renewals_panic(&self) {
        self.renewals_panic.store(true, Ordering::SeqCst);
    }

    /// From now on, these are slow: they stay on the way to the store.
    pub(super) fn hold_back(&self, which: Which) {
        *self.holds_back.lock().unwrap() = Some(which);
    }

    /// How many have been held back so far.
    pub(super) fn held_back(&self) -> usize {
        self.held_back.load(Ordering::SeqCst)
    }

    /// Those that are on the way arrive, and no more are held back.
    pub(super) fn let_through(&self) {
        *self.holds_back.lock().unwrap() = None;
        self.let_through.notify_waiters();
    }

    /// How many of those that were held back have been done.
    pub(super) fn arrived(&self) -> usize {
        self.arrived.load(Ordering::SeqCst)
    }

    /// From now on, what the store says to those who want to go in does not arrive.
    pub(super) fn withhold_grants(&self, withhold: bool) {
        self.withholds.store(withhold, Ordering::SeqCst);
    }

    /// How many answers have not arrived.
    pub(super) fn withheld(&self) -> usize {
        self.withheld.load(Ordering::SeqCst)
    }

    /// The answers that have not arrived do so now.
    pub(super) fn deliver_withheld(&self) {
        self.delivery.notify_waiters();
    }

    async fn on_the_way_back(&self, operation: &Operation) {
        let entering = is_acquire(operation) || matches!(operation, Operation::Reenter { .. });
        if entering && self.withholds.load(Ordering::SeqCst) {
            let delivery = self.delivery.notified();
            self.withheld.fetch_add(1, Ordering::SeqCst);
            delivery.await;
        }
    }

    /// From now on, acquires do not arrive, and are not answered.
    pub(super) fn lose_acquires(&self, lose: bool) {
        self.loses_acquires.store(lose, Ordering::SeqCst);
    }

    /// The acquires that did not arrive.
    pub(super) fn lost_acquires(&self) -> Vec<(Kind, Key, Operation)> {
        self.lost.lock().unwrap().clone()
    }

    /// From now on, releases do not arrive, and are not answered.
    pub(super) fn lose_releases(&self, lose: bool) {
        self.loses_releases.store(lose, Ordering::SeqCst);
    }

    /// How many releases did not arrive.
    pub(super) fn lost_releases(&self) -> usize {
        self.lost_releases.load(Ordering::SeqCst)
    }

    /// From now on, nothing arrives and nothing is answered.
    pub(super) fn fall_silent(&self) {
        self.silent.store(true, Ordering::SeqCst);
    }

    /// From now on, who looks at a lock is not answered.
    pub(super) fn go_blind(&self) {
        self.blind.store(true, Ordering::SeqCst);
    }

    /// From now on, renewals by hand are done but not answered.
    pub(super) fn forget_to_answer_renewals(&self) {
        self.forgets_to_answer_renewals.store(true, Ordering::SeqCst);
    }

    /// Says whether it was held back.
    async fn on_the_way(&self, operation: &Operation) -> bool {
        let let_through = self.let_through.notified();
        let slow = self.holds_back.lock().unwrap().is_some_and(|which| which(operation));
        if slow {
            self.held_back.fetch_add(1, Ordering::SeqCst);
            let_through.await;
        }
        slow
    }
}

/// A backend with a tap on it.
pub(super) struct Tapped<B> {
    inner: B,
    tap: Arc<Tap>,
}

impl<B> Tapped<B> {
    pub(super) fn new(inner: B, tap: &Arc<Tap>) -> Self {
        Self { inner, tap: Arc::clone(tap) }
    }
}

fn unanswered() -> StoreError {
    StoreError::new(StoreErrorKind::Unanswered, "no answer, as the case has it")
}

fn are_renewals(steps: &[Step]) -> bool {
    steps.iter().all(|step| matches!(step.operation, Operation::Renew { .. }))
}

/// Whether the calling thread is the client's own: it renews, and guards are renewed by hand elsewhere.
fn is_watchdog() -> bool {
    std::thread::current().name() == Some("tenure-keeper")
}

/// Whether a lock or permits are asked for.
fn is_acquire(operation: &Operation) -> bool {
    matches!(operation, Operation::Acquire { .. } | Operation::Take { .. })
}

impl<B: Backend> Tapped<B> {
    async fn apply_step(&self, step: &Step, within: Duration) -> Result<Outcome, StoreError> {
        let operation = &step.operation;
        self.tap.applied.fetch_add(1, Ordering::SeqCst);
        if is_acquire(operation) {
            self.tap.acquires.fetch_add(1, Ordering::SeqCst);
        }
        if self.tap.silent.load(Ordering::SeqCst) {
            tokio::time::sleep(within).await;
            return Err(unanswered());
        }
        if *operation == Operation::Inspect && self.tap.blind.load(Ordering::SeqCst) {
            return Err(unanswered());
        }
        if is_acquire(operation) && self.tap.loses_acquires.load(Ordering::SeqCst) {
            self.tap.lost.lock().unwrap().push((step.kind, step.key.clone(), operation.clone()));
            return Err(unanswered());
        }
        if matches!(operation, Operation::Release { .. }) && self.tap.loses_releases.load(Ordering::SeqCst) {
            self.tap.lost_releases.fetch_add(1, Ordering::SeqCst);
            return Err(unanswered());
        }
        let slow = self.tap.on_the_way(operation).await;
        let answer = self.inner.apply(Batch::one(step), within).await.and_then(Applied::single);
        if matches!(operation, Operation::Renew { .. }) && self.tap.forgets_to_answer_renewals.load(Ordering::SeqCst) {
            return Err(unanswered());
        }
        self.tap.arrived.fetch_add(usize::from(slow), Ordering::SeqCst);
        self.tap.on_the_way_back(operation).await;
        answer
    }

    async fn take_all(&self, steps: &[Step], within: Duration) -> Result<Applied, StoreError> {
        self.tap.applied.fetch_add(1, Ordering::SeqCst);
        self.tap.acquires.fetch_add(1, Ordering::SeqCst);
        if self.tap.silent.load(Ordering::SeqCst) {
            tokio::time::sleep(within).await;
            return Err(unanswered());
        }
        if self.tap.loses_acquires.load(Ordering::SeqCst) {
            let lost = steps.iter().map(|one| (one.kind, one.key.clone(), one.operation.clone()));
            self.tap.lost.lock().unwrap().extend(lost);
            return Err(unanswered());
        }
        let operation = &steps[0].operation;
        let slow = self.tap.on_the_way(operation).await;
        let answer = self.inner.apply(Batch::all_or_none(steps), within).await;
        self.tap.arrived.fetch_add(usize::from(slow), Ordering::SeqCst);
        // What was not tried was not asked.
        if matches!(answer, Ok(Applied::Apart)) {
            self.tap.one_by_one.store(true, Ordering::SeqCst);
            self.tap.applied.fetch_sub(1, Ordering::SeqCst);
            self.tap.acquires.fetch_sub(1, Ordering::SeqCst);
            return answer;
        }
        self.tap.on_the_way_back(operation).await;
        answer
    }

    /// The watchdog's renewals.
    async fn renew(&self, steps: &[Step], within: Duration) -> Result<Applied, StoreError> {
        assert!(!self.tap.renewals_panic.load(Ordering::SeqCst), "this panic is part of the case");
        let slow = self.tap.on_the_way(&steps[0].operation).await;
        let answer = self.inner.apply(Batch::each(steps), within).await;
        self.tap.arrived.fetch_add(usize::from(slow), Ordering::SeqCst);
        answer
    }
}

impl<B: Backend> Backend for Tapped<B> {
    fn label(&self) -> Label {
        self.inner.label()
    }

    fn address(&self) -> String {
        self.inner.address()
    }

    fn clock(&self) -> Clock {
        self.inner.clock()
    }

    async fn reach(&self, within: Duration) -> Result<(), StoreError> {
        self.inner.reach(within).await
    }

    async fn apply(&self, batch: Batch<'_>, within: Duration) -> Result<Applied, StoreError> {
        match batch.steps {
            steps if batch.all_or_none => self.take_all(steps, within).await,
            steps if are_renewals(steps) && is_watchdog() => self.renew(steps, within).await,
            [step] => self.apply_step(step, within).await.map(Applied::one),
            // Each as if it were sent by itself: some of them may be held back, or lost.
            steps => Ok(Applied::Each(join_all(steps.iter().map(|step| self.apply_step(step, within))).await)),
        }
    }

    async fn list(&self, pattern: &Pattern, within: Duration) -> Result<Vec<(Key, Sight)>, StoreError> {
        self.inner.list(pattern, within).await
    }

    async fn announce(&self, client: &str, card: &Card, keep: Duration, within: Duration) -> Result<(), StoreError> {
        self.inner.announce(client, card, keep, within).await
    }

    async fn look_up(&self, client: &str, within: Duration) -> Result<Option<Card>, StoreError> {
        self.inner.look_up(client, within).await
    }

    fn calls_apart(&self, kind: Kind) -> bool {
        self.inner.calls_apart(kind)
    }

    fn refuses(&self, kind: Kind) -> Option<&'static str> {
        self.inner.refuses(kind)
    }

    fn refuses_key(&self, key: &Key) -> Option<&'static str> {
        self.inner.refuses_key(key)
    }

    fn attach(&self, over: Over) {
        self.inner.attach(over);
    }

    fn asks_anew(&self) -> bool {
        self.inner.asks_anew()
    }

    async fn listen(&self, port: Port) {
        // The sender is the tap's own, and lives as long as we do.
        let _ = self.tap.hears.subscribe().wait_for(|hears| *hears).await;
        self.inner.listen(port).await;
    }
}
