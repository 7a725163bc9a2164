//! The one way in: ask, wait to be called, ask again, and leave nothing behind on the way out.

use crate::entry::{Terms, deadline};
use crate::event::What;
use crate::guard::Guard;
use crate::hold::{Granted, Hold, Left, Standing, Tally};
use crate::inner::Inner;
use crate::janitor::Chore;
use crate::queue::{Turn, Word};
use crate::{Error, Moment, Options, Owner, StoreError, StoreErrorKind};
use std::sync::Arc;
use std::time::Duration;
use tenure_kernel::{Claim, Grant, Holder, Key, Kind, Operation, Outcome, Stay};
use tracing::Instrument;

/// However sure we are to be called, we also look by ourselves this often.
const SAFETY_POLL: Duration = Duration::from_secs(1);
/// Never look again sooner than this, whatever the store says remains: no busy loop, ever.
const BREATH: Duration = Duration::from_millis(2);

/// How long to wait for the lock.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Patience {
    /// One attempt.
    Once,
    /// Until then, everything included.
    Until(Moment),
    /// As long as it takes.
    Endless,
}

impl Patience {
    fn is_over(self, now: Moment) -> bool {
        match self {
            Self::Once => true,
            Self::Until(end) => now >= end,
            Self::Endless => false,
        }
    }

    fn left(self, now: Moment) -> Duration {
        match self {
            Self::Until(end) => end.since(now),
            Self::Once | Self::Endless => Duration::MAX,
        }
    }
}

/// Not obtained, and who has it.
pub(crate) struct Busy {
    pub(crate) holder: Option<Holder>,
    pub(crate) waited: Duration,
}

/// One caller's way to one lock.
struct Attempt<'a> {
    client: &'a Arc<Inner>,
    kind: Kind,
    key: &'a Key,
    options: &'a Options,
    owner: Option<Owner>,
    /// The claims to stand under.
    under: Vec<Claim>,
    patience: Patience,
    began: Moment,
    /// Who was last seen holding the lock, and when that was.
    holder: Option<(Holder, Moment)>,
    /// The claim for which it was said that we wait.
    waiting: Option<Claim>,
    obtained: bool,
    /// Why the store's last answer is missing, if it is.
    silence: Option<StoreError>,
}

/// Obtains the lock, or says who has it.
pub(crate) async fn acquire(
    client: &Arc<Inner>,
    (kind, key): (Kind, &Key),
    options: &Options,
    patience: impl FnOnce(Moment) -> Patience,
) -> Result<Result<Guard, Busy>, Error> {
    options.check()?;
    let owner = options.resolve_owner()?;
    let _attempt = client.shared.attempt()?;
    let began = client.shared.clock.now();
    let patience = patience(began);
    if let Some(owner) = &owner
        && let Some(hold) = client.owned(key, owner)
    {
        if kind != Kind::Reentrant || hold.kind != kind {
            if hold.is_live(began) {
                return Err(own(key, hold.kind));
            }
        } else if let Some(guard) = Box::pin(reenter(client, &hold, options, patience)).await? {
            return Ok(Ok(guard));
        }
    }
    let under = options.lineage()?;
    let (holder, waiting, obtained, silence) = (None, None, false, None);
    let mut attempt =
        Attempt { client, kind, key, options, owner, under, patience, began, holder, waiting, obtained, silence };
    let outcome = attempt.run().await;
    attempt.obtained = matches!(outcome, Ok(Ok(_)));
    outcome
}

/// The asker holds the lock already, and would wait for itself.
fn own(key: &Key, kind: Kind) -> Error {
    Error::new(
        crate::ErrorKind::Conflict,
        format!(
            "already held by the one who asks, who would wait for itself: pass the guard on, or use the re-entrant lock \
             throughout: kind={kind}"
        ),
    )
    .about(key)
}

