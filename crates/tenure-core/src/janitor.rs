//! The janitor: finishes the releases that a drop or a cancelled future left behind.

use crate::alive::Alive;
use crate::hold::{Hold, Leaving, Tally};
use crate::report::report;
use crate::shared::Shared;
use crate::{Moment, Step, StoreError, StoreErrorKind};
use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tenure_kernel::{Cancelled, Claim, Key, Kind, Operation, Outcome};
use tokio::sync::mpsc;

/// How long one attempt is waited for.
const PATIENCE: Duration = Duration::from_secs(1);
/// How many calls are under way at once, and how many releases each of them has. Renewals stand behind as many on the way to the
/// store.
const CALLS: usize = 4;
const MOST_AT_ONCE: usize = 64;
/// The same of those that have failed before: one that hangs keeps few others waiting.
const FEW_AT_ONCE: usize = 8;

/// Something to finish.
#[derive(Debug)]
pub(crate) enum Chore {
    /// Entries of a hold left. What the store is to be told of it, the hold has: however many leave meanwhile, it is told once.
    Leave { hold: Arc<Hold> },
    /// An acquire was given up. If its answer was not known, the store is to remember that.
    Cancel {
        kind: Kind,
        key: Key,
        claim: Claim,
        /// The permits it asked for, if they have names.
        ids: Vec<Claim>,
        lease: Duration,
        remember: bool,
    },
}

impl std::fmt::Debug for Hold {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hold").field("key", &self.key).field("claim", &self.claim).finish_non_exhaustive()
    }
}

impl Chore {
    fn lock(&self) -> (Kind, &Key) {
        match self {
            Self::Leave { hold } => (hold.kind, &hold.key),
            Self::Cancel { kind, key, .. } => (*kind, key),
        }
    }

    /// What to send, worked out anew for every attempt: others may have come or gone since. None if the last to go has
    /// told the store, or will.
    fn operation(&self, leaving: Option<Leaving>, alive: &Alive, now: Moment) -> Option<Operation> {
        match self {
            Self::Leave { hold } => {
                let leaving = leaving?;
                let Tally { entries, change, lease } = match leaving.left {
                    0 => Tally { entries: 0, change: u32::MAX, lease: leaving.lease },
                    _ => match (hold.tally(now), leaving.cancel) {
                        (Some(tally), _) => tally,
                        // The last to go tells the store, and must be the one to hear that it was ours to the end. A request
                        // of this entry's that arrives after it finds nothing to go into, unless the lock is kept.
                        (None, Some(_)) if leaving.keep_until.is_none() && hold.was_released() => return None,
                        // All are out; but this entry may yet arrive.
                        (None, Some(_)) => Tally { entries: 0, change: u32::MAX, lease: leaving.lease },
                        (None, None) => return None,
                    },
                };
                let (claim, keep) = (hold.claim.clone(), leaving.keep(now));
                let cancel = leaving.cancel.map(|given_up| hold.refuses(given_up, entries));
                Some(Operation::Release { claim, left: entries, change, lease, keep, cancel })
            }
            Self::Cancel { key, claim, ids, lease, remember, .. } => {
                let spans = || claim.number().map(|number| alive.over(key, number, None)).unwrap_or_default();
                let cancel = remember.then(|| Cancelled { spans: spans(), remember: Cancelled::memory(*lease) });
                let claim = claim.clone();
                if !ids.is_empty() {
                    let cancel = cancel.map(|cancel| (claim, cancel));
                    return Some(Operation::GiveBack { ids: ids.clone(), all: false, cancel });
                }
                let (left, change, keep) = (0, u32::MAX, Duration::ZERO);
                Some(Operation::Release { claim, left, change, lease: *lease, keep, cancel })
            }
        }
    }

    /// For how long it is worth trying: a hold ends with its lease, but an acquire that is still under way takes the
    /// lock whenever it arrives.
    fn worth(&self) -> Duration {
        match self {
            Self::Leave { hold } => {
                hold.unsent().map_or(Duration::ZERO, |leaving| leaving.lease) + Duration::from_secs(60)
            }
            Self::Cancel { lease, .. } => *lease * 4 + Duration::from_secs(60),
        }
    }
}

/// A chore on its way.
struct Errand {
    chore: Chore,
    /// What was told, of a hold.
    leaving: Option<Leaving>,
    give_up: Moment,
    failures: u32,
}

