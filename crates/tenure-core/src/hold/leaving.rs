//! Entries leave a hold, and this is what the store is to be told of it.

use super::Hold;
use super::state::Phase;
use crate::Moment;
use crate::event::Loss;
use std::sync::PoisonError;
use std::time::Duration;
use tenure_kernel::{Cancelled, FIRST_ENTRY};

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
    /// Both at once, if the store has been told of neither. It is told how often the claim is in when it is told; of the entries to
    /// refuse, the last: whatever is over below is refused with it.
    fn and(self, later: Self) -> Self {
        let cancel = match (self.cancel, later.cancel) {
            (Some(one), Some(other)) => {
                let entry =
                    if one.entry.min(other.entry) == FIRST_ENTRY { FIRST_ENTRY } else { one.entry.max(other.entry) };
                Some(GivenUp { entry, lease: one.lease.max(other.lease) })
            }
            (one, other) => one.or(other),
        };
        // The last to go has said how long the lock is to stay taken.
        let last = if self.left == 0 { self } else { later };
        Self { lease: self.lease.max(later.lease), cancel, ..last }
    }

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

impl Hold {
    /// One entry goes; `ghost` if its own request is unanswered. If it was lost, those who wait for that are to be
    /// [told](crate::signals::Signals::tell): not here, for a drop neither blocks nor panics, and their wakers may.
    pub(crate) fn leave(&self, number: u32, now: Moment, ghost: bool) -> Left {
        let mut state = self.lock();
        let over = match state.phase {
            Phase::Lost(why) => Some(why),
            Phase::Released => Some(Loss::LeaseEnded),
            Phase::Held | Phase::Jeopardy => (now >= state.deadline).then(|| state.why_it_ends(now)),
        };
        let mut entry = match state.entries.iter().position(|entry| entry.number == number) {
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
            // Out of the hold, the entry is not told of.
            state.untold.extend(entry.take_tokens());
            return Left::Lost(why, afterthought);
        }
        let cancel = ghost.then_some(GivenUp { entry: number, lease: entry.terms.lease });
        let leaving = state.leaving(now, cancel);
        if !ghost && now >= entry.deadline(state.deadline) {
            state.untold.extend(entry.take_tokens());
            return Left::Lost(entry.why_it_ends(now), Some(leaving));
        }
        Left::Well(leaving)
    }

    /// Leaves something for the janitor to tell the store. Says whether it is the first since the janitor looked.
    pub(crate) fn send_later(&self, leaving: Leaving) -> bool {
        let mut unsent = self.unsent.lock().unwrap_or_else(PoisonError::into_inner);
        let first = unsent.is_none();
        *unsent = Some(unsent.map_or(leaving, |before| before.and(leaving)));
        first
    }

    /// What is to be told; from here on, it is the caller who tells it.
    pub(crate) fn take_unsent(&self) -> Option<Leaving> {
        self.unsent.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// What is to be told.
    pub(crate) fn unsent(&self) -> Option<Leaving> {
        *self.unsent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the last entry left well.
    pub(crate) fn was_released(&self) -> bool {
        self.lock().phase == Phase::Released
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Clock;
    use crate::hold::tests::held;
    use crate::voices::Word;
    use std::future::Future;
    use std::pin::pin;
    use std::sync::Arc;
    use std::task::{Context, Wake, Waker};
    use tokio_util::sync::CancellationToken;

    struct Panics;

    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("this panic is part of the case");
        }
    }

    /// A guard that is dropped may be the first to see that its lease is over.
    #[test]
    fn who_leaves_a_hold_that_is_over_calls_no_waker_and_those_who_wait_are_told_by_others() {
        let (now, lease) = (Clock::system().now(), Duration::from_secs(60));
        let (hold, token) = (held(lease, now), CancellationToken::new());
        hold.lock().entry_mut(FIRST_ENTRY).unwrap().lost_token = Some(token.clone());
        let waker = Waker::from(Arc::new(Panics));
        let mut context = Context::from_waker(&waker);
        let (mut cancelled, mut changed) = (pin!(token.cancelled()), pin!(hold.changed.rung()));
        assert!(cancelled.as_mut().poll(&mut context).is_pending() && changed.as_mut().poll(&mut context).is_pending());
        let later = now.plus(lease * 2);
        assert_eq!(hold.leave(FIRST_ENTRY, later, false), Left::Lost(Loss::LeaseEnded, None));
        let told: Vec<Word> = hold.signal(later).collect();
        assert!(matches!(*told, [Word::Cancel(_), Word::Wake(_)]), "{} are told", told.len());
    }
}