impl Attempt<'_> {
    async fn run(&mut self) -> Result<Result<Guard, Busy>, Error> {
        // Who polls asks for itself, when it said it would: it neither hears a call nor keeps others from hearing one.
        if matches!(self.patience, Patience::Once) || self.options.retry.is_some() {
            return self.ask_until_answered(None).await;
        }
        // Of this client's tasks, one at a time speaks to the store.
        let turn = match self.client.queue.enter(self.kind, self.key) {
            Ok(turn) => turn,
            Err(called) => {
                let span = tracing::info_span!("tenure.wait", key = %self.key);
                let called = async {
                    tokio::select! {
                        // The sender is dropped only with the turn inside, so a call always comes.
                        turn = called => turn.ok(),
                        () = self.give_up() => None,
                    }
                };
                match Box::pin(called.instrument(span)).await {
                    Some(turn) => turn,
                    None => return self.not_obtained(),
                }
            }
        };
        self.ask_until_answered(Some(turn)).await
    }

    /// Asks until the store grants the lock or the patience ends.
    async fn ask_until_answered(&mut self, mut turn: Option<Turn>) -> Result<Result<Guard, Busy>, Error> {
        let shared = &self.client.shared;
        let mut armed = Armed::new(self.client, (self.kind, self.key), &self.under, self.options.span());
        let mut pauses = self.options.retry.map(|retry| Box::new(retry.into_iter()));
        let mut failures = 0u32;
        loop {
            // The client may have been closed while we waited.
            shared.begin()?;
            let heard = turn.as_ref().and_then(|turn| turn.watch.as_ref()).map(crate::wakeups::Watch::epoch);
            let sent = shared.clock.now();
            let within = self.client.answer_within.min(self.patience.left(sent));
            if let Some(word) = turn.as_mut().and_then(|turn| turn.word.take()) {
                // Whoever had the turn before us got the lock and left us in the store's line.
                let Word { heard, holder } = *word;
                self.say_waiting(&armed.claim, &holder.0);
                self.holder = Some(holder);
                if !Box::pin(self.until_called(turn.as_mut(), Some(heard))).await {
                    return self.not_obtained();
                }
                continue;
            }
            let stay = match (self.patience, &self.holder) {
                _ if turn.is_none() => Stay::No,
                (_, None) => Stay::Waits,
                (_, Some(_)) => Stay::Waited {
                    more: self.under.is_empty() && heard.is_some() && turn.as_ref().is_some_and(Turn::is_wanted),
                },
            };
            match armed.ask(stay, within).await {
                Ok(Outcome::Granted(grant)) => {
                    shared.heard_from_store();
                    // The client may have been closed meanwhile: nobody would look after the lock.
                    shared.begin()?;
                    if shared.clock.now() < deadline(sent, self.options.span()) {
                        if let (Stay::Waited { more: true }, Some(turn), Some(heard)) = (stay, &mut turn, heard) {
                            let holder = (self.ourselves(&armed.claim, grant), sent);
                            turn.word = Some(Box::new(Word { heard, holder }));
                        }
                        return Ok(Ok(armed.into_guard(grant.token, self.options, self.owner.take(), sent)));
                    }
                    // Granted, but so late that the lease is over: it never was ours to use.
                    if matches!(self.patience, Patience::Once) {
                        let slow = StoreError::new(
                            StoreErrorKind::Unreachable,
                            "the store answers later than the lease lasts",
                        );
                        return Err(Error::from_store(Some(self.key), slow));
                    }
                    let fresh = Armed::new(self.client, (self.kind, self.key), &self.under, self.options.span());
                    drop(std::mem::replace(&mut armed, fresh));
                    continue;
                }
                Ok(Outcome::Busy(holder)) if self.kind != Kind::Reentrant && self.under.contains(&holder.claim) => {
                    return Err(own(self.key, self.kind));
                }
                Ok(Outcome::Busy(holder)) => {
                    failures = 0;
                    shared.heard_from_store();
                    self.silence = None;
                    self.say_waiting(&armed.claim, &holder);
                    self.holder = Some((holder, shared.clock.now()));
                }
                Ok(other) => return Err(self.turned_down(&other)),
                Err(error) if !error.is_transient() => return Err(Error::from_store(Some(self.key), error)),
                Err(error) => {
                    failures += 1;
                    // One attempt is one answer: a connection that was found dead at once gets another chance.
                    let at_once = failures == 1 && shared.clock.now().since(sent) < within / 2;
                    let again = matches!(self.patience, Patience::Once) && at_once;
                    // A last attempt that had no time left to be answered says nothing of the store.
                    let hasty = self.holder.is_some() && within < self.client.answer_within;
                    if hasty && self.is_out_of_patience() {
                        return self.not_obtained();
                    }
                    if !again && self.is_out_of_patience() {
                        return Err(Error::from_store(Some(self.key), error));
                    }
                    self.silence = Some(error);
                    if again {
                        continue;
                    }
                }
            }
            if matches!(self.patience, Patience::Once) {
                return self.not_obtained();
            }
            let span = tracing::info_span!("tenure.wait", key = %self.key);
            let waiting = async {
                if let Some(pauses) = &mut pauses {
                    match pauses.next() {
                        Some(pause) => self.pause(pause).await,
                        None => false,
                    }
                } else if failures > 0 {
                    let pause = Duration::from_millis(20 << failures.min(5)).mul_f64(0.5 + fastrand::f64() / 2.0);
                    self.pause(pause).await
                } else {
                    self.until_called(turn.as_mut(), heard).await
                }
            };
            if !Box::pin(waiting.instrument(span)).await {
                return self.not_obtained();
            }
        }
    }

    /// An answer that is neither a grant nor a reason to wait.
    fn turned_down(&self, outcome: &Outcome) -> Error {
        let error = match outcome {
            Outcome::Conflict(held) => Error::new(
                crate::ErrorKind::Conflict,
                format!(
                    "the key is held as another kind of lock, use that kind or another key: asked for={} held as={held}",
                    self.kind
                ),
            ),
            other => Error::new(
                crate::ErrorKind::Unexpected,
                format!("the store gave an answer that makes no sense to an acquire: {other:?}"),
            ),
        };
        error.about(self.key)
    }

    /// Says once that we wait.
    fn say_waiting(&mut self, claim: &Claim, holder: &Holder) {
        if self.waiting.is_none() && !matches!(self.patience, Patience::Once) {
            self.waiting = Some(claim.clone());
            self.client.shared.say_of(self.key, claim, || What::Waiting { holder: holder.clone() });
        }
    }

    /// A hold of our own as the next in line would have seen it.
    fn ourselves(&self, claim: &Claim, grant: Grant) -> Holder {
        Holder {
            claim: claim.clone(),
            count: grant.count,
            token: Some(grant.token),
            remaining: Some(self.options.span()),
            held_for: Some(Duration::ZERO),
        }
    }

    /// Waits until the lock may be free. False if the patience ended first.
    async fn until_called(&self, turn: Option<&mut Turn>, heard: Option<u64>) -> bool {
        let shared = &self.client.shared;
        let remaining = self.holder.as_ref().and_then(|(holder, _)| holder.remaining);
        // The lease is counted in whole milliseconds: one more makes sure that it is over.
        let poll = remaining.map_or(SAFETY_POLL, |left| (left + Duration::from_millis(1)).clamp(BREATH, SAFETY_POLL));
        let look_again = shared.clock.now().plus(poll);
        let Some(turn) = turn else { return self.pause(poll).await };
        let watch = turn.watch.get_or_insert_with(|| self.client.hub.watch(self.key));
        let called = async {
            match heard {
                // We could already hear when we asked: nothing was missed.
                Some(heard) if watch.is_live() => watch.changed(heard).await,
                // The lock may have been released between our asking and our listening: ask again as soon as we hear.
                _ => watch.live().await,
            }
        };
        tokio::select! {
            () = called => true,
            () = shared.clock.sleep_until(look_again) => true,
            () = self.give_up() => false,
        }
    }

    /// Waits a while. False if the patience ended first.
    async fn pause(&self, pause: Duration) -> bool {
        let clock = &self.client.shared.clock;
        let end = clock.now().plus(pause);
        tokio::select! {
            () = clock.sleep_until(end) => true,
            () = self.give_up() => false,
        }
    }

    /// Until the patience ends, or the client is closed.
    async fn give_up(&self) {
        let shared = &self.client.shared;
        let patience = async {
            match self.patience {
                Patience::Until(end) => shared.clock.sleep_until(end).await,
                Patience::Once | Patience::Endless => std::future::pending().await,
            }
        };
        tokio::select! {
            () = patience => {}
            () = shared.closing.cancelled() => {}
        }
    }

    /// Whether the store has been silent for long enough.
    ///
    /// A bounded wait rides out an outage until its bound. An endless one rides it out for ever once the store has
    /// answered, but fails if it never did: a service should hear at start-up that its store is down.
    fn is_out_of_patience(&self) -> bool {
        let shared = &self.client.shared;
        let now = shared.clock.now();
        match self.patience {
            Patience::Once => true,
            Patience::Until(end) => now >= end,
            Patience::Endless => !shared.was_heard_from() && now.since(self.began) >= self.client.first_answer_within,
        }
    }

    /// The patience ended: with a busy lock, or with a silent store.
    fn not_obtained(&mut self) -> Result<Result<Guard, Busy>, Error> {
        // Or the client was closed.
        self.client.shared.begin()?;
        match self.silence.take() {
            Some(error) => Err(Error::from_store(Some(self.key), error)),
            None => Ok(Err(self.busy())),
        }
    }

    fn busy(&self) -> Busy {
        let now = self.client.shared.clock.now();
        let holder = self.holder.clone().map(|(holder, seen)| Holder {
            held_for: holder.held_for.map(|held| held + now.since(seen)),
            remaining: holder.remaining.map(|left| left.saturating_sub(now.since(seen))),
            ..holder
        });
        Busy { holder, waited: now.since(self.began) }
    }
}

