//! A grip: a session that has the row of a lock for a claim of ours, and what keeps it.
//!
//! The server ends a session that is silent for a lease; we show it a sign of life three times in that time, and see by the
//! same whether the session is still there. When the lease is over, and nobody has renewed it, we let go by ourselves.

use crate::desk::Desk;
use crate::session::Session;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tenure_core::{Claim, Key};
use tokio::sync::Notify;
use tokio::time::Instant;

/// No sign of life is waited for longer than this.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long the server may take to let go when a lease is over.
const LET_GO_WITHIN: Duration = Duration::from_secs(1);

/// A session that has a row.
pub(crate) struct Grip {
    /// What the session is called in the server.
    pub(crate) name: String,
    session: tokio::sync::Mutex<Option<Session>>,
    span: Mutex<Span>,
    over: Notify,
}

#[derive(Clone, Copy)]
struct Span {
    /// Whether the claim has left.
    is_over: bool,
    /// Whether it is only kept, for just so long.
    is_kept: bool,
    /// When the lease is over, unless it is renewed.
    until: Instant,
    /// How often to show a sign of life.
    every: Duration,
}

impl Grip {
    fn span(&self) -> MutexGuard<'_, Span> {
        self.span.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lease lasts for so long from now at least.
    pub(crate) fn extend(&self, lease: Duration) {
        let mut span = self.span();
        // A renewal may come late, after the lock was given back.
        if !span.is_kept {
            span.until = span.until.max(Instant::now() + lease);
        }
    }

    /// Whether the session is still there.
    pub(crate) async fn is_alive(&self, until: Instant) -> bool {
        match self.session.lock().await.as_mut() {
            Some(session) => session.beat(until).await.is_ok(),
            None => false,
        }
    }

    /// The row is let go of after so long, whatever was said before.
    pub(crate) fn end_in(&self, keep: Duration) {
        {
            let mut span = self.span();
            (span.until, span.is_kept) = (Instant::now() + keep, true);
        }
        self.over.notify_one();
    }
}

impl Desk {
    /// By what a claim has the row.
    pub(crate) fn grip(&self, key: &Key, claim: &Claim) -> Option<Arc<Grip>> {
        self.state().grips.get(&(key.clone(), claim.clone())).cloned()
    }

    /// A claim is in for a lease. One that has no row keeps those of ours in that it stands under.
    pub(crate) fn extend(&self, key: &Key, claim: &Claim, lease: Duration) {
        match self.grip(key, claim) {
            Some(grip) => grip.extend(lease),
            None => {
                let state = self.state();
                let of_key = state.grips.iter().filter(|((other, _), _)| other == key);
                of_key.for_each(|(_, grip)| grip.extend(lease));
            }
        }
    }

    /// A claim has the row by this session, for a lease.
    pub(crate) fn hold(self: &Arc<Self>, key: &Key, claim: &Claim, session: Session, lease: Duration) {
        let span = Span { is_over: false, is_kept: false, until: Instant::now() + lease, every: lease / 3 };
        let grip = Arc::new(Grip {
            name: session.name.clone(),
            session: tokio::sync::Mutex::new(Some(session)),
            span: Mutex::new(span),
            over: Notify::new(),
        });
        let place = (key.clone(), claim.clone());
        self.state().grips.insert(place.clone(), Arc::clone(&grip));
        tokio::spawn(keep(Arc::downgrade(self), place, grip));
    }

    /// A claim gives the row up.
    pub(crate) async fn leave(&self, key: &Key, claim: &Claim, until: Instant) {
        let Some(grip) = self.state().grips.remove(&(key.clone(), claim.clone())) else { return };
        grip.span().is_over = true;
        grip.over.notify_one();
        let session = grip.session.lock().await.take();
        if let Some(session) = session {
            self.let_go(session, until).await;
        }
    }
}

/// Keeps a session for as long as its lease lasts.
async fn keep(desk: Weak<Desk>, place: (Key, Claim), grip: Arc<Grip>) {
    loop {
        let Span { until, every, .. } = *grip.span();
        tokio::select! {
            () = tokio::time::sleep_until(until.min(Instant::now() + every)) => {}
            () = grip.over.notified() => {}
        }
        let Some(desk) = desk.upgrade() else { return };
        let Span { is_over, until, .. } = *grip.span();
        if is_over {
            return;
        }
        if Instant::now() >= until {
            // The record may name the session for as long as others are in under this claim, and whoever puts those out ends
            // it: it is not to have another lock by then.
            desk.state().grips.remove(&place);
            let session = grip.session.lock().await.take();
            if let Some(mut session) = session {
                let _ = session.let_go(Instant::now() + LET_GO_WITHIN).await;
            }
            return;
        }
        let mut session = grip.session.lock().await;
        let Some(kept) = session.as_mut() else { return };
        if let Err(failure) = kept.beat(Instant::now() + PATIENCE).await {
            tracing::warn!(error = %failure.into_store(), "a session that had locks is gone, and they with it");
            *session = None;
            desk.state().grips.remove(&place);
            if let Some(pusher) = desk.pusher() {
                pusher.gone(&place.1);
            }
            return;
        }
    }
}
