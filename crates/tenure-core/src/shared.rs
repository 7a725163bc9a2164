//! What a client, its guards and its thread have in common.

use crate::agenda::{Agenda, Slot};
use crate::alive::{Alive, Living, Over};
use crate::backend::DynBackend;
use crate::backlog::Backlog;
use crate::busy::Busy;
use crate::event::{Alarm, AlarmReason, Event, Loss, What};
use crate::hold::{Hold, Leaving};
use crate::janitor::Chore;
use crate::origin::Origin;
use crate::report::report;
use crate::signals::Signals;
use crate::wakeups::{Pusher, Topic};
use crate::{Applied, Batch, Card, Clock, Error, ErrorKind, Moment, Step, StoreError, StoreErrorKind};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use tenure_kernel::{Claim, Key, Kind, Operation, Outcome};
use tokio::sync::mpsc::error::SendError;
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

/// What a client, its guards and its thread have in common.
pub(crate) struct Shared {
    pub(crate) backend: Arc<dyn DynBackend>,
    pub(crate) clock: Clock,
    /// Where the store is.
    pub(crate) address: String,
    pub(crate) id: String,
    pub(crate) card: Card,
    /// Where the client was built: nowhere else can it be used.
    pub(crate) origin: Origin,
    pub(crate) agenda: Agenda,
    pub(crate) signals: Signals,
    /// Cancelled at first use: until then the client's threads leave the store alone.
    pub(crate) first_use: CancellationToken,
    used: AtomicBool,
    pub(crate) alive: Arc<Alive>,
    chores: mpsc::UnboundedSender<Chore>,
    chores_open: AtomicUsize,
    backlog: Backlog,
    /// Rung whenever a chore is done, for the client's own thread.
    pub(crate) tidied: Notify,
    /// The same for threads that block until all are.
    flushed: Condvar,
    flushing: Mutex<()>,
    under_way: AtomicUsize,
    /// Whether the store has ever answered.
    heard_from: AtomicBool,
    /// Which locks somebody else was seen to have.
    pub(crate) busy: Busy,
    closed: AtomicBool,
    /// Cancelled when the client is closed: those who wait for a lock wait in vain.
    pub(crate) closing: CancellationToken,
    dead: AtomicBool,
    /// Claims that were lost before they were known here: the notice overtook the grant's answer.
    lost: Mutex<VecDeque<(Claim, Loss)>>,
    /// Until when the store keeps locks of ours taken that were released already.
    kept_until: Mutex<Option<Moment>>,
    /// When the log was last told that a section took long.
    hinted: Mutex<Option<Moment>>,
    /// Tells those who wait here of our own releases, if the store tells of none.
    own_releases: OnceLock<Pusher>,
}

/// How many claims that nobody knew are remembered.
const LOST_KEPT: usize = 64;

/// An acquire or a release under way, which a close waits for.
pub(crate) struct UnderWay<'a>(&'a Shared);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        if self.0.under_way.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.something_left();
        }
    }
}

impl Shared {
    pub(crate) fn new(
        backend: Arc<dyn DynBackend>,
        id: String,
        card: Card,
        chores: mpsc::UnboundedSender<Chore>,
    ) -> Self {
        let alive = Alive::new();
        backend.attach(Over::new(&alive, &id));
        Self {
            clock: backend.clock(),
            address: backend.address(),
            backend,
            id,
            card,
            origin: Origin::here(),
            agenda: Agenda::new(Slot::Renewal),
            signals: Signals::new(),
            first_use: CancellationToken::new(),
            used: AtomicBool::new(false),
            alive,
            chores,
            chores_open: AtomicUsize::new(0),
            backlog: Backlog::default(),
            tidied: Notify::new(),
            flushed: Condvar::new(),
            flushing: Mutex::default(),
            under_way: AtomicUsize::new(0),
            heard_from: AtomicBool::new(false),
            busy: Busy::default(),
            closed: AtomicBool::new(false),
            closing: CancellationToken::new(),
            dead: AtomicBool::new(false),
            lost: Mutex::default(),
            kept_until: Mutex::default(),
            hinted: Mutex::default(),
            own_releases: OnceLock::new(),
        }
    }

    /// Whether the log may be told once more that a section took long: once a minute is often enough.
    pub(crate) fn may_hint(&self) -> bool {
        let now = self.clock.now();
        let mut hinted = self.hinted.lock().unwrap_or_else(PoisonError::into_inner);
        let due = hinted.is_none_or(|last| now.since(last) >= Duration::from_secs(60));
        if due {
            *hinted = Some(now);
        }
        due
    }

    /// A claim that was never made before.
    pub(crate) fn fresh_claim(&self, key: &Key, nested: bool) -> (Claim, Living) {
        self.alive.fresh(&self.id, key, nested)
    }

    /// Refuses to be used in another process than the one that built the client: it has no watchdog there, and its claims are
    /// the other's.
    pub(crate) fn check_origin(&self) -> Result<(), Error> {
        if self.origin.is_here() { Ok(()) } else { Err(Error::forked(self.origin)) }
    }

