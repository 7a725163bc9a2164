//! The one way in: ask, wait to be called, ask again, and leave nothing behind on the way out.

mod again;
mod armed;
mod at_once;
mod reenter;
mod seat;
mod wait;
mod way;

pub(crate) use at_once::{AtOnce, at_once};
pub(crate) use reenter::reenter;
pub(crate) use seat::{Seat, Seats};
pub(crate) use wait::Wait;

use self::again::{Again, Schedule};
use self::armed::Armed;
use self::way::{Heard, Way};
use crate::entry::{Terms, deadline};
use crate::event::WaitEnd;
use crate::guard::Guard;
use crate::hold::Hold;
use crate::inner::Inner;
use crate::queue::Word;
use crate::scope;
use crate::{Error, Moment, Options, Owner, StoreError, StoreErrorKind};
use std::sync::Arc;
use std::time::Duration;
use tenure_kernel::{Busy, Claim, Grant, Holder, Key, Kind, Outcome, Stay, Vote, Waiter, Want};
use tracing::Instrument;

/// How often a single attempt is made again if the votes of several servers were split.
const SPLITS: u32 = 5;

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
    /// What the options say, from now on.
    pub(crate) fn of(options: &Options, now: Moment) -> Self {
        options.wait.map_or(Self::Endless, |wait| Self::within(wait, now))
    }

    /// For so long, from now on. A wait of nothing is one attempt, which has as long to be answered as any.
    pub(crate) fn within(wait: Duration, now: Moment) -> Self {
        if wait.is_zero() { Self::Once } else { Self::Until(now.plus(wait)) }
    }

    /// Until it ends, or the client is closed.
    pub(crate) async fn end(self, shared: &crate::shared::Shared) {
        let over = async {
            match self {
                Self::Until(end) => shared.clock.sleep_until(end).await,
                Self::Once | Self::Endless => std::future::pending().await,
            }
        };
        tokio::select! {
            () = over => {}
            () = shared.closing.cancelled() => {}
        }
    }

    pub(crate) fn is_over(self, now: Moment) -> bool {
        match self {
            Self::Once => true,
            Self::Until(end) => now >= end,
            Self::Endless => false,
        }
    }

    /// Whether a store that is silent has been so for long enough, to one who came at this moment.
    ///
    /// A bounded wait rides out an outage until its bound. An endless one rides it out for ever once the store has
    /// answered, but fails if it never did: a service should hear at start-up that its store is down.
    pub(crate) fn is_worn_out(self, client: &Inner, began: Moment) -> bool {
        let now = client.shared.clock.now();
        match self {
            Self::Endless => !client.shared.was_heard_from() && now.since(began) >= client.first_answer_within,
            Self::Once | Self::Until(_) => self.is_over(now),
        }
    }

    pub(crate) fn left(self, now: Moment) -> Duration {
        match self {
            Self::Until(end) => end.since(now),
            Self::Once | Self::Endless => Duration::MAX,
        }
    }
}

/// Not obtained, and who has it.
pub(crate) struct Contended {
    pub(crate) holder: Option<Holder>,
    pub(crate) waited: Duration,
    /// What each of several servers said of it.
    pub(crate) votes: Vec<Vote>,
}

/// One caller's way to one lock.
struct Attempt<'a> {
    client: &'a Arc<Inner>,
    kind: Kind,
    key: &'a Key,
    options: &'a Options,
    whose: Whose,
    /// The claims to stand under.
    under: Vec<Claim>,
    /// Of a semaphore.
    demand: Option<Demand>,
    patience: Patience,
    began: Moment,
    /// What was last seen in the way, and when that was.
    busy: Option<(Busy, Moment)>,
    wait: Wait<'a>,
    /// Why the store's last answer is missing, if it is.
    silence: Option<StoreError>,
}

/// Whose a hold is to be.
#[derive(Debug, Clone)]
pub(crate) struct Whose {
    pub(crate) owner: Option<Owner>,
    /// Whether a section asks for it: then others of the owner's go in again only from inside it.
    pub(crate) section: bool,
}

impl Whose {
    /// What the options say.
    pub(crate) fn of(options: &Options) -> Result<Self, Error> {
        Ok(Self { owner: options.resolve_owner()?, section: false })
    }
}

/// Whom a lock is asked for.
pub(crate) struct Asker {
    pub(crate) whose: Whose,
    /// The claims to stand under.
    pub(crate) under: Vec<Claim>,
    /// Which permits of a semaphore; none, if it is a lock that is asked for.
    pub(crate) demand: Option<Demand>,
}

