//! A grip: a session that has the row of a lock for a claim of ours, and what keeps it.
//!
//! The server ends a session that is silent for a lease. So whatever makes a claim last goes over its session too: a guard never
//! believes in more than its session has been given. Between renewals we ask the session for a sign of life, by which we see
//! that it is still there. When the lease is over, and nobody has renewed it, we let go by ourselves.
//!
//! What is said over a session is said to its end, for one that is left in the middle of an answer is lost, and its lock with it.
//! Whoever asked for it waits no longer than it may.

use crate::desk::Desk;
use crate::error::Failure;
use crate::link::in_time;
use crate::session::Session;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tenure_core::{Claim, Key, StoreError, StoreErrorKind, report};
use tokio::sync::Notify;
use tokio::time::Instant;

/// How often a session is asked for a sign of life at the least. One that was closed is noticed then, for the driver does not
/// tell of it before it is asked.
const BEAT: Duration = Duration::from_millis(250);
/// Whoever ends a session leaves word of it within this time: others are not told of its loss for so long at the most.
const LEFT_WORD_WITHIN: Duration = Duration::from_millis(100);
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

    /// Makes the session last for a lease from now on, as the claim is to. Says whether it has one.
    async fn prolong(&self, lease: Duration) -> Result<bool, Failure> {
        let mut session = self.session.lock().await;
        let Some(kept) = session.as_mut() else { return Ok(false) };
        // What was promised before is not taken back.
        let lasts = lease.max(self.span().until.duration_since(Instant::now()));
        let prolonged = kept.lease(lasts, Instant::now() + PATIENCE).await;
        if prolonged.is_err() {
            // One that may be in the middle of an answer can be asked nothing more.
            *session = None;
        }
        prolonged.map(|()| true)
    }

    /// The same for one that may have ended, or be leaving: says whether it lasts.
    pub(crate) async fn lasts(self: &Arc<Self>, lease: Duration, until: Instant) -> Result<bool, Failure> {
        let grip = Arc::clone(self);
        to_its_end(async move { matches!(grip.prolong(lease).await, Ok(true)) }, until).await
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

    /// By what a claim is in. One that has no row stands under those of ours that do.
    fn grips(&self, key: &Key, claim: &Claim) -> Vec<(Claim, Arc<Grip>)> {
        let state = self.state();
        if let Some(grip) = state.grips.get(&(key.clone(), claim.clone())) {
            return vec![(claim.clone(), Arc::clone(grip))];
        }
        let of_key = state.grips.iter().filter(|((other, _), _)| other == key);
        of_key.map(|((_, claim), grip)| (claim.clone(), Arc::clone(grip))).collect()
    }

    /// A claim is in for a lease, if its session can be made to last for as long: says whether it can.
    pub(crate) async fn extend(
        self: &Arc<Self>,
        key: &Key,
        claim: &Claim,
        lease: Duration,
        until: Instant,
    ) -> Result<bool, Failure> {
        let (desk, key, grips) = (Arc::clone(self), key.clone(), self.grips(key, claim));
        let extending = async move {
            let mut lasts = true;
            for (other, grip) in grips {
                match grip.prolong(lease).await {
                    Ok(true) => grip.extend(lease),
                    // The claim is leaving.
                    Ok(false) => lasts = false,
                    Err(failure) => {
                        desk.lost(&(key.clone(), other), failure).await;
                        lasts = false;
                    }
                }
            }
            lasts
        };
        to_its_end(extending, until).await
    }

    /// The session by which a claim had its row is gone.
    async fn lost(&self, place: &(Key, Claim), failure: Failure) {
        let may_be_forced = failure.is_gone();
        let error = failure.into_store();
        report(move || tracing::warn!(%error, "a session that had locks is gone, and they with it"));
        self.state().grips.remove(place);
        // One that is silent we have closed ourselves: the next one may be in at any moment, and there is no time to look.
        let was_forced = may_be_forced && self.was_forced(&place.1).await;
        if let Some(pusher) = self.pusher() {
            if was_forced { pusher.forced(&place.1) } else { pusher.gone(&place.1) }
        }
    }

    /// Whether somebody has ended the session to free its lock, and has left word of it: right after, so that it is looked for
    /// twice.
    async fn was_forced(&self, claim: &Claim) -> bool {
        let until = Instant::now() + LEFT_WORD_WITHIN;
        for pause in [Duration::ZERO, LEFT_WORD_WITHIN / 5] {
            tokio::time::sleep(pause).await;
            if self.notices(claim.client(), until).await.is_ok_and(|left| left.contains(claim)) {
                return true;
            }
        }
        false
    }

    /// A claim has the row by this session, for a lease.
    pub(crate) fn hold(self: &Arc<Self>, key: &Key, claim: &Claim, session: Session, lease: Duration) {
        let span = Span { is_over: false, is_kept: false, until: Instant::now() + lease, every: BEAT.min(lease / 3) };
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
    pub(crate) async fn leave(self: &Arc<Self>, key: &Key, claim: &Claim, until: Instant) {
        let Some(grip) = self.state().grips.remove(&(key.clone(), claim.clone())) else { return };
        grip.span().is_over = true;
        grip.over.notify_one();
        let desk = Arc::clone(self);
        let leaving = async move {
            let session = grip.session.lock().await.take();
            if let Some(session) = session {
                desk.let_go(session, until.max(Instant::now() + LET_GO_WITHIN)).await;
            }
        };
        // One that is not done in time is done soon, or the session is closed.
        let _ = to_its_end(leaving, until).await;
    }
}

/// Does some work to its end, and waits until then for what comes of it.
async fn to_its_end<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
    until: Instant,
) -> Result<T, Failure> {
    let working = tokio::spawn(work);
    let done = in_time(until, async { Ok(working.await) }).await;
    let silent = || StoreError::new(StoreErrorKind::Unanswered, "the session that has the lock did not answer in time");
    done.map_err(|_| silent().into()).and_then(|done| done.map_err(|_| silent().into()))
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
        let beat = {
            let mut session = grip.session.lock().await;
            let Some(kept) = session.as_mut() else { return };
            let beat = kept.beat(Instant::now() + PATIENCE).await;
            if beat.is_err() {
                *session = None;
            }
            beat
        };
        if let Err(failure) = beat {
            desk.lost(&place, failure).await;
            return;
        }
    }
}
