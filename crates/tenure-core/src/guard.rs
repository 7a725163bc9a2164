//! The guard: the witness of a lease.

use crate::acquire::{self, Asker, Patience, Seat, Whose};
use crate::event::{AlarmReason, Loss, What};
use crate::hold::{Hold, Leaving, Left, Standing, Tally};
use crate::inner::Inner;
use crate::janitor::Chore;
use crate::lock::Lock;
use crate::scope::Entered;
use crate::{Error, ErrorKind, Moment, Options, StoreErrorKind};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};
use tenure_kernel::{Claim, FIRST_ENTRY, Key, Kind, Operation, Outcome, Token};
use tokio_util::sync::CancellationToken;

/// Releasing does not wait for the store longer than this; the janitor goes on.
const RELEASE_WITHIN: Duration = Duration::from_secs(3);

/// A held lock. It is valid until it is released or [lost](Guard::lost), whichever comes first; a guard that lives is
/// renewed by the client's own thread unless [`Options::no_renew`] said otherwise.
///
/// Dropping a guard releases it in the background: at once, without blocking, also while the runtime shuts down. Only the last
/// handle of a client (client, lock or guard) waits, when it is dropped, until such releases are done, for
/// [half a second](crate::Builder::flush_within) at the most. [`release`](Guard::release) does it here and now and says what
/// happened.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tenure_core::Error> {
/// use tenure_core::{Client, Memory, Release};
///
/// let lock = Client::new(Memory::new())?.lock("order:pay")?;
/// let guard = lock.lock().await?;
/// let receipt = guard.run(async { format!("paid, fenced by {}", guard.token()) }).await?;
/// assert_eq!(guard.release().await?, Release::Released);
/// # Ok(()) }
/// ```
#[must_use = "a guard that is not kept releases its lock at once"]
#[clippy::has_significant_drop]
pub struct Guard {
    client: Arc<Inner>,
    hold: Arc<Hold>,
    entry: u32,
    /// Whether leaving is still this guard's to do.
    armed: bool,
    /// Where it went in again, if another could have at the same time. Given up after the entry is.
    seat: Option<Seat>,
    _span: tracing::Span,
}

/// How a release went, if the lock was still ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Release {
    /// The lock is free.
    Released,
    /// The owner is still in this often.
    StillHeld(u32),
    /// Left; others are still in: those it [stands under](crate::Options::under) or that stand under it, others who read,
    /// others who have permits.
    Left,
    /// Left; the lock stays taken for this long, as [`at_least`](crate::Options::at_least) asked.
    Kept(Duration),
}

impl Guard {
    /// The span of a guard. A subscriber of the application's hears of it, and may panic: what is to be undone then must not have been
    /// handed over yet.
    pub(crate) fn span(key: &Key, claim: &Claim, token: Token) -> tracing::Span {
        tracing::info_span!("tenure.hold", %key, %claim, token)
    }

    pub(crate) fn of_new_hold(client: &Arc<Inner>, hold: &Arc<Hold>, sent: Moment, span: tracing::Span) -> Self {
        // First: from here on, whatever panics, it is left.
        let guard = Self::new(client, Arc::clone(hold), FIRST_ENTRY, span);
        // A section's is found by what is inside it.
        if !hold.section {
            client.remember(hold);
        }
        client.shared.agenda.add(hold, sent);
        if client.shared.is_dead() {
            // The watchdog died between the grant and here, and has not seen this hold.
            crate::watchdog::lose(&client.shared, hold, Loss::WatchdogDied);
        }
        client.shared.say(hold, || What::Acquired { token: hold.token });
        if let Some(why) = client.shared.was_lost(&hold.claim) {
            crate::watchdog::lose(&client.shared, hold, why);
        }
        guard
    }

    pub(crate) fn of_entry(client: &Arc<Inner>, hold: Arc<Hold>, entry: u32, span: tracing::Span) -> Self {
        if hold.section {
            // It may live for longer than the section.
            client.remember(&hold);
        }
        client.shared.say(&hold, || What::Acquired { token: hold.token });
        Self::new(client, hold, entry, span)
    }

    fn new(client: &Arc<Inner>, hold: Arc<Hold>, entry: u32, span: tracing::Span) -> Self {
        Self { client: Arc::clone(client), hold, entry, armed: true, seat: None, _span: span }
    }