/// Permits that are asked for.
#[derive(Debug, Clone)]
pub(crate) struct Demand {
    pub(crate) want: Want,
    /// How many there are, should nobody have said so yet.
    pub(crate) of: Option<u32>,
}

/// Obtains the lock, or says who has it. An owner that holds it already goes in again.
pub(crate) async fn acquire(
    client: &Arc<Inner>,
    (kind, key): (Kind, &Key),
    options: &Options,
    patience: impl FnOnce(Moment) -> Patience,
) -> Result<Result<Guard, Contended>, Error> {
    client.check(options)?;
    let patience = patience(client.shared.clock.now());
    acquire_for(client, (kind, key), options, patience, Whose::of(options)?).await
}

/// Obtains the lock for this one, or says who has it.
pub(crate) async fn acquire_for(
    client: &Arc<Inner>,
    (kind, key): (Kind, &Key),
    options: &Options,
    patience: Patience,
    whose: Whose,
) -> Result<Result<Guard, Contended>, Error> {
    let _attempt = client.shared.attempt()?;
    let began = client.shared.clock.now();
    let mut under = options.lineage()?;
    let mut seat = None;
    if let Some(owner) = &whose.owner {
        let mut held = held(client, key, owner);
        if whose.section && !held.is_empty() {
            refuse_own((kind, key), &held, began)?;
            let seats = client.seats(key, owner);
            match Box::pin(seat::take(client, &seats, (kind, key), options, patience, owner)).await? {
                Ok(taken) => seat = Some(taken),
                Err(contended) => return Ok(Err(contended)),
            }
            // Whoever had the seat before may have been long, and this may be over.
            held = self::held(client, key, owner);
        }
        let now = client.shared.clock.now();
        refuse_own((kind, key), &held, now)?;
        // The outermost may be over, and one inside of it not.
        for hold in held.iter().filter(|hold| is_same(kind, hold) && hold.is_live(now)) {
            if let Some(guard) = Box::pin(reenter(client, hold, options, patience)).await? {
                return Ok(Ok(guard.on(seat)));
            }
        }
        // On the other side of a read-write lock it goes in under all that it holds, or it would wait for itself.
        let now = client.shared.clock.now();
        let other_side = held.iter().filter(|hold| kind.is_side() && hold.kind != kind && hold.is_live(now));
        under.extend(other_side.flat_map(|hold| hold.lineage().cloned()));
    }
    let obtained = obtain(client, (kind, key), options, patience, Asker { whose, under, demand: None }).await?;
    Ok(obtained.map(|guard| guard.on(seat)))
}

/// What an owner holds of a lock, outermost first. Nobody goes into what a section of the same owner holds without being inside of
/// it: they are branches of one task, and exclude each other.
fn held(client: &Inner, key: &Key, owner: &Owner) -> Vec<Arc<Hold>> {
    let mut held = scope::enclosing(client, key, owner);
    for hold in client.owned(key, owner) {
        let known = held.iter().any(|known| Arc::ptr_eq(known, &hold));
        if !known && !hold.is_of_section() {
            held.push(hold);
        }
    }
    held
}

/// Whether one who wants a lock of this kind goes in again under the hold.
fn is_same(kind: Kind, hold: &Hold) -> bool {
    hold.kind == kind && kind.is_reentrant()
}

/// Refuses one who would wait for itself: what it holds it can neither go into again nor stand under.
fn refuse_own((kind, key): (Kind, &Key), held: &[Arc<Hold>], now: Moment) -> Result<(), Error> {
    if held.iter().any(|hold| is_same(kind, hold) && hold.is_live(now)) {
        return Ok(());
    }
    let in_the_way = |hold: &&Arc<Hold>| hold.is_live(now) && !(kind.is_side() && hold.kind.is_side());
    held.iter().find(in_the_way).map_or(Ok(()), |hold| Err(own(key, hold.kind)))
}

/// Obtains the lock for this asker, or says who has it.
pub(crate) async fn obtain(
    client: &Arc<Inner>,
    (kind, key): (Kind, &Key),
    options: &Options,
    patience: Patience,
    Asker { whose, under, demand }: Asker,
) -> Result<Result<Guard, Contended>, Error> {
    let began = client.shared.clock.now();
    let wait = Wait::new(client, (kind, key), options, whose.owner.as_ref(), began);
    let (busy, silence) = (None, None);
    let mut attempt =
        Attempt { client, kind, key, options, whose, under, demand, patience, began, busy, wait, silence };
    let outcome = attempt.run().await;
    attempt.wait.ends(WaitEnd::of(&outcome));
    outcome
}

