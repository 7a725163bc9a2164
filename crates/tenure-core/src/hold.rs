//! One claim that holds a lock, and the entries (guards) that live under it. All its state is in one place, under one
//! mutex that is never held across an await.

mod state;

use self::state::{Phase, State};
use crate::agenda::Slot;
use crate::alive::Living;
use crate::entry::{Entry, Terms, deadline};
use crate::event::Loss;
use crate::origin::Origin;
use crate::shared::Shared;
use crate::{Clock, Error, Moment, Owner};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tenure_kernel::{Cancelled, Claim, FIRST_ENTRY, Key, Kind, Token};
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// What was granted, to whom.
pub(crate) struct Granted {
    pub(crate) kind: Kind,
    pub(crate) key: Key,
    pub(crate) claim: Claim,
    pub(crate) living: Arc<Living>,
    pub(crate) under: Vec<Claim>,
    pub(crate) owner: Option<Owner>,
    /// It was asked for by a section: only what is inside it may go in again.
    pub(crate) section: bool,
    /// An earlier request for it is still unanswered.
    pub(crate) ghost: bool,
}

/// One claim that holds a lock.
pub(crate) struct Hold {
    pub(crate) kind: Kind,
    pub(crate) key: Key,
    pub(crate) claim: Claim,
    /// As long as there is a hold, its claim is asked for.
    living: Arc<Living>,
    /// The claims it stands under, outermost first.
    pub(crate) under: Vec<Claim>,
    /// Unique in the process, to find it by.
    pub(crate) number: u64,
    pub(crate) token: Token,
    pub(crate) owner: Option<Owner>,
    /// Whether a section began it.
    pub(crate) section: bool,
    /// Elsewhere, in the child of a fork, it is lost.
    pub(crate) origin: Origin,
    state: Mutex<State>,
    /// Tells everyone who waits for a loss to look again; rung by [`signal`](Hold::signal).
    changed: Notify,
}

/// How a guard stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Standing {
    /// The lease runs and is being renewed, or is not to be.
    Held,
    /// A renewal failed; the lease still runs.
    Jeopardy,
    /// The lease ended while the guard lived.
    Lost(Loss),
}

/// What leaving means for the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Leaving {
    /// How often the claim stays in.
    pub(crate) left: u32,
    /// How long what stays must last.
    pub(crate) lease: Duration,
    /// Until when the lock is to stay taken, if nobody stays.
    pub(crate) keep_until: Option<Moment>,
    /// An entry to refuse if it arrives late.
    pub(crate) cancel: Option<GivenUp>,
}

/// An entry that was given up before its answer was known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GivenUp {
    pub(crate) entry: u32,
    /// For which lease it was asked.
    pub(crate) lease: Duration,
}

impl Leaving {
    /// How long the lock is to stay taken, if nobody stays.
    pub(crate) fn keep(&self, now: Moment) -> Duration {
        self.keep_until.map_or(Duration::ZERO, |until| until.since(now))
    }
}

/// How often a claim is in, as the store is to be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) entries: u32,
    /// Rises with every telling, so that the latest counts, whichever arrives last.
    pub(crate) change: u32,
    /// How long it must last.
    pub(crate) lease: Duration,
}

/// How an entry left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    /// While it was valid; the store is to be told.
    Well(Leaving),
    /// Too late; if others are still in, the store is to be told.
    Lost(Loss, Option<Leaving>),
}

/// What is due for a hold.
#[derive(Debug, Default)]
pub(crate) struct Due {
    /// The hold, or an entry of it, was lost just now.
    pub(crate) lost: Option<Loss>,
    /// The lock is no longer wanted but the store may keep it for a while: leave.
    pub(crate) leave: Option<Leaving>,
    /// These have been in for too long: held time and lease.
    pub(crate) too_long: Vec<(Duration, Duration)>,
    /// Renew it for this long.
    pub(crate) renew: Option<Duration>,
    /// When to look again.
    pub(crate) next: Option<Moment>,
}

