//! One claim that holds a lock, and the entries (guards) that live under it. All its state is in one place, under one
//! mutex that is never held across an await.

mod leaving;
mod loss;
mod renewal;
mod state;

pub(crate) use self::leaving::{GivenUp, Leaving, Left, Tally};
pub use self::loss::Standing;

use self::state::{Phase, State};
use crate::agenda::Slot;
use crate::alive::Living;
use crate::bell::Bell;
use crate::entry::{Entry, Terms, deadline};
use crate::origin::Origin;
use crate::{Moment, Owner};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tenure_kernel::{Claim, FIRST_ENTRY, Key, Kind, Token};

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
    /// What the janitor is to tell the store, and has not begun to.
    unsent: Mutex<Option<Leaving>>,
    /// Tells everyone who waits for a loss to look again; rung by [`signal`](Hold::signal) alone.
    changed: Bell,
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
            untold: Vec::new(),
            scheduled: [None; Slot::ALL],
        };
        let (state, changed, origin) = (Mutex::new(state), Bell::default(), Origin::here());
        let unsent = Mutex::default();
        Self { kind, key, claim, living, under, number, token, owner, section, origin, state, unsent, changed }
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;
    use crate::acquire::terms;
    use crate::alive::Alive;

    /// One that was asked for at this moment.
    pub(super) fn held(lease: Duration, now: Moment) -> Hold {
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
        Hold::new(granted, 1, terms(&Options::new().lease(lease)), now)
    }
}