/// The asker holds the lock already, and would wait for itself.
pub(crate) fn own(key: &Key, kind: Kind) -> Error {
    Error::new(
        crate::ErrorKind::Conflict,
        format!(
            "already held by the one who asks, who would wait for itself: pass the guard on, or use the re-entrant lock \
             throughout: kind={kind}"
        ),
    )
    .about(key)
}

impl<'a> Attempt<'a> {
    async fn run(&mut self) -> Result<Result<Guard, Contended>, Error> {
        let armed = self.arm();
        if self.client.shared.is_behind(self.key) && !Box::pin(self.catch_up(&armed.claim)).await {
            return self.not_obtained();
        }
        if self.kind.has_line() {
            return self.ask_until_answered(armed, Way::line(self.polls())).await;
        }
        if matches!(self.patience, Patience::Once) || self.polls() {
            return self.ask_until_answered(armed, Way::Alone).await;
        }
        // Of this client's tasks, one at a time speaks to the store.
        let turn = match self.client.queue.enter(self.kind, self.key) {
            Ok(turn) => turn,
            Err(mut ticket) => {
                self.wait.begin(&armed.claim, None);
                let span = tracing::info_span!("tenure.wait", key = %self.key);
                let called = async {
                    tokio::select! {
                        turn = ticket.called() => turn,
                        () = self.give_up() => None,
                    }
                };
                let called = self.wait.endure(called);
                match Box::pin(called.instrument(span)).await {
                    Some(turn) => turn,
                    None => return self.not_obtained(),
                }
            }
        };
        self.ask_until_answered(armed, Way::Turn(turn)).await
    }

    /// Who polls asks for itself, when it said it would: it neither hears a call nor keeps others from hearing one.
    fn polls(&self) -> bool {
        self.options.retry.is_some()
    }

    /// Whether one attempt is made once more: nobody has the lock, and those who asked for it at the same moment have kept each
    /// other out.
    fn was_split(&self) -> bool {
        let nobody = self.busy.as_ref().is_some_and(|(busy, _)| busy.holder.is_none());
        nobody && self.silence.is_none() && self.client.shared.backend.asks_anew()
    }