impl Hold {
    pub(crate) fn new(granted: Granted, token: Token, terms: Terms, sent: Moment) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let Granted { kind, key, claim, living, under, owner, section, ghost } = granted;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let deadline = deadline(sent, terms.lease);
        let next_renewal = terms.renew_every.map_or(deadline, |every| sent.plus(every));
        let mut first = Entry::new(FIRST_ENTRY, terms, sent);
        first.keeps(sent);
        let state = State {
            deadline,
            phase: Phase::Held,
            entries: vec![first],
            next_entry: FIRST_ENTRY + 1,
            changes: 0,
            next_renewal,
            failures: 0,
            renewing: false,
            in_doubt: false,
            unanswered: 0,
            kept: None,
            ghost,
            scheduled: [None; Slot::ALL],
        };
        let (state, changed, origin) = (Mutex::new(state), Notify::new(), Origin::here());
        Self { kind, key, claim, living, under, number, token, owner, section, origin, state, changed }
    }

    /// The claims that one under this stands under, outermost first.
    pub(crate) fn lineage(&self) -> impl Iterator<Item = &Claim> {
        self.under.iter().chain([&self.claim])
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the section that began it is still in.
    pub(crate) fn is_of_section(&self) -> bool {
        self.section && self.lock().entry(FIRST_ENTRY).is_some()
    }

    /// Where one entry stands at this moment, judged by the clock, not by whether anybody has noticed yet.
    pub(crate) fn standing(&self, entry: u32, now: Moment) -> Standing {
        // Asked before the mutex, which another thread may have held when the process forked.
        if !self.origin.is_here() {
            return Standing::Lost(Loss::Forked);
        }
        let state = self.lock();
        match (state.phase, state.entry(entry)) {
            (Phase::Lost(why), _) => Standing::Lost(why),
            (_, Some(Entry { lost: Some(why), .. })) => Standing::Lost(*why),
            (_, Some(entry)) if now >= entry.deadline(state.deadline) => Standing::Lost(entry.why_it_ends(now)),
            (Phase::Jeopardy, Some(_)) => Standing::Jeopardy,
            (Phase::Held, Some(_)) => Standing::Held,
            (_, None) | (Phase::Released, _) => Standing::Lost(Loss::LeaseEnded),
        }
    }

    /// An error once one entry is over.
    pub(crate) fn check(&self, entry: u32, now: Moment) -> Result<(), Error> {
        match self.standing(entry, now) {
            Standing::Lost(why) => Err(Error::lost(&self.key, why)),
            Standing::Held | Standing::Jeopardy => Ok(()),
        }
    }

    /// How long one entry surely still lasts; zero once it is over.
    pub(crate) fn remaining(&self, entry: u32, now: Moment) -> Duration {
        match self.standing(entry, now) {
            Standing::Lost(_) => Duration::ZERO,
            _ => self.deadline_of(entry).since(now),
        }
    }

    /// Resolves when one entry is lost. At its deadline it does so by a timer of the caller's, whatever the client's threads do.
    pub(crate) async fn lost(self: &Arc<Self>, entry: u32, shared: &Shared) -> Loss {
        loop {
            let mut changed = pin!(self.changed.notified());
            // Registered before the look, so that a loss between look and sleep is not missed.
            changed.as_mut().enable();
            let now = shared.clock.now();
            if let Standing::Lost(why) = self.standing(entry, now) {
                return why;
            }
            if Handle::try_current().is_ok() {
                tokio::select! {
                    () = changed => {}
                    () = shared.clock.sleep_until(self.deadline_of(entry)) => {}
                }
            } else {
                // On an executor without timers of tokio's.
                shared.signals.watch(self, now);
                changed.await;
            }
        }
    }

    /// Tells those who wait for this hold to look again, and cancels the tokens of entries that are over. This runs wakers of
    /// the application's, and is not for the thread that renews.
    pub(crate) fn signal(&self, now: Moment) {
        let tokens = self.lock().tokens_of_lost(now);
        tokens.iter().for_each(CancellationToken::cancel);
        self.changed.notify_waiters();
    }

    /// When the next entry is over, of those that still are valid.
    pub(crate) fn next_deadline(&self, now: Moment) -> Option<Moment> {
        let state = self.lock();
        state.live().map(|entry| entry.deadline(state.deadline)).filter(|deadline| *deadline > now).min()
    }

    /// Whether a token is still to be cancelled should it be lost.
    pub(crate) fn has_tokens(&self) -> bool {
        self.lock().live().any(Entry::has_tokens)
    }

    /// Until when one entry is valid.
    pub(crate) fn deadline_of(&self, entry: u32) -> Moment {
        let state = self.lock();
        state.entry(entry).map_or(state.deadline, |entry| entry.deadline(state.deadline))
    }

    /// Since when one entry is in, for what lease, and whether its time to warn has come and nobody has warned yet.
    pub(crate) fn last_words(&self, entry: u32, now: Moment) -> Option<(Moment, Duration, bool)> {
        let mut state = self.lock();
        let entry = state.entry_mut(entry)?;
        let overdue = entry.warn_at.take_if(|at| *at <= now).is_some();
        Some((entry.since, entry.terms.lease, overdue))
    }

    /// The terms of one entry.
    pub(crate) fn terms_of(&self, entry: u32) -> Option<Terms> {
        self.lock().entry(entry).map(|entry| entry.terms)
    }

    /// For how long the store may be asked to make one entry last: no longer than it may be held.
    pub(crate) fn span_of(&self, entry: u32, now: Moment) -> Option<Duration> {
        let state = self.lock();
        state.entry(entry).map(|entry| entry.span(now))
    }

    /// A request that makes the lock last is about to be sent.
    pub(crate) fn asks(&self) {
        self.lock().unanswered += 1;
    }

    /// It was answered.
    pub(crate) fn answered(&self) {
        self.lock().unanswered -= 1;
    }

    /// Whether a request for the claim is still unanswered, and might arrive late.
    pub(crate) fn is_ghost(&self) -> bool {
        self.lock().ghost
    }

    /// The token that is cancelled when the entry is lost.
    pub(crate) fn lost_token(self: &Arc<Self>, entry: u32, shared: &Shared) -> CancellationToken {
        let mut token = CancellationToken::new();
        self.cancels(entry, shared, |entry| token = entry.lost_token.get_or_insert_with(|| token.clone()).clone());
        if let Standing::Lost(_) = self.standing(entry, shared.clock.now()) {
            token.cancel();
        }
        token
    }

    /// This token of a set is cancelled when the entry is lost.
    pub(crate) fn cancels_set(self: &Arc<Self>, entry: u32, shared: &Shared, token: &CancellationToken) {
        self.cancels(entry, shared, |entry| entry.set_token = Some(token.clone()));
        if let Standing::Lost(_) = self.standing(entry, shared.clock.now()) {
            token.cancel();
        }
    }

    /// Gives an entry a token, unless it is over, and sees to it that the token is cancelled in time.
    fn cancels(self: &Arc<Self>, number: u32, shared: &Shared, give: impl FnOnce(&mut Entry)) {
        let now = shared.clock.now();
        if let Standing::Lost(_) = self.standing(number, now) {
            return;
        }
        if let Some(entry) = self.lock().entry_mut(number) {
            give(entry);
        }
        shared.signals.watch(self, now);
    }

    /// One entry's terms are these, from this moment on.
    pub(crate) fn settle(&self, number: u32, terms: Terms, since: Moment) {
        let mut state = self.lock();
        let Some(entry) = state.entry_mut(number) else { return };
        entry.terms = terms;
        entry.start(since);
        entry.keeps(since);
    }

    /// One entry does not ask for the lock to stay taken any more.
    pub(crate) fn waive(&self, number: u32) {
        if let Some(entry) = self.lock().entry_mut(number) {
            entry.keep_until = None;
        }
    }

    /// For how long one entry has been in, and its lease.
    pub(crate) fn held(&self, entry: u32, now: Moment) -> Option<(Duration, Duration)> {
        self.lock().entry(entry).map(|entry| (now.since(entry.since), entry.terms.lease))
    }

    /// Whether the claim is surely held at this moment.
    pub(crate) fn is_live(&self, now: Moment) -> bool {
        let state = self.lock();
        matches!(state.phase, Phase::Held | Phase::Jeopardy) && now < state.deadline
    }

    /// Whether nobody is in any more.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.lock().phase, Phase::Lost(_) | Phase::Released)
    }

    /// Whether the last entry left well.
    pub(crate) fn was_released(&self) -> bool {
        self.lock().phase == Phase::Released
    }

    /// Makes room for one more entry, and says its number. None if the hold is over.
    pub(crate) fn prepare_entry(&self, terms: Terms, now: Moment) -> Option<u32> {
        let mut state = self.lock();
        if !matches!(state.phase, Phase::Held | Phase::Jeopardy) || now >= state.deadline {
            return None;
        }
        let number = state.next_entry;
        state.next_entry += 1;
        // Until the store has said yes, the entry counts but is not renewed on its own account.
        state.entries.push(Entry { living: Some(self.living.entry(number)), ..Entry::new(number, terms, now) });
        Some(number)
    }

    /// The store has let the entry in by a request sent at `sent`.
    pub(crate) fn confirm_entry(&self, number: u32, now: Moment, sent: Moment) {
        let mut state = self.lock();
        let Some(entry) = state.entry_mut(number) else { return };
        entry.start(sent);
        entry.keeps(sent);
        let (lease, renew_every) = (entry.terms.lease, entry.terms.renew_every);
        state.extend(now, sent, lease);
        if let Some(every) = renew_every {
            state.next_renewal = state.next_renewal.min(sent.plus(every));
        }
    }

    /// The store has made one entry last by a request sent at `sent`, at its holder's wish.
    pub(crate) fn prolong_entry(&self, number: u32, now: Moment, sent: Moment, lease: Duration) {
        let mut state = self.lock();
        let hold = state.deadline;
        let Some(entry) = state.entry_mut(number) else { return };
        // What was over when the answer came stays over.
        if now >= entry.deadline(hold) {
            return;
        }
        if let (Some(ends), None) = (&mut entry.ends, entry.terms.renew_every) {
            *ends = (*ends).max(deadline(sent, lease));
        }
        state.extend(now, sent, lease);
        state.recover();
    }

    /// One entry goes; `ghost` if its own request is unanswered.
    pub(crate) fn leave(&self, number: u32, now: Moment, ghost: bool) -> Left {
        let mut state = self.lock();
        let over = match state.phase {
            Phase::Lost(why) => Some(why),
            Phase::Released => Some(Loss::LeaseEnded),
            Phase::Held | Phase::Jeopardy => (now >= state.deadline).then(|| state.why_it_ends(now)),
        };
        let entry = match state.entries.iter().position(|entry| entry.number == number) {
            Some(at) => state.entries.remove(at),
            None => return Left::Lost(over.unwrap_or(Loss::LeaseEnded), None),
        };
        state.kept = state.kept.max(entry.keep_until);
        // An entry that was seen to be lost has been taken out of the count then.
        if let Some(why) = over.or(entry.lost) {
            let mut afterthought = None;
            if over.is_some() && matches!(state.phase, Phase::Held | Phase::Jeopardy) {
                // We are the first to see that the lease is over.
                afterthought = state.afterthought();
                state.lose(why);
            }
            drop(state);
            // Out of the hold, the entry would not be signalled.
            entry.tokens().for_each(CancellationToken::cancel);
            self.changed.notify_waiters();
            return Left::Lost(why, afterthought);
        }
        let cancel = ghost.then_some(GivenUp { entry: number, lease: entry.terms.lease });
        let leaving = state.leaving(now, cancel);
        if !ghost && now >= entry.deadline(state.deadline) {
            drop(state);
            entry.tokens().for_each(CancellationToken::cancel);
            return Left::Lost(entry.why_it_ends(now), Some(leaving));
        }
        Left::Well(leaving)
    }

    /// What to tell the store of how often the claim is in now; none if it is over.
    pub(crate) fn tally(&self, now: Moment) -> Option<Tally> {
        let mut state = self.lock();
        if !matches!(state.phase, Phase::Held | Phase::Jeopardy) {
            return None;
        }
        state.changes += 1;
        Some(Tally { entries: state.count(), change: state.changes, lease: state.need(now) })
    }

    /// Looks what is due at this moment; renewals count as due if they fall due by `soon`.
    pub(crate) fn due(&self, now: Moment, soon: Moment) -> Due {
        let mut state = self.lock();
        let mut due = Due::default();
        if !matches!(state.phase, Phase::Held | Phase::Jeopardy) {
            return due;
        }
        if now >= state.deadline {
            due.leave = state.afterthought();
            let why = state.why_it_ends(now);
            due.lost = Some(state.lose(why));
            return due;
        }
        let before = state.count();
        let hold_deadline = state.deadline;
        for entry in &mut state.entries {
            if entry.lost.is_none() && entry.deadline(hold_deadline) <= now {
                let why = entry.why_it_ends(now);
                entry.lost = Some(why);
                due.lost = Some(why);
            }
            if let Some(at) = entry.warn_at
                && at <= now
            {
                entry.warn_at = None;
                due.too_long.push((now.since(entry.since), entry.terms.lease));
            }
        }
        if state.count() < before {
            due.leave = Some(state.leaving(now, None));
        }
        if state.phase == Phase::Released {
            return due;
        }
        if !state.renewing && state.next_renewal <= soon {
            due.renew = match state.renewal(now) {
                Some(lease) => Some(lease),
                // A renewal that asks for next to nothing changes nothing, but says whether there is a hold.
                None => state.in_doubt.then_some(Duration::from_millis(1)),
            };
            state.renewing = due.renew.is_some();
            state.in_doubt = false;
        }
        due.next = Some(state.next_look());
        due
    }

    /// A renewal sent at `sent` was done, as we hear now. Says when to look again.
    pub(crate) fn renewed(&self, now: Moment, sent: Moment, lease: Duration) -> Option<Moment> {
        let mut state = self.lock();
        if !matches!(state.phase, Phase::Held | Phase::Jeopardy) {
            return None;
        }
        if !state.extend(now, sent, lease) {
            // The store has it for us once more, and nobody wants it: it is to be told.
            state.failures = state.failures.saturating_add(1);
            return Some(now);
        }
        state.recover();
        state.renewing = false;
        let every = state.live().filter_map(|entry| entry.terms.renew_every).min();
        // Doubted while the store was asked, of which its answer may say nothing: it is asked again.
        if !state.in_doubt {
            state.next_renewal = every.map_or(state.deadline, |every| sent.plus(every));
        }
        Some(state.next_look())
    }

    /// A renewal failed: in jeopardy from now on, tried again soon. Says when to look again, and how long is left.
    pub(crate) fn renewal_failed(&self, now: Moment) -> Option<(Moment, Duration)> {
        let mut state = self.lock();
        if !matches!(state.phase, Phase::Held | Phase::Jeopardy) {
            return None;
        }
        state.phase = Phase::Jeopardy;
        state.renewing = false;
        state.in_doubt = true;
        state.failures = state.failures.saturating_add(1);
        let pause = Duration::from_millis(20 << state.failures.min(5)).mul_f64(0.5 + fastrand::f64() / 2.0);
        state.next_renewal = now.plus(pause);
        Some((state.next_look(), state.deadline.since(now)))
    }

    /// A renewal is under way no longer, whatever came of it. Says whether somebody may wait for that.
    pub(crate) fn renewal_ended(&self) -> bool {
        let mut state = self.lock();
        state.renewing = false;
        !matches!(state.phase, Phase::Held | Phase::Jeopardy)
    }

    /// Waits until no renewal is under way, or until then. One that arrived after the release of a lock that is to stay taken
    /// for a while would make it stay for a whole lease: the store does not tell what is kept from what is held.
    pub(crate) async fn until_renewal_ends(&self, clock: &Clock, latest: Moment) {
        loop {
            let mut changed = pin!(self.changed.notified());
            // Registered before the look, so that an end between look and sleep is not missed.
            changed.as_mut().enable();
            if !self.lock().renewing || clock.now() >= latest {
                return;
            }
            tokio::select! {
                () = changed => {}
                () = clock.sleep_until(latest) => {}
            }
        }
    }

    /// The store may have forgotten the hold: ask it as soon as possible.
    pub(crate) fn doubt(&self, now: Moment) {
        let mut state = self.lock();
        state.in_doubt = true;
        state.next_renewal = now;
    }

    /// The hold is over, for every entry. Says whether it was not over already.
    pub(crate) fn lose(&self, why: Loss) -> bool {
        let mut state = self.lock();
        if !matches!(state.phase, Phase::Held | Phase::Jeopardy) {
            return false;
        }
        state.lose(why);
        true
    }

    /// Its client closes: it is over for every entry, and this is what the store is to be told. None if it was over already.
    pub(crate) fn close(&self) -> Option<Leaving> {
        let mut state = self.lock();
        if !matches!(state.phase, Phase::Held | Phase::Jeopardy) {
            return None;
        }
        state.lose(Loss::Closed);
        Some(state.last_leaving())
    }

    /// What the store is to be told to refuse, if one entry was given up and the claim stays in so often: all of the claim's if it
    /// does not.
    pub(crate) fn refuses(&self, GivenUp { entry, lease }: GivenUp, left: u32) -> Cancelled {
        let spans = self.living.over((left > 0 && entry != FIRST_ENTRY).then_some(entry));
        Cancelled { spans, remember: Cancelled::memory(lease) }
    }

    /// Whether every guard of it is gone.
    pub(crate) fn is_deserted(&self) -> bool {
        self.lock().entries.is_empty()
    }

    /// When the watchdog must first look.
    pub(crate) fn next_look(&self) -> Moment {
        self.lock().next_look()
    }

    /// Whether an agenda has this hold down; only the agenda calls this, under its own lock.
    pub(crate) fn is_scheduled(&self, slot: Slot) -> bool {
        self.lock().scheduled[slot as usize].is_some()
    }

    /// Moves an agenda's note of when it has this hold down; only the agenda calls this, under its own lock.
    pub(crate) fn reschedule(&self, slot: Slot, at: Option<Moment>) -> Option<Moment> {
        std::mem::replace(&mut self.lock().scheduled[slot as usize], at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Clock;
    use crate::alive::Alive;

    /// What the store said of the hold before the doubt came does not settle it.
    #[test]
    fn a_doubt_that_comes_while_the_store_is_asked_is_asked_about_again() {
        let (now, lease) = (Clock::system().now(), Duration::from_secs(60));
        let key = Key::new("k").unwrap();
        let (claim, living) = Alive::new().fresh("client", &key, false);
        let granted = Granted {
            kind: Kind::Reentrant,
            key,
            claim,
            living: Arc::new(living),
            under: Vec::new(),
            owner: None,
            section: false,
            ghost: false,
        };
        let terms = Terms { lease, renew_every: Some(lease / 3), warn_after: None, max_hold: None, at_least: None };
        let hold = Hold::new(granted, 1, terms, now);
        hold.doubt(now);
        assert!(hold.due(now, now).renew.is_some());
        hold.doubt(now);
        assert_eq!(hold.due(now, now).renew, None, "one question at a time");
        assert!(hold.renewed(now, now, lease).unwrap() <= now);
        assert!(hold.due(now, now).renew.is_some());
        assert!(hold.renewed(now, now, lease).unwrap() > now);
    }
}