impl Drop for Attempt<'_> {
    /// Whoever was told that we wait is told that we do no longer, also when we were cancelled.
    fn drop(&mut self) {
        if let Some(claim) = &self.waiting {
            let (waited, obtained) = (self.client.shared.clock.now().since(self.began), self.obtained);
            self.client.shared.say_of(self.key, claim, || What::Waited { waited, obtained });
        }
    }
}

/// A claim that undoes itself: armed before the first byte is sent, disarmed when a guard takes over.
struct Armed<'a> {
    client: &'a Arc<Inner>,
    kind: Kind,
    key: &'a Key,
    under: Vec<Claim>,
    lease: Duration,
    claim: Claim,
    /// A request is under way.
    asking: bool,
    /// The store has granted the claim.
    granted: bool,
    /// An earlier request was never answered and might still arrive.
    ghost: bool,
}

impl<'a> Armed<'a> {
    fn new(client: &'a Arc<Inner>, (kind, key): (Kind, &'a Key), under: &[Claim], lease: Duration) -> Self {
        let claim = client.shared.fresh_claim(!under.is_empty());
        Self { client, kind, key, under: under.to_vec(), lease, claim, asking: false, granted: false, ghost: false }
    }

    async fn ask(&mut self, stay: Stay, within: Duration) -> Result<Outcome, StoreError> {
        let (claim, under) = (self.claim.clone(), self.under.clone());
        let operation = Operation::Acquire { claim, under, lease: self.lease, stay };
        self.asking = true;
        let answer = self.client.shared.backend.apply(self.kind, self.key, &operation, within).await;
        self.asking = false;
        match &answer {
            Ok(Outcome::Granted(_)) => self.granted = true,
            Err(error) if error.kind == StoreErrorKind::Unanswered => self.ghost = true,
            _ => {}
        }
        answer
    }

    fn into_guard(mut self, token: u64, options: &Options, owner: Option<Owner>, sent: Moment) -> Guard {
        let granted = Granted {
            kind: self.kind,
            key: self.key.clone(),
            claim: self.claim.clone(),
            under: std::mem::take(&mut self.under),
            owner,
            ghost: self.ghost,
        };
        let hold = Arc::new(Hold::new(granted, token, terms(options), sent));
        self.granted = false;
        self.ghost = false;
        Guard::of_new_hold(self.client, hold, sent)
    }
}