    /// Asks until the store grants the lock or the patience ends.
    async fn ask_until_answered(
        &mut self,
        mut armed: Armed<'a>,
        mut way: Way,
    ) -> Result<Result<Guard, Contended>, Error> {
        let shared = &self.client.shared;
        let mut schedule = Schedule::new(self.options.retry);
        let (mut failures, mut splits) = (0u32, 0u32);
        loop {
            // The client may have been closed while we waited.
            shared.begin()?;
            let again = schedule.next();
            let heard = way.listen(self.client, &armed.claim);
            let sent = shared.clock.now();
            let within = self.client.answer_within.min(self.patience.left(sent));
            if let Some(word) = way.word() {
                // Whoever had the turn before us got the lock and left us in the store's line.
                let Word { heard, holder } = *word;
                self.seen_off(&armed.claim, Busy::behind(holder.0), holder.1);
                let called = self.until_called(&mut way, Heard::all(heard));
                if !Box::pin(self.wait.endure(called)).await {
                    return self.not_obtained();
                }
                continue;
            }
            let stay = self.stay(&way, heard, again);
            match armed.ask(stay, within).await {
                Ok(Outcome::Granted(grant)) => {
                    // The client may have been closed meanwhile: nobody would look after the lock.
                    shared.begin()?;
                    if shared.clock.now() < deadline(sent, self.options.span()) {
                        if let (Stay::Waited { more: true }, Way::Turn(turn), Some(heard)) = (stay, &mut way, heard.all)
                        {
                            let holder = (self.ourselves(&armed.claim, grant), sent);
                            turn.word = Some(Box::new(Word { heard, holder }));
                        }
                        return Ok(Ok(armed.into_guard(grant.token, self.options, self.whose.clone(), sent)));
                    }
                    // Granted, but so late that the lease is over: it never was ours to use.
                    // Permits with names are not asked for again by the same names, which are being given back.
                    if matches!(self.patience, Patience::Once) || self.kind == Kind::Permits {
                        let slow = StoreError::new(
                            StoreErrorKind::Unreachable,
                            "the store answers later than the lease lasts",
                        );
                        return Err(Error::from_store(Some(self.key), slow));
                    }
                    drop(std::mem::replace(&mut armed, self.arm()));
                    continue;
                }
                Ok(Outcome::Busy(Busy { holder: Some(holder), .. }))
                    if !self.kind.is_reentrant() && self.under.contains(&holder.claim) =>
                {
                    return Err(own(self.key, self.kind));
                }
                Ok(Outcome::Busy(busy)) => {
                    failures = 0;
                    self.silence = None;
                    self.seen_off(&armed.claim, busy, shared.clock.now());
                    self.ask_anew(&mut armed);
                }
                Ok(Outcome::Short(permits)) => return Err(self.short(permits)),
                Ok(other) => return Err(turned_down((self.kind, self.key), &other)),
                Err(error) if !error.is_transient() => return Err(Error::from_store(Some(self.key), error)),
                Err(error) => {
                    failures += 1;
                    self.unanswered(&armed.claim);
                    // One attempt is one answer: a connection that was found dead at once gets another chance.
                    let at_once = failures == 1 && shared.clock.now().since(sent) < within / 2;
                    let again = matches!(self.patience, Patience::Once) && at_once;
                    // A last attempt that had no time left to be answered says nothing of a lock that is known to be busy.
                    let hasty = within < self.client.answer_within && shared.busy.was_seen_since(self.key, self.began);
                    if hasty && self.patience.is_worn_out(self.client, self.began) {
                        return self.not_obtained();
                    }
                    if !again && self.patience.is_worn_out(self.client, self.began) {
                        // Nor has it more to say than one that had.
                        let told = if within < self.client.answer_within { self.silence.take() } else { None };
                        return Err(Error::from_store(Some(self.key), told.unwrap_or(error)));
                    }
                    self.silence = Some(error);
                    self.ask_anew(&mut armed);
                    if again {
                        continue;
                    }
                }
            }
            if matches!(self.patience, Patience::Once) {
                if splits < SPLITS && self.was_split() {
                    splits += 1;
                    // Boxed, as all that is rare.
                    Box::pin(self.pause(Duration::from_millis(fastrand::u64(1..=20)))).await;
                    continue;
                }
                return self.not_obtained();
            }
            let span = tracing::info_span!("tenure.wait", key = %self.key);
            let waiting = async {
                match again {
                    Again::After(pause) => self.pause(schedule.begin(pause, &way)).await,
                    Again::Never => false,
                    Again::WhenCalled if failures > 0 => {
                        let pause = Duration::from_millis(20 << failures.min(5)).mul_f64(0.5 + fastrand::f64() / 2.0);
                        self.pause(pause).await
                    }
                    Again::WhenCalled => self.until_called(&mut way, heard).await,
                }
            };
            if !Box::pin(self.wait.endure(waiting).instrument(span)).await {
                return self.not_obtained();
            }
        }
    }

    /// With a fresh claim, where one that was not granted is never asked for again.
    fn ask_anew(&mut self, armed: &mut Armed<'a>) {
        if self.client.shared.backend.asks_anew() {
            *armed = self.arm();
        }
    }

