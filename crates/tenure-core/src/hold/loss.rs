//! Where a hold stands, and who is told when it is lost.

use super::Hold;
use super::state::Phase;
use crate::entry::Entry;
use crate::event::Loss;
use crate::shared::Shared;
use crate::voices::Word;
use crate::{Error, Moment};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

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

impl Hold {
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
            // It hears before the look, so that a loss between look and sleep is not missed.
            let changed = self.changed.rung();
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

    /// Tells those who wait for this hold to look again, and has the tokens of entries that are over cancelled: by others, for all
    /// of these run code of the application's.
    pub(crate) fn signal(&self, now: Moment) -> impl Iterator<Item = Word> + use<> {
        let tokens = self.lock().tokens_of_lost(now);
        let wakers = self.changed.ring();
        tokens.into_iter().map(Word::Cancel).chain(wakers.into_iter().map(Word::Wake))
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

    /// Whether the claim is surely held at this moment.
    pub(crate) fn is_live(&self, now: Moment) -> bool {
        let state = self.lock();
        matches!(state.phase, Phase::Held | Phase::Jeopardy) && now < state.deadline
    }

    /// Whether nobody is in any more.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.lock().phase, Phase::Lost(_) | Phase::Released)
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
}