/// Errands that can be run now.
#[derive(Default)]
struct Ready {
    releases: VecDeque<Errand>,
    given_up: VecDeque<Errand>,
    /// Those that have failed before.
    again: VecDeque<Errand>,
}

impl Ready {
    fn push(&mut self, errand: Errand) {
        match errand.chore {
            _ if errand.failures > 0 => self.again.push_back(errand),
            Chore::Leave { .. } => self.releases.push_back(errand),
            Chore::Cancel { .. } => self.given_up.push_back(errand),
        }
    }

    /// Those that make the next call. Releases go before what was given up, but never alone: a waiter that gave up may stand in the
    /// way of others, too.
    fn next(&mut self, calls: &Calls) -> Option<(Vec<Errand>, Attempt)> {
        if !self.releases.is_empty() || !self.given_up.is_empty() {
            let given_up = self.given_up.len().min(MOST_AT_ONCE / 4);
            let releases = self.releases.len().min(MOST_AT_ONCE - given_up);
            let more = self.given_up.len().min(MOST_AT_ONCE - releases);
            return Some((
                self.releases.drain(..releases).chain(self.given_up.drain(..more)).collect(),
                Attempt::First,
            ));
        }
        // What was not answered before may not be this time either: it leaves room for what comes.
        if !self.again.is_empty() && calls.again < CALLS / 2 {
            return Some((self.again.drain(..self.again.len().min(FEW_AT_ONCE)).collect(), Attempt::Again));
        }
        None
    }

    fn is_empty(&self) -> bool {
        self.releases.is_empty() && self.given_up.is_empty() && self.again.is_empty()
    }
}

/// What a call is made of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Attempt {
    First,
    Again,
}

/// How many calls are under way.
#[derive(Default)]
struct Calls {
    all: usize,
    again: usize,
}

/// Finishes chores until there are none and none can come.
///
/// A few calls at the most are with the store, of a bounded number of releases, whatever was dropped: the watchdog's renewals
/// share its connection, and wait behind no more than these. A chore that waits, for a renewal to end or to try again, is in none
/// of them.
pub(crate) async fn tidy(shared: Arc<Shared>, mut chores: mpsc::UnboundedReceiver<Chore>) {
    let (mut asking, mut waiting) = (FuturesUnordered::new(), FuturesUnordered::new());
    let (mut ready, mut calls) = (Ready::default(), Calls::default());
    let mut open = true;
    while open || !ready.is_empty() || !asking.is_empty() || !waiting.is_empty() {
        while calls.all < CALLS
            && let Some((errands, attempt)) = ready.next(&calls)
        {
            calls.all += 1;
            calls.again += usize::from(attempt == Attempt::Again);
            let asked = ask(&shared, errands);
            asking.push(async move { (asked.await, attempt) });
        }
        tokio::select! {
            // In this order: what is under way makes room for what comes.
            biased;
            Some((failed, attempt)) = asking.next() => {
                calls.all -= 1;
                calls.again -= usize::from(attempt == Attempt::Again);
                for (errand, at) in failed {
                    waiting.push(until(&shared, errand, at).boxed());
                }
            },
            Some(errand) = waiting.next() => ready.push(errand),
            chore = chores.recv(), if open => {
                let mut next = chore;
                open = next.is_some();
                // All that has come: it makes one call.
                while let Some(chore) = next {
                    let give_up = shared.clock.now().plus(chore.worth());
                    let errand = Errand { chore, leaving: None, give_up, failures: 0 };
                    if errand.waits_for_renewal() {
                        waiting.push(until_renewal_ends(&shared, errand).boxed());
                    } else {
                        ready.push(errand);
                    }
                    next = chores.try_recv().ok();
                }
            },
        }
    }
}

impl Errand {
    /// A lock that is to stay taken for a while is released after its last renewal, which would make it stay for longer.
    fn waits_for_renewal(&self) -> bool {
        matches!(&self.chore, Chore::Leave { hold } if hold.unsent().is_some_and(|leaving| leaving.keep_until.is_some()))
    }
}

async fn until(shared: &Shared, errand: Errand, at: Moment) -> Errand {
    shared.clock.sleep_until(at).await;
    errand
}

async fn until_renewal_ends(shared: &Shared, errand: Errand) -> Errand {
    if let Chore::Leave { hold } = &errand.chore {
        hold.until_renewal_ends(&shared.clock, errand.give_up).await;
    }
    errand
}