    /// It keeps a seat for as long as it lives.
    pub(crate) fn on(mut self, seat: Option<Seat>) -> Self {
        self.seat = seat;
        self
    }

    /// For how long it has been held, and its lease.
    pub(crate) fn held_for(&self) -> Option<(Duration, Duration)> {
        self.hold.held(self.entry, self.now())
    }

    /// What knows of this entry, but does not keep it, as that of a section within this one.
    pub(crate) fn entered(&self, around: Option<Arc<Entered>>) -> Entered {
        let (client, hold) = (Arc::clone(&self.client), Arc::clone(&self.hold));
        Entered { client, hold, entry: self.entry, seat: self.seat.as_ref().map(Seat::number), around }
    }

    pub(crate) fn now(&self) -> Moment {
        self.client.shared.clock.now()
    }

    pub(crate) fn client(&self) -> &Arc<Inner> {
        &self.client
    }

    /// Options by which another guard has the terms of this one; how long it may be held begins anew.
    pub(crate) fn own_terms(&self) -> Options {
        self.hold.terms_of(self.entry).map_or_else(|| self.client.options.clone(), Options::of)
    }

    /// The lock's handle, as a kind.
    pub(crate) fn as_lock(&self, kind: Kind) -> Lock {
        Lock::new(&self.client, kind, self.hold.key.clone())
    }

    /// One who asks under this hold, for the same owner.
    pub(crate) fn next_of_kin(&self) -> Asker {
        let under = self.hold.lineage().cloned().collect();
        let whose = Whose { owner: self.hold.owner.clone(), section: self.hold.section };
        Asker { whose, under, demand: None }
    }

    /// The terms begin at this moment: until now the lock was held for the sake of others that were still to come.
    pub(crate) fn settle(&self, options: &Options, since: Moment) {
        self.hold.settle(self.entry, acquire::terms(options), since);
        self.client.shared.agenda.move_to(&self.hold, self.hold.next_look());
    }

    /// This token is cancelled when the lock is lost.
    pub(crate) fn cancels(&self, token: &CancellationToken) {
        self.hold.cancels_set(self.entry, &self.client.shared, token);
    }

    /// The fencing token: larger than that of every earlier holder of the key, for ever. Hand it to whatever the lock
    /// protects and have older ones refused there. Re-entry keeps it.
    pub fn token(&self) -> Token {
        self.hold.token
    }

    /// The lock's key.
    pub fn key(&self) -> &Key {
        &self.hold.key
    }

    /// The acquisition, as the store has it.
    pub fn claim(&self) -> &Claim {
        &self.hold.claim
    }

    /// The lock's kind.
    pub fn kind(&self) -> Kind {
        self.hold.kind
    }

    /// What a program that is run while the lock is held needs in order to [go in too](crate::Options::under).
    pub fn lineage(&self) -> String {
        self.hold.lineage().map(Claim::as_str).collect::<Vec<_>>().join("/")
    }

    /// How long the lease surely still runs; zero once it is over.
    pub fn remaining(&self) -> Duration {
        self.hold.remaining(self.entry, self.now())
    }

    /// When the lease ends unless it is renewed. An `Instant` does not count the time a machine is suspended;
    /// [`is_held`](Guard::is_held) does.
    pub fn deadline(&self) -> Instant {
        Instant::now() + self.remaining()
    }

    /// How the guard stands now: held, in jeopardy or lost.
    pub fn standing(&self) -> Standing {
        self.hold.standing(self.entry, self.now())
    }

    /// Whether the lease surely still runs.
    pub fn is_held(&self) -> bool {
        !matches!(self.standing(), Standing::Lost(_))
    }

    /// To be asked before every step that must not be taken unlocked.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Lost`] once the lease is over.
    pub fn check(&self) -> Result<(), Error> {
        self.hold.check(self.entry, self.now())
    }

    /// Resolves when the lock is lost, before the store can have given it to anybody else; never if it is released
    /// first.
    ///
    /// # Panics
    ///
    /// On a tokio runtime without [timers](tokio::runtime::Builder::enable_time).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future has no effect.
    pub async fn lost(&self) -> Loss {
        self.hold.lost(self.entry, &self.client.shared).await
    }

    /// A token that is cancelled when the lock is lost, to hand to work that runs elsewhere.
    pub fn cancellation_token(&self) -> CancellationToken {
        self.hold.lost_token(self.entry, &self.client.shared)
    }