    /// To be called before anything is asked of the store.
    pub(crate) fn begin(&self) -> Result<(), Error> {
        self.check_origin()?;
        if self.dead.load(Ordering::Acquire) {
            return Err(Error::new(
                ErrorKind::Unexpected,
                "this client's watchdog thread died, see the log: connect a new client",
            ));
        }
        if self.closed.load(Ordering::SeqCst) {
            return Err(Error::closed());
        }
        if !self.used.load(Ordering::Relaxed) && !self.used.swap(true, Ordering::Relaxed) {
            self.first_use.cancel();
        }
        Ok(())
    }

    /// Begins an acquire. Counted before the client is asked whether it is closed: a close then either is seen here or
    /// sees this attempt.
    pub(crate) fn attempt(&self) -> Result<UnderWay<'_>, Error> {
        let attempt = self.under_way();
        self.begin()?;
        Ok(attempt)
    }

    /// Begins a release. Counted before the hold leaves the agenda, and until the store was told or the janitor has it:
    /// a close always sees one of the three.
    pub(crate) fn under_way(&self) -> UnderWay<'_> {
        self.under_way.fetch_add(1, Ordering::SeqCst);
        UnderWay(self)
    }

    /// The store has answered: it is there, whatever happens later.
    pub(crate) fn heard_from_store(&self) {
        self.heard_from.store(true, Ordering::Relaxed);
    }

    /// Whether the store has ever answered.
    pub(crate) fn was_heard_from(&self) -> bool {
        self.heard_from.load(Ordering::Relaxed)
    }

    /// Has the store do something with a lock.
    pub(crate) async fn apply(
        &self,
        kind: Kind,
        key: &Key,
        operation: &Operation,
        within: Duration,
    ) -> Result<Outcome, StoreError> {
        let step = Step::new(kind, key, operation.clone());
        self.apply_batch(Batch::one(&step), within).await?.single()
    }

    /// Has the store do several things in one call.
    pub(crate) async fn apply_batch(&self, batch: Batch<'_>, within: Duration) -> Result<Applied, StoreError> {
        let applied = self.backend.apply(batch, within).await?;
        self.heard_from_store();
        // One that got no answer would never be asked about again.
        if matches!(&applied, Applied::Each(answers) if answers.len() != batch.steps.len()) {
            return Err(unexpected("the store did not answer each of the steps that it was asked"));
        }
        if let Some(pusher) = self.own_releases.get() {
            let releases = |step: &&Step| {
                matches!(
                    step.operation,
                    Operation::Release { .. } | Operation::GiveBack { .. } | Operation::ForceRelease
                )
            };
            for Step { kind, key, .. } in batch.steps.iter().filter(releases) {
                pusher.wake(&Topic::of(*kind, key));
            }
        }
        Ok(applied)
    }

    /// Has the store do several things in one call, each by itself.
    pub(crate) async fn apply_each(
        &self,
        steps: &[Step],
        within: Duration,
    ) -> Result<Vec<Result<Outcome, StoreError>>, StoreError> {
        match self.apply_batch(Batch::each(steps), within).await? {
            Applied::Each(answers) => Ok(answers),
            _ => Err(unexpected("the store answered as if all or none of the steps were to be granted")),
        }
    }

    /// Whether the store tells of releases.
    pub(crate) fn is_told(&self) -> bool {
        self.own_releases.get().is_none()
    }

    /// The store tells of no release: of those of this client, those who wait here hear by this.
    pub(crate) fn tell_of_own_releases(&self, pusher: Pusher) {
        // Nobody else sets it.
        let _ = self.own_releases.set(pusher);
    }

    /// Asks the store something that may be asked twice: a connection that is found dead at once, as after a restart of
    /// the store, gets another chance.
    pub(crate) async fn ask(
        &self,
        kind: Kind,
        key: &Key,
        operation: &Operation,
        within: Duration,
    ) -> Result<Outcome, StoreError> {
        let sent = self.clock.now();
        match self.apply(kind, key, operation, within).await {
            Err(error) if error.is_transient() && self.clock.now().since(sent) < within / 2 => {
                self.apply(kind, key, operation, within / 2).await
            }
            answer => answer,
        }
    }

    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.closing.cancel();
    }

    pub(crate) fn was_used(&self) -> bool {
        self.used.load(Ordering::Relaxed)
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.dead.load(Ordering::Acquire)
    }

    pub(crate) fn die(&self) {
        self.dead.store(true, Ordering::Release);
    }

    fn lost(&self) -> MutexGuard<'_, VecDeque<(Claim, Loss)>> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A claim was lost that is on no agenda: it may be about to be.
    pub(crate) fn lost_unknown(&self, claim: &Claim, why: Loss) {
        let mut lost = self.lost();
        if lost.len() == LOST_KEPT {
            lost.pop_front();
        }
        lost.push_back((claim.clone(), why));
    }

    /// Why a claim was lost before it was put on the agenda, if it was.
    pub(crate) fn was_lost(&self, claim: &Claim) -> Option<Loss> {
        let mut lost = self.lost();
        let known = lost.iter().position(|(known, _)| known == claim)?;
        lost.remove(known).map(|(_, why)| why)
    }

    /// The store has just said that it keeps a released lock taken for so long.
    pub(crate) fn keeps(&self, keep: Duration) {
        let until = self.clock.now().plus(keep);
        let mut kept_until = self.kept_until.lock().unwrap_or_else(PoisonError::into_inner);
        *kept_until = (*kept_until).max(Some(until));
    }

    /// For how much longer the store keeps any released lock of ours taken.
    pub(crate) fn kept(&self) -> Duration {
        let kept_until = *self.kept_until.lock().unwrap_or_else(PoisonError::into_inner);
        kept_until.map_or(Duration::ZERO, |until| until.since(self.clock.now()))
    }

    /// Hands something to the janitor. Never blocks.
    pub(crate) fn later(&self, chore: Chore) {
        self.chores_open.fetch_add(1, Ordering::AcqRel);
        self.backlog.add(&chore);
        if let Err(SendError(chore)) = self.chores.send(chore) {
            // The client's thread is gone: the lease will end what is left.
            self.chore_done(&chore);
        }
    }

    pub(crate) fn leave_later(&self, hold: &Arc<Hold>, leaving: Leaving) {
        if leaving.left == 0 {
            self.unwatch(hold);
        }
        if hold.send_later(leaving) {
            self.later(Chore::Leave { hold: Arc::clone(hold) });
        }
    }

    /// Nothing is left to do for a hold but to tell the store.
    pub(crate) fn unwatch(&self, hold: &Hold) {
        self.agenda.remove(hold);
        self.signals.forget(hold);
        self.something_left();
    }

    /// A hold, a chore or a release is gone: whoever closes the client looks whether all are.
    fn something_left(&self) {
        if self.closed.load(Ordering::SeqCst) {
            self.signals.settle();
        }
    }

    pub(crate) fn chore_done(&self, chore: &Chore) {
        self.backlog.remove(chore);
        if self.chores_open.fetch_sub(1, Ordering::AcqRel) == 1 {
            // Under the mutex, so that one who has just looked does not miss it.
            let _flushing = self.flushing.lock().unwrap_or_else(PoisonError::into_inner);
            self.flushed.notify_all();
        }
        self.tidied.notify_waiters();
        self.something_left();
    }

    /// Whether so much was given up of this lock, or left of all, that the store must be told of it before anybody asks for more.
    pub(crate) fn is_behind(&self, key: &Key) -> bool {
        self.backlog.is_full(self.chores_open(), key)
    }

    /// Blocks until no release is unfinished, or for this long.
    pub(crate) fn wait_until_tidied(&self, within: Duration) {
        let flushing = self.flushing.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = self.flushed.wait_timeout_while(flushing, within, |()| self.chores_open() > 0);
    }

    /// How many releases are unfinished.
    pub(crate) fn chores_open(&self) -> usize {
        self.chores_open.load(Ordering::Acquire)
    }

    /// Whether nothing is under way any more.
    pub(crate) fn is_quiet(&self) -> bool {
        self.chores_open() == 0 && self.under_way.load(Ordering::SeqCst) == 0
    }

    /// Tells subscribers what happened to a hold.
    pub(crate) fn say(&self, hold: &Hold, what: impl FnOnce() -> What) {
        self.say_of((hold.kind, &hold.key), &hold.claim, what);
    }

    /// Tells subscribers what happened to a claim.
    pub(crate) fn say_of(&self, (kind, key): (Kind, &Key), claim: &Claim, what: impl FnOnce() -> What) {
        self.signals.say(|| Event { kind, key: key.clone(), claim: claim.clone(), what: what() });
    }

    pub(crate) fn say_lost(&self, hold: &Hold, why: Loss) {
        let (key, claim, token) = (hold.key.clone(), hold.claim.clone(), hold.token);
        report(move || tracing::warn!(%key, %claim, token, %why, "lock lost"));
        self.say(hold, || What::Lost { why });
    }

    /// Raises the safety alarm.
    pub(crate) fn alarm(&self, hold: &Hold, held: Duration, lease: Duration, reason: AlarmReason) {
        let label = hold.owner.as_ref().map_or("", crate::Owner::label);
        let space = if label.is_empty() { "" } else { " " };
        let owner: Arc<str> = format!("{label}{space}{} ({})", hold.claim, self.card).into();
        let (key, said) = (hold.key.clone(), Arc::clone(&owner));
        report(move || match reason {
            AlarmReason::OutlivedLease => tracing::error!(
                %key, owner = %said, ?held, ?lease,
                "safety alarm: the section outlived its lease, another holder may have been in meanwhile"
            ),
            AlarmReason::HeldTooLong => tracing::error!(
                %key, owner = %said, ?held, ?lease,
                "safety alarm: the lock is held longer than expected"
            ),
        });
        self.say(hold, || What::Alarm(Alarm { owner, held, lease, reason }));
    }
}

fn unexpected(message: &str) -> StoreError {
    StoreError::new(StoreErrorKind::Unexpected, message)
}
