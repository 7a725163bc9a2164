//! What is due for a hold, and what becomes of its renewals.

use super::Hold;
use super::leaving::Leaving;
use super::state::Phase;
use crate::agenda::Slot;
use crate::event::Loss;
use crate::{Clock, Moment};
use std::time::Duration;

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
            // It hears before the look, so that an end between look and sleep is not missed.
            let changed = self.changed.rung();
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
    use crate::hold::tests::held;

    /// What the store said of the hold before the doubt came does not settle it.
    #[test]
    fn a_doubt_that_comes_while_the_store_is_asked_is_asked_about_again() {
        let (now, lease) = (Clock::system().now(), Duration::from_secs(60));
        let hold = held(lease, now);
        hold.doubt(now);
        assert!(hold.due(now, now).renew.is_some());
        hold.doubt(now);
        assert_eq!(hold.due(now, now).renew, None, "one question at a time");
        assert!(hold.renewed(now, now, lease).unwrap() <= now);
        assert!(hold.due(now, now).renew.is_some());
        assert!(hold.renewed(now, now, lease).unwrap() > now);
    }
}