/// Tells the store once. Of those that failed, says when to do it again.
async fn ask(shared: &Shared, errands: Vec<Errand>) -> Vec<(Errand, Moment)> {
    let now = shared.clock.now();
    let (mut steps, mut sent) = (Vec::with_capacity(errands.len()), Vec::with_capacity(errands.len()));
    for mut errand in errands {
        if let (Chore::Leave { hold }, None) = (&errand.chore, errand.leaving) {
            errand.leaving = hold.take_unsent();
        }
        let (kind, key) = errand.chore.lock();
        match errand.chore.operation(errand.leaving, &shared.alive, now) {
            Some(operation) => {
                steps.push(Step::new(kind, key, operation));
                sent.push(errand);
            }
            None => shared.chore_done(&errand.chore),
        }
    }
    if steps.is_empty() {
        return Vec::new();
    }
    let answers = match shared.apply_each(&steps, PATIENCE).await {
        Ok(answers) => answers,
        Err(error) => vec![Err(error); steps.len()],
    };
    let told = sent.into_iter().zip(steps).zip(answers);
    told.filter_map(|((errand, step), answer)| heard(shared, errand, &step, answer, now)).collect()
}

/// What a store has said of one of them. If it failed, says when to do it again.
fn heard(
    shared: &Shared,
    mut errand: Errand,
    Step { key, operation, .. }: &Step,
    answer: Result<Outcome, StoreError>,
    now: Moment,
) -> Option<(Errand, Moment)> {
    match answer {
        Ok(outcome) => {
            if let (Operation::Release { keep, .. }, Outcome::Kept) = (operation, &outcome) {
                shared.keeps(*keep);
            }
            if let (Chore::Leave { hold }, Outcome::NotHeld) = (&errand.chore, &outcome) {
                let (key, claim) = (key.clone(), hold.claim.clone());
                report(move || tracing::debug!(%key, %claim, "already gone when it was to be released"));
            }
        }
        Err(error) if now >= errand.give_up || error.kind == StoreErrorKind::Conflict => {
            let key = key.clone();
            report(move || tracing::warn!(%key, %error, "gave up releasing; the lease will end it"));
        }
        Err(error) => {
            errand.failures += 1;
            let failures = errand.failures;
            if failures == 1 || error.kind != StoreErrorKind::Unanswered {
                let key = key.clone();
                report(move || tracing::debug!(%key, %error, failures, "release failed, trying again"));
            }
            let pause = Duration::from_millis(20 << failures.min(5)).mul_f64(0.5 + fastrand::f64() / 2.0);
            return Some((errand, now.plus(pause)));
        }
    }
    shared.chore_done(&errand.chore);
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acquire::terms;
    use crate::entry::Terms;
    use crate::hold::{Granted, Left};
    use crate::{Clock, Options};

    /// A hold of one that went in again and was cancelled before it had an answer, and of whom the outermost has left too.
    fn left_by_all(at_least: Option<Duration>) -> (Chore, Leaving, Moment) {
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
        let terms = Terms { at_least, ..terms(&Options::new().lease(lease).no_renew()) };
        let hold = Arc::new(Hold::new(granted, 1, terms, now));
        let again = hold.prepare_entry(terms, now).unwrap();
        let Left::Well(leaving) = hold.leave(again, now, true) else { panic!("the lease runs") };
        let Left::Well(last) = hold.leave(tenure_kernel::FIRST_ENTRY, now, false) else { panic!("the lease runs") };
        assert_eq!((leaving.left, last.left), (1, 0));
        (Chore::Leave { hold }, leaving, now)
    }

    #[test]
    fn one_that_was_cancelled_does_not_release_what_the_last_releases() {
        let (chore, leaving, now) = left_by_all(None);
        assert_eq!(
            chore.operation(Some(leaving), &Alive::new(), now),
            None,
            "the last would be told that the lock was not its own any more"
        );
    }

    #[test]
    fn one_that_was_cancelled_is_refused_by_a_lock_that_is_kept() {
        let (chore, leaving, now) = left_by_all(Some(Duration::from_secs(30)));
        let operation = chore.operation(Some(leaving), &Alive::new(), now);
        let is_refused = |operation: &Operation| matches!(operation, Operation::Release { left: 0, keep, cancel: Some(_), .. } if !keep.is_zero());
        assert!(operation.as_ref().is_some_and(is_refused), "{operation:?}");
    }
}
