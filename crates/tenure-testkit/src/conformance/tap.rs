//! A backend around a backend: counts what is asked, and fails on demand.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use tenure_core::{
    Backend, Card, Clock, Key, Kind, Label, Operation, Outcome, Pattern, Port, Renewal, Sight, StoreError,
};
use tokio::sync::Notify;

/// What is known of the calls, and what is to become of them.
#[derive(Default)]
pub(super) struct Tap {
    applied: AtomicUsize,
    acquires: AtomicUsize,
    renewals_panic: AtomicBool,
    holds_back: AtomicBool,
    held_back: AtomicUsize,
    arrived: AtomicUsize,
    let_through: Notify,
    withholds: AtomicBool,
    withheld: AtomicUsize,
    delivery: Notify,
}

impl Tap {
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

    /// From now on, partial releases are slow: they stay on the way to the store.
    pub(super) fn hold_back_partial_releases(&self) {
        self.holds_back.store(true, Ordering::SeqCst);
    }

    /// How many have been held back so far.
    pub(super) fn held_back(&self) -> usize {
        self.held_back.load(Ordering::SeqCst)
    }

    /// Those that are on the way arrive, and no more are held back.
    pub(super) fn let_through(&self) {
        self.holds_back.store(false, Ordering::SeqCst);
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
        let entering = matches!(operation, Operation::Acquire { .. } | Operation::Reenter { .. });
        if entering && self.withholds.load(Ordering::SeqCst) {
            let delivery = self.delivery.notified();
            self.withheld.fetch_add(1, Ordering::SeqCst);
            delivery.await;
        }
    }

    /// Says whether it was held back.
    async fn on_the_way(&self, operation: &Operation) -> bool {
        let let_through = self.let_through.notified();
        let slow = matches!(operation, Operation::Release { left: 1.., .. }) && self.holds_back.load(Ordering::SeqCst);
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

impl<B: Backend> Backend for Tapped<B> {
    fn label(&self) -> Label {
        self.inner.label()
    }

    fn clock(&self) -> Clock {
        self.inner.clock()
    }

    async fn reach(&self, within: Duration) -> Result<(), StoreError> {
        self.inner.reach(within).await
    }

    async fn apply(
        &self,
        kind: Kind,
        key: &Key,
        operation: &Operation,
        within: Duration,
    ) -> Result<Outcome, StoreError> {
        self.tap.applied.fetch_add(1, Ordering::SeqCst);
        if matches!(operation, Operation::Acquire { .. }) {
            self.tap.acquires.fetch_add(1, Ordering::SeqCst);
        }
        let slow = self.tap.on_the_way(operation).await;
        let answer = self.inner.apply(kind, key, operation, within).await;
        self.tap.arrived.fetch_add(usize::from(slow), Ordering::SeqCst);
        self.tap.on_the_way_back(operation).await;
        answer
    }

    async fn renew(&self, renewals: &[Renewal], within: Duration) -> Result<Vec<bool>, StoreError> {
        assert!(!self.tap.renewals_panic.load(Ordering::SeqCst), "this panic is part of the case");
        self.inner.renew(renewals, within).await
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

    async fn listen(&self, port: Port) {
        self.inner.listen(port).await;
    }
}