impl Drop for Armed<'_> {
    fn drop(&mut self) {
        if self.asking || self.granted || self.ghost {
            self.client.shared.later(Chore::Cancel {
                kind: self.kind,
                key: self.key.clone(),
                claim: self.claim.clone(),
                lease: self.lease,
            });
        }
    }
}

fn terms(options: &Options) -> Terms {
    Terms {
        lease: options.span(),
        renew_every: options.renewal(),
        warn_after: options.warn_after,
        max_hold: options.max_hold,
        at_least: options.at_least,
    }
}

/// Goes in once more under a hold. None if the hold is over.
pub(crate) async fn reenter(
    client: &Arc<Inner>,
    hold: &Arc<Hold>,
    options: &Options,
    patience: Patience,
) -> Result<Option<Guard>, Error> {
    let shared = &client.shared;
    let now = shared.clock.now();
    let Some(entry) = hold.prepare_entry(terms(options), now) else { return Ok(None) };
    let mut entering = Entering { client, hold, entry, sent: false, armed: true };
    loop {
        let sent = shared.clock.now();
        let Some(Tally { entries: count, change, .. }) = hold.tally(sent) else { return Ok(None) };
        let claim = hold.claim.clone();
        let operation = Operation::Reenter { claim, entry, count, change, lease: options.span() };
        if !entering.sent {
            hold.asks();
        }
        entering.sent = true;
        let within = client.answer_within.min(patience.left(sent));
        match shared.backend.apply(hold.kind, &hold.key, &operation, within).await {
            Ok(Outcome::Granted(_)) => {
                hold.answered();
                hold.confirm_entry(entry, sent);
                shared.agenda.move_to(hold, hold.next_look());
                if matches!(hold.standing(entry, shared.clock.now()), Standing::Lost(_)) {
                    // Let in so late that it is over already. If the hold is over too, the caller waits for the lock;
                    // if not, it would wait for itself.
                    if !hold.is_live(shared.clock.now()) {
                        return Ok(None);
                    }
                    let slow =
                        StoreError::new(StoreErrorKind::Unreachable, "the store answers later than the lease lasts");
                    return Err(Error::from_store(Some(&hold.key), slow));
                }
                entering.armed = false;
                return Ok(Some(Guard::of_entry(client, Arc::clone(hold), entry)));
            }
            Ok(_) => {
                hold.answered();
                entering.sent = false;
                crate::watchdog::lose(shared, hold, crate::Loss::Gone);
                return Ok(None);
            }
            Err(error)
                if error.is_transient()
                    && hold.is_live(shared.clock.now())
                    && !patience.is_over(shared.clock.now()) =>
            {
                shared.clock.sleep_until(sent.plus(Duration::from_millis(50))).await;
            }
            Err(error) => return Err(Error::from_store(Some(&hold.key), error)),
        }
    }
}

/// A re-entry that undoes itself unless a guard takes over.
struct Entering<'a> {
    client: &'a Arc<Inner>,
    hold: &'a Arc<Hold>,
    entry: u32,
    sent: bool,
    armed: bool,
}

impl Drop for Entering<'_> {
    fn drop(&mut self) {
        if !self.armed {
            return;
        }
        let shared = &self.client.shared;
        match self.hold.leave(self.entry, shared.clock.now(), self.sent) {
            Left::Well(leaving) | Left::Lost(_, Some(leaving)) => shared.leave_later(self.hold, leaving),
            Left::Lost(_, None) => {}
        }
    }
}