    /// Runs work for as long as the lock is held: when it is lost, the work is dropped and never polled again.
    ///
    /// Work that does not yield cannot be stopped. If its last step outlives the lease, its result is returned all the
    /// same, for it is done; [`check`](Guard::check) and [`release`](Guard::release) then say that the lock was lost.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Lost`] if the lock was lost before the work was done.
    ///
    /// # Panics
    ///
    /// On a tokio runtime without [timers](tokio::runtime::Builder::enable_time).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the work; the guard stays.
    pub async fn run<F: Future>(&self, work: F) -> Result<F::Output, Error> {
        let mut lost = pin!(self.lost());
        let mut work = pin!(work);
        poll_fn(move |context| {
            // The clock is asked before every poll of the work: a late wake-up must not let it run on.
            if let Standing::Lost(why) = self.standing() {
                return Poll::Ready(Err(Error::lost(self.key(), why)));
            }
            if let Poll::Ready(why) = lost.as_mut().poll(context) {
                return Poll::Ready(Err(Error::lost(self.key(), why)));
            }
            work.as_mut().poll(context).map(Ok)
        })
        .await
    }

    /// Makes the lease last its full length from now on, whether or not the watchdog renews it, but not beyond
    /// [`max_hold`](Options::max_hold).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Lost`] if the lock is not ours any more, [`ErrorKind::Unavailable`] if the store does not answer
    /// (the lock is then held for as long as it was).
    ///
    /// # Cancel safety
    ///
    /// A renewal that was cancelled may have been done or not; the guard counts on neither.
    pub async fn renew(&self) -> Result<(), Error> {
        self.check()?;
        let shared = &self.client.shared;
        let sent = self.now();
        let Some(lease) = self.hold.span_of(self.entry, sent) else { return self.check() };
        let operation = Operation::Renew { claim: self.hold.claim.clone(), lease };
        // If no answer comes, the store may keep the lock for longer than we count on.
        self.hold.asks();
        match shared.ask(self.hold.kind, self.key(), &operation, self.client.answer_within).await {
            Ok(Outcome::Renewed) => {
                self.hold.answered();
                self.hold.prolong_entry(self.entry, self.now(), sent, lease);
                shared.agenda.move_to(&self.hold, self.hold.next_look());
                shared.say(&self.hold, || What::Renewed);
                // The answer may have come too late to be of use.
                self.check()
            }
            Ok(_) => {
                crate::watchdog::lose(shared, &self.hold, Loss::Gone);
                Err(Error::lost(self.key(), Loss::Gone))
            }
            Err(error) => Err(Error::from_store(Some(self.key()), error)),
        }
    }

    /// Goes in once more, past all waiters. The lock is free when every guard of it is gone.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Lost`] if the lock is not ours any more, [`ErrorKind::Unavailable`] if the store does not answer
    /// before the lease ends, [`ErrorKind::Unsupported`] if this kind of lock cannot be entered twice.
    ///
    /// # Cancel safety
    ///
    /// A re-entry that was cancelled is undone by the janitor; this guard is not touched.
    pub async fn reenter(&self) -> Result<Self, Error> {
        self.reenter_with(self.client.options.clone()).await
    }

