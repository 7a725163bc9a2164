//! The lines in which this client stands.
//!
//! A lock that is waited for has a line of clients in the store, the longest waiting first, and a release calls the
//! first of them. It may come too late, for anybody may take a free lock; then it stands in line again, in its old place.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tenure_core::{Busy, Holder, Key, Kind, Outcome, Stay};

/// For so long after its last look a client stands in a line: the server keeps the line no longer.
const KEPT: Duration = Duration::from_secs(3);
/// So many lines need not be swept.
const FEW: usize = 64;

/// Where this client stands.
#[derive(Default)]
pub(crate) struct Lines(Mutex<Places>);

#[derive(Default)]
struct Places {
    all: HashMap<Key, Place>,
    /// How many the last sweep has left.
    left: usize,
}

/// The place in one line.
struct Place {
    /// Since when, in server time.
    since: u64,
    /// When the server last said that it is still waited for.
    looked: Instant,
}

impl Place {
    fn is_kept(&self, at: Instant) -> bool {
        at.saturating_duration_since(self.looked) < KEPT
    }
}

impl Places {
    /// The client looks, and stands in this line since then, unless it has its place there from before.
    fn put(&mut self, key: &Key, since: u64, at: Instant) {
        // A wait may be given up while its last answer is on its way, which then comes after the wait's end: nobody takes
        // that place away. To look at all places whenever they have doubled costs each of them little.
        if self.all.len() >= FEW.max(2 * self.left) && !self.all.contains_key(key) {
            self.all.retain(|_, place| place.is_kept(at));
            self.left = self.all.len();
        }
        self.all.insert(key.clone(), Place { since, looked: at });
    }

    fn since(&self, key: &Key, at: Instant) -> Option<u64> {
        self.all.get(key).filter(|place| place.is_kept(at)).map(|place| place.since)
    }
}

impl Lines {
    fn lock(&self) -> MutexGuard<'_, Places> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What an acquire's answer, heard at `at` and given at `now` by the server's time, means for where the client stands.
    pub(crate) fn heed(&self, (kind, key): (Kind, &Key), stay: Stay, outcome: &Outcome, now: Option<u64>, at: Instant) {
        match (stay, outcome) {
            // It got the lock, and stands in line again for those behind it. A token that tells nothing of time leaves it to
            // the server where that is.
            (Stay::Waited { more: true }, Outcome::Granted(grant)) if kind != Kind::Fenced => {
                self.lock().put(key, grant.token, at);
            }
            (Stay::Waited { .. }, Outcome::Granted(_)) => self.leave(key),
            (Stay::Waits | Stay::Waited { .. }, Outcome::Busy(Busy { holder: Some(holder), .. })) => {
                self.stand(key, holder, now, at);
            }
            _ => {}
        }
    }

    /// The client was seen off by this holder and waits. Behind a holder that is no Tenure client nobody stands in
    /// line, for it would call nobody.
    fn stand(&self, key: &Key, holder: &Holder, now: Option<u64>, at: Instant) {
        let mut lines = self.lock();
        match (holder.token, now) {
            (Some(_), Some(now)) => {
                let since = lines.since(key, at).unwrap_or(now);
                lines.put(key, since, at);
            }
            _ => drop(lines.all.remove(key)),
        }
    }

    /// Since when the client stands in this line, if it does at this moment.
    pub(crate) fn since(&self, key: &Key, at: Instant) -> Option<u64> {
        self.lock().since(key, at)
    }

    /// The client waits no longer.
    pub(crate) fn leave(&self, key: &Key) {
        self.lock().all.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_core::Claim;

    /// The client was seen off, and waits.
    fn seen_off(lines: &Lines, key: &Key, now: u64, at: Instant) {
        let claim = Claim::new("other", 1);
        let holder = Holder { claim, count: 1, token: Some(7), remaining: None, held_for: None };
        lines.heed((Kind::Reentrant, key), Stay::Waits, &Outcome::Busy(Busy::behind(holder)), Some(now), at);
    }

    #[test]
    fn a_wait_that_was_given_up_leaves_no_place_to_the_next() {
        let (lines, key, at) = (Lines::default(), Key::new("k").unwrap(), Instant::now());
        seen_off(&lines, &key, 1, at);
        assert_eq!(lines.since(&key, at + KEPT / 2), Some(1));
        // Whoever looks in time keeps its place, however long it waits.
        seen_off(&lines, &key, 2, at + KEPT / 2);
        assert_eq!(lines.since(&key, at + KEPT), Some(1));
        assert_eq!(lines.since(&key, at + 2 * KEPT), None, "the server has thrown the line away by now");
        seen_off(&lines, &key, 9, at + 2 * KEPT);
        assert_eq!(lines.since(&key, at + 2 * KEPT), Some(9), "the later waiter stands behind those who waited longer");
    }

    #[test]
    fn waits_that_were_given_up_do_not_pile_up() {
        let (lines, mut at) = (Lines::default(), Instant::now());
        for number in 0..20_000 {
            // Of these, 300 at a time were waited for in the last three seconds.
            at += KEPT / 300;
            seen_off(&lines, &Key::new(&format!("k{number}")).unwrap(), number, at);
        }
        let kept = lines.lock().all.len();
        assert!((300..=602).contains(&kept), "{kept} places are kept");
    }
}