    /// A fresh claim.
    fn arm(&self) -> Armed<'a> {
        Armed::new(self.client, (self.kind, self.key), &self.under, self.options.span()).demanding(self.demand.clone())
    }

    /// Whether, and how, the asker stays if the lock is busy.
    fn stay(&self, way: &Way, heard: Heard, again: Again) -> Stay {
        match (way, &self.busy) {
            (Way::Alone, _) => Stay::No,
            (Way::Line { .. }, _) if matches!(self.patience, Patience::Once) => Stay::No,
            (Way::Line { .. }, _) if matches!(again, Again::Never) => Stay::No,
            (Way::Line { .. }, _) => Stay::InLine { place: Waiter::PLACE },
            (Way::Turn(_), None) => Stay::Waits,
            (Way::Turn(turn), Some(_)) => {
                // Whoever comes next to a semaphore has to ask all the same: there may be more permits.
                let alone = self.under.is_empty() && !self.kind.has_permits();
                Stay::Waited { more: alone && heard.all.is_some() && turn.is_wanted() }
            }
        }
    }

    /// There are only so many permits.
    fn short(&self, permits: i64) -> Error {
        let asked = self.demand.as_ref().map_or(1, |demand| demand.want.count());
        Error::new(
            crate::ErrorKind::Conflict,
            format!(
                "more permits are asked for than there are, ask for fewer or add some: asked for={asked} \
                 permits={permits}"
            ),
        )
        .about(self.key)
    }

    /// The store is silent: who waits for that says so once.
    fn unanswered(&mut self, claim: &Claim) {
        if !matches!(self.patience, Patience::Once) {
            self.wait.begin(claim, None);
        }
    }

    /// Not now: says so once, and remembers why.
    fn seen_off(&mut self, claim: &Claim, busy: Busy, seen: Moment) {
        if let Some(place) = &self.options.place {
            place.behind(busy.ahead);
        }
        if !matches!(self.patience, Patience::Once) {
            self.wait.begin(claim, Some(&busy));
        }
        self.client.shared.busy.saw(self.key, busy.holder.as_ref(), seen);
        // Not every answer says what each server said; the last that did is told.
        let votes = self.busy.take().map_or_else(Vec::new, |(busy, _)| busy.votes);
        let votes = if busy.votes.is_empty() { votes } else { busy.votes };
        self.busy = Some((Busy { votes, ..busy }, seen));
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
    async fn until_called(&self, way: &mut Way, heard: Heard) -> bool {
        let shared = &self.client.shared;
        let poll = way::poll(self.busy.as_ref().map(|(busy, _)| busy));
        let look_again = shared.clock.now().plus(poll);
        let called = way.called(self.client, (self.kind, self.key), self.busy.as_ref().map(|(busy, _)| busy), heard);
        tokio::select! {
            () = called => true,
            () = shared.clock.sleep_until(look_again) => true,
            () = self.give_up() => false,
        }
    }

    /// Waits until the store knows what this client has given up. False if the patience ended first.
    async fn catch_up(&mut self, claim: &Claim) -> bool {
        let client = self.client;
        let last = self.began.plus(client.answer_within);
        self.silence = Some(StoreError::new(
            StoreErrorKind::Unreachable,
            "this client gives up or drops locks faster than the store can be told, wait for longer or ask less often",
        ));
        if !matches!(self.patience, Patience::Once) {
            self.wait.begin(claim, None);
        }
        while client.shared.is_behind(self.key) {
            let over = match self.patience {
                Patience::Once => client.shared.clock.now() >= last,
                patience => patience.is_worn_out(client, self.began),
            };
            let pause = self.pause(Duration::from_millis(fastrand::u64(10..=30)));
            if over || !self.wait.endure(pause).await {
                return false;
            }
        }
        self.silence = None;
        true
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
        self.patience.end(&self.client.shared).await;
    }

    /// The patience ended: with a busy lock, or with a silent store.
    fn not_obtained(&mut self) -> Result<Result<Guard, Contended>, Error> {
        // Or the client was closed.
        self.client.shared.begin()?;
        match self.silence.take() {
            Some(error) => Err(Error::from_store(Some(self.key), error)),
            None => Ok(Err(self.contended())),
        }
    }

    fn contended(&self) -> Contended {
        let now = self.client.shared.clock.now();
        let busy = self.busy.as_ref().and_then(|(busy, seen)| busy.holder.clone().map(|holder| (holder, *seen)));
        let holder = busy.map(|(holder, seen)| Holder {
            held_for: holder.held_for.map(|held| held + now.since(seen)),
            remaining: holder.remaining.map(|left| left.saturating_sub(now.since(seen))),
            ..holder
        });
        let votes = self.busy.as_ref().map(|(busy, _)| busy.votes.clone()).unwrap_or_default();
        Contended { holder, waited: now.since(self.began), votes }
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        if let Some(place) = self.options.place.as_ref().filter(|_| self.client.shared.origin.is_here()) {
            place.behind(None);
        }
    }
}

/// An answer that is neither a grant nor a reason to wait.
fn turned_down((kind, key): (Kind, &Key), outcome: &Outcome) -> Error {
    let error = match outcome {
        Outcome::Conflict(held) => Error::new(
            crate::ErrorKind::Conflict,
            format!(
                "the key is held as another kind of lock, use that kind or another key: asked for={kind} held as={held}"
            ),
        ),
        Outcome::Deadlock(rival) => Error::new(
            crate::ErrorKind::Conflict,
            format!(
                "another reader waits to write and for this one to leave, so that neither would ever get in: \
                 release this read lock and ask to write anew: the other is={rival}"
            ),
        ),
        other => Error::new(
            crate::ErrorKind::Unexpected,
            format!("the store gave an answer that makes no sense to an acquire: {other:?}"),
        ),
    };
    error.about(key)
}

pub(crate) fn terms(options: &Options) -> Terms {
    Terms {
        lease: options.span(),
        renew_every: options.renewal(),
        warn_after: options.warn_after,
        warn_waiting_after: options.warn_waiting_after,
        max_hold: options.max_hold,
        at_least: options.at_least,
    }
}