    /// Goes in once more with other options; those about waiting and owners have no meaning here.
    ///
    /// # Errors
    ///
    /// As [`reenter`](Guard::reenter), and [`ErrorKind::Invalid`] for options that make no sense.
    ///
    /// # Cancel safety
    ///
    /// As [`reenter`](Guard::reenter).
    pub async fn reenter_with(&self, options: Options) -> Result<Self, Error> {
        self.client.check(&options)?;
        if !self.hold.kind.is_reentrant() {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!("this kind of lock cannot be entered twice, use the re-entrant one: kind={}", self.hold.kind),
            )
            .about(self.key()));
        }
        self.check()?;
        match acquire::reenter(&self.client, &self.hold, &options, Patience::Endless).await? {
            Some(guard) => Ok(guard),
            None => Err(self.check().err().unwrap_or_else(|| Error::lost(self.key(), Loss::LeaseEnded))),
        }
    }

    /// Gives the lock back and says what happened.
    ///
    /// # Errors
    ///
    /// * [`ErrorKind::Lost`] if it was not ours any more: the section may not have been alone. Nobody else's lock was
    ///   touched.
    /// * [`ErrorKind::Unknown`] if the store did not answer: the janitor goes on trying, and the lease ends it at the
    ///   latest.
    ///
    /// # Cancel safety
    ///
    /// A release that was cancelled is finished by the janitor.
    pub async fn release(mut self) -> Result<Release, Error> {
        if self.disown() {
            return Err(Error::lost(self.key(), Loss::Forked));
        }
        let shared = Arc::clone(&self.client.shared);
        let _under_way = shared.under_way();
        match self.leave() {
            Left::Well(leaving) => self.tell(leaving).await,
            Left::Lost(why, leaving) => {
                if let Some(leaving) = leaving {
                    self.client.shared.leave_later(&self.hold, leaving);
                }
                Err(Error::lost(self.key(), why))
            }
        }
    }

    /// Takes back what [`at_least`](Options::at_least) has asked for: the lock is free when this guard goes. For work that is to
    /// be done once and has failed, so that another may try.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tenure_core::Error> {
    /// use std::time::Duration;
    /// use tenure_core::{Client, Memory, Options, Release};
    ///
    /// let lock = Client::new(Memory::new())?.lock("nightly")?;
    /// let guard = lock.lock_with(Options::new().at_least(Duration::from_secs(60))).await?;
    /// guard.waive_at_least();
    /// assert_eq!(guard.release().await?, Release::Released);
    /// # Ok(()) }
    /// ```
    pub fn waive_at_least(&self) {
        if self.hold.origin.is_here() {
            self.hold.waive(self.entry);
        }
    }

    /// Lets go of it without giving it back: it belongs to whoever knows its permits' names.
    pub(crate) fn let_go(mut self) {
        self.armed = false;
        self.client.shared.unwatch(&self.hold);
        self.client.forget(&self.hold);
        if self.hold.is_ghost() {
            // A request for them may yet arrive, after they were given back.
            let (kind, key, claim) = (self.hold.kind, self.hold.key.clone(), self.hold.claim.clone());
            let lease = Options::MIN_LEASE;
            self.client.shared.later(Chore::Cancel { kind, key, claim, ids: Vec::new(), lease, remember: true });
        }
    }

    /// In the child of a fork the lock is the parent's, and so is all that this guard would touch: it does nothing there. Says
    /// whether that is so.
    fn disown(&mut self) -> bool {
        let forked = !self.hold.origin.is_here();
        if forked {
            self.armed = false;
            std::mem::forget(self.seat.take());
        }
        forked
    }

    /// Takes this entry out of the hold; from here on the store has to be told.
    fn leave(&mut self) -> Left {
        self.armed = false;
        let shared = &self.client.shared;
        let now = self.now();
        let entered = self.hold.last_words(self.entry, now);
        let left = self.hold.leave(self.entry, now, false);
        if let Left::Lost(..) = left {
            shared.signals.tell(&self.hold);
        }
        let is_over = match left {
            Left::Well(leaving) => leaving.left == 0,
            Left::Lost(..) => self.hold.is_over(),
        };
        // Out of the watchdog's sight before the store is told, so that it does not mistake a release for a loss.
        if is_over {
            shared.unwatch(&self.hold);
            self.client.forget(&self.hold);
        } else {
            shared.agenda.move_to(&self.hold, self.hold.next_look());
        }
        if let Some((since, lease, overdue)) = entered {
            let held = now.since(since);
            if overdue {
                // The section ended before the watchdog came to look.
                shared.alarm(&self.hold, held, lease, AlarmReason::HeldTooLong);
            }
            match left {
                Left::Lost(Loss::LeaseEnded | Loss::HeldTooLong, _) => {
                    shared.alarm(&self.hold, held, lease, AlarmReason::OutlivedLease);
                }
                Left::Well(leaving) => {
                    shared.say(&self.hold, || What::Released { held, left: leaving.left });
                }
                Left::Lost(..) => {}
            }
        }
        left
    }

    /// Tells the store, for as long as it makes sense to wait for an answer.
    async fn tell(&self, leaving: Leaving) -> Result<Release, Error> {
        let shared = &self.client.shared;
        let mut telling = Telling { guard: self, leaving, done: false };
        if leaving.keep_until.is_some() {
            self.hold.until_renewal_ends(&shared.clock, self.now().plus(RELEASE_WITHIN)).await;
        }
        let began = self.now();
        let (mut now, mut unanswered) = (began, false);
        loop {
            let Tally { entries: left, change, lease } = match leaving.left {
                0 => Tally { entries: 0, change: u32::MAX, lease: leaving.lease },
                // Others may have come or gone since; if all are gone, the last has told the store.
                _ => match self.hold.tally(now) {
                    Some(tally) => tally,
                    None => {
                        telling.done = true;
                        return self.gone_since();
                    }
                },
            };
            let (claim, keep) = (self.hold.claim.clone(), leaving.keep(now));
            let cancel = leaving.cancel.map(|given_up| self.hold.refuses(given_up, left));
            let operation = Operation::Release { claim, left, change, lease, keep, cancel };
            let within = self.client.answer_within.min((RELEASE_WITHIN).saturating_sub(now.since(began)));
            match shared.apply(self.hold.kind, self.key(), &operation, within).await {
                Ok(Outcome::Released) => {
                    telling.done = true;
                    return Ok(Release::Released);
                }
                Ok(Outcome::StillHeld(left)) => {
                    telling.done = true;
                    return Ok(Release::StillHeld(left));
                }
                Ok(Outcome::Left) => {
                    telling.done = true;
                    return Ok(Release::Left);
                }
                Ok(Outcome::Kept) => {
                    telling.done = true;
                    shared.keeps(keep);
                    return Ok(Release::Kept(keep));
                }
                Ok(Outcome::NotHeld) if left > 0 && self.hold.was_released() => {
                    telling.done = true;
                    return self.gone_since();
                }
                Ok(Outcome::NotHeld) => {
                    telling.done = true;
                    // An earlier sending of this very release went unanswered. The lock was ours when it was sent, and the
                    // section was over: whether that sending freed it or the lease has ended since, it was left well.
                    if unanswered && leaving.left == 0 {
                        return Ok(Release::Released);
                    }
                    if !crate::watchdog::lose(shared, &self.hold, Loss::Gone) {
                        shared.say_lost(&self.hold, Loss::Gone);
                    }
                    return Err(Error::lost(self.key(), Loss::Gone));
                }
                Ok(other) => {
                    telling.done = true;
                    return Err(Error::new(
                        ErrorKind::Unexpected,
                        format!("the store gave an answer that makes no sense to a release: {other:?}"),
                    )
                    .about(self.key()));
                }
                Err(error) => {
                    unanswered |= error.kind == StoreErrorKind::Unanswered;
                    if !error.is_transient() {
                        return Err(Error::from_store(Some(self.key()), error));
                    }
                    let pause = now.plus(Duration::from_millis(50));
                    if pause.since(began) >= RELEASE_WITHIN {
                        return Err(Error::new(
                            ErrorKind::Unknown,
                            format!(
                                "the release was not confirmed, it is tried again in the background and the lease ends \
                                 it at the latest: {error}"
                            ),
                        )
                        .about(self.key()));
                    }
                    shared.clock.sleep_until(pause).await;
                    now = self.now();
                }
            }
        }
    }
}

impl Guard {
    /// The entries that stayed when this one left are gone by now too.
    fn gone_since(&self) -> Result<Release, Error> {
        if self.hold.was_released() { Ok(Release::Released) } else { Err(Error::lost(self.key(), Loss::Gone)) }
    }
}

/// A release under way; if it is not done when dropped, the janitor finishes it.
struct Telling<'a> {
    guard: &'a Guard,
    leaving: Leaving,
    done: bool,
}

impl Drop for Telling<'_> {
    fn drop(&mut self) {
        if !self.done {
            self.guard.client.shared.leave_later(&self.guard.hold, self.leaving);
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if !self.armed || self.disown() {
            return;
        }
        let shared = Arc::clone(&self.client.shared);
        let _under_way = shared.under_way();
        if let Left::Well(leaving) | Left::Lost(_, Some(leaving)) = self.leave() {
            shared.leave_later(&self.hold, leaving);
        }
    }
}

impl std::fmt::Debug for Guard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Guard")
            .field("key", &self.hold.key)
            .field("claim", &self.hold.claim)
            .field("token", &self.hold.token)
            .field("standing", &self.standing())
            .finish()
    }
}
