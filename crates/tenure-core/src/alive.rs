//! What a client still asks for: claims that are on their way, wait or hold, and their entries. All else is over, and a store that
//! is told so in stretches need not remember every thing that was given up by itself.

use crate::origin::Origin;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tenure_kernel::{Claim, FIRST_ENTRY, Key, Span, Spot};

/// So many stretches are said at once. A client with more of them on one key says all in turn.
const MOST: usize = 16;

/// What a client still asks for.
#[derive(Debug)]
pub(crate) struct Alive {
    origin: Origin,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The number of the last claim.
    last: u64,
    spots: BTreeSet<(Key, Spot)>,
}

/// A claim or an entry that is asked for until this is dropped.
#[derive(Debug)]
pub(crate) struct Living {
    alive: Arc<Alive>,
    key: Key,
    spot: Spot,
}

impl Alive {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { origin: Origin::here(), state: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A claim that was never made before.
    pub(crate) fn fresh(self: &Arc<Self>, client: &str, key: &Key, nested: bool) -> (Claim, Living) {
        // At one moment: between the two, a neighbour that is given up would say that the number is over.
        let mut state = self.lock();
        state.last += 1;
        let spot = Spot { claim: state.last, entry: FIRST_ENTRY };
        state.spots.insert((key.clone(), spot));
        drop(state);
        let claim = if nested { Claim::nested(client, spot.claim) } else { Claim::new(client, spot.claim) };
        (claim, Living { alive: Arc::clone(self), key: key.clone(), spot })
    }

    /// What of this client's is over on a key, up to an entry of a claim that is, or to the claim's last for none.
    ///
    /// All is said, not only what is next to it: what was between two that lived is next to it when one of them is over, and the
    /// store would keep it apart for ever.
    pub(crate) fn over(&self, key: &Key, claim: u64, entry: Option<u32>) -> Vec<Span> {
        let (first, last) = (entry.unwrap_or(FIRST_ENTRY), entry.unwrap_or(u32::MAX));
        let (lowest, end) = (Spot { claim: 0, entry: 0 }, Spot { claim, entry: first });
        let (mut spans, mut before) = (Vec::new(), None);
        for (_, next) in self.lock().spots.range((key.clone(), lowest)..(key.clone(), end)) {
            let until = match before {
                Some(Spot { claim, .. }) if claim == next.claim => Spot { claim, entry: next.entry.saturating_sub(1) },
                _ => Spot { claim: next.claim.saturating_sub(1), entry: u32::MAX },
            };
            let span = Span { since: after(before, next.claim), until };
            spans.extend((span.since <= span.until).then_some(span));
            before = Some(*next);
        }
        if spans.len() >= MOST {
            let first = fastrand::usize(..spans.len());
            spans.rotate_left(first);
            spans.truncate(MOST - 1);
        }
        spans.push(Span { since: after(before, claim), until: Spot { claim, entry: last } });
        spans
    }
}

/// Where that begins which is over between one that lives and the next, which is of this claim. Of a claim that lives, entries may
/// come that are above all that it has.
fn after(living: Option<Spot>, claim: u64) -> Spot {
    match living {
        None => Spot { claim: 0, entry: FIRST_ENTRY },
        Some(living) if living.claim == claim => Spot { claim, entry: living.entry + 1 },
        Some(living) => Spot { claim: living.claim + 1, entry: FIRST_ENTRY },
    }
}

/// What is over of all that one client asks for, for a store that gives up claims of its own accord: it then refuses them in
/// stretches, and need not remember each by itself.
#[derive(Debug, Clone)]
pub struct Over {
    alive: Arc<Alive>,
    client: String,
}

impl Over {
    pub(crate) fn new(alive: &Arc<Alive>, client: &str) -> Self {
        Self { alive: Arc::clone(alive), client: client.to_owned() }
    }

    /// What is over on a key, up to the last entry of a claim that is. None for a claim that the client did not make, and in
    /// another process than the client's.
    pub fn up_to(&self, key: &Key, claim: &Claim) -> Option<Vec<Span>> {
        // In the child of a fork another thread may have had the mutex.
        let knows = self.alive.origin.is_here() && claim.client() == self.client;
        claim.number().filter(|_| knows).map(|number| self.alive.over(key, number, None))
    }
}

impl Living {
    /// An entry of the claim's, from here on. The hold's mutex is to be locked since its number was taken, or a neighbour that is
    /// given up would say that the number is over.
    pub(crate) fn entry(&self, entry: u32) -> Self {
        let spot = Spot { entry, ..self.spot };
        self.alive.lock().spots.insert((self.key.clone(), spot));
        Self { alive: Arc::clone(&self.alive), key: self.key.clone(), spot }
    }

    /// What is over on the key, up to an entry of this claim's, or to its last for none.
    pub(crate) fn over(&self, entry: Option<u32>) -> Vec<Span> {
        self.alive.over(&self.key, self.spot.claim, entry)
    }
}

impl Drop for Living {
    fn drop(&mut self) {
        // In the child of a fork another thread may have had the mutex.
        if self.alive.origin.is_here() {
            self.alive.lock().spots.remove(&(self.key.clone(), self.spot));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tenure_kernel::{Cancelled, Kind, Operation, Outcome, Record, Stay, Time, step};

    fn key() -> Key {
        Key::new("k").unwrap()
    }

    fn over(spans: &[Span], claim: u64, entry: u32) -> bool {
        spans.iter().any(|span| span.has(Spot { claim, entry }))
    }

    #[test]
    fn what_lives_is_never_over_and_all_else_up_to_there_is() {
        let alive = Alive::new();
        let mut random = fastrand::Rng::with_seed(7);
        let other = Key::new("other").unwrap();
        let mut claims: Vec<Living> = Vec::new();
        for _ in 0..2000 {
            let key = if random.u32(0..4) == 0 { &other } else { &key() };
            claims.push(alive.fresh("client", key, false).1);
            while claims.len() > random.usize(0..8) {
                let gone = claims.swap_remove(random.usize(..claims.len()));
                let (of, last) = (gone.key.clone(), gone.spot.claim);
                let spans = gone.over(None);
                drop(gone);
                let lives = |number| claims.iter().any(|one| one.key == of && one.spot.claim == number);
                for number in 0..=last {
                    assert_eq!(over(&spans, number, FIRST_ENTRY), !lives(number), "{number} of {spans:?}");
                    assert_eq!(over(&spans, number, 9), !lives(number), "{number} of {spans:?}");
                }
                assert!(!over(&spans, last + 1, FIRST_ENTRY));
            }
        }
    }

    #[test]
    fn of_a_claim_that_lives_what_may_come_is_not_over() {
        let alive = Alive::new();
        let (_, below) = alive.fresh("client", &key(), false);
        let (_, claim) = alive.fresh("client", &key(), false);
        let (_second, fourth) = (claim.entry(2), claim.entry(4));
        let spans = fourth.over(Some(4));
        drop(fourth);
        let number = claim.spot.claim;
        let of = |spans: &[Span]| (0..6).filter(|entry| over(spans, number, *entry)).collect::<Vec<_>>();
        assert_eq!(of(&spans), [1, 3, 4]);
        assert!(!over(&spans, below.spot.claim, 0) && !over(&spans, below.spot.claim, 1));
        drop(below);
        let above = alive.fresh("client", &key(), false).1;
        let spans = above.over(None);
        assert_eq!(of(&spans), [1], "others may still come");
        assert!(over(&spans, number - 1, 0) && over(&spans, above.spot.claim, 0));
    }

    /// Several clients may share what a store remembers, and each has numbers of its own.
    #[test]
    fn nothing_is_said_of_another_clients_claims() {
        let alive = Alive::new();
        let told = Over::new(&alive, "client");
        let (_, holder) = alive.fresh("client", &key(), false);
        let (claim, given_up) = alive.fresh("client", &key(), false);
        let spans = told.up_to(&key(), &claim).unwrap();
        assert!(over(&spans, given_up.spot.claim, FIRST_ENTRY) && !over(&spans, holder.spot.claim, FIRST_ENTRY));
        assert_eq!(told.up_to(&key(), &Claim::new("another", given_up.spot.claim)), None);
        assert_eq!(told.up_to(&key(), &Claim::found("a thread of Redisson's")), None);
    }

    /// Some wait while others hold, and are given up; the holders change.
    #[test]
    fn a_record_takes_no_more_room_the_more_is_given_up() {
        let (alive, key) = (Alive::new(), key());
        let (mut record, mut random) = (Record::default(), fastrand::Rng::with_seed(7));
        let mut holders: Vec<Living> = Vec::new();
        let mut most = 0;
        for round in 0..5000_u64 {
            holders.push(alive.fresh("client", &key, false).1);
            if holders.len() > 4 {
                holders.swap_remove(random.usize(..holders.len()));
            }
            let (claim, given_up) = alive.fresh("client", &key, false);
            let cancel = Some(Cancelled { spans: given_up.over(None), remember: Duration::from_secs(60) });
            drop(given_up);
            let (lease, keep) = (Duration::from_secs(30), Duration::ZERO);
            let leaves = Operation::Release { claim, left: 0, change: u32::MAX, lease, keep, cancel };
            record = step(Kind::Fair, record, &leaves, Time::from_micros(round), 0).record;
            most = most.max(record.tombstones.len());
            for holder in &holders {
                let holder = Claim::new("client", holder.spot.claim);
                let again = Operation::Acquire { claim: holder, under: Vec::new(), lease, stay: Stay::No };
                let outcome = step(Kind::Fair, record.clone(), &again, Time::from_micros(round), 0).outcome;
                assert!(matches!(outcome, Outcome::Granted(_)), "one that lives is refused: {outcome:?}");
            }
        }
        assert!(most <= 2 * 5, "{most} stretches for four that live");
    }

    #[test]
    fn of_many_stretches_each_has_its_turn() {
        let alive = Alive::new();
        let mut all: Vec<Living> = (0..201).map(|_| alive.fresh("client", &key(), false).1).collect();
        let last = all.pop().unwrap();
        let mut at = 0;
        all.retain(|_| {
            at += 1;
            at % 2 == 0
        });
        let told = |spans: &[Span]| spans.iter().map(|span| span.since.claim).collect::<Vec<_>>();
        let mut seen = BTreeSet::new();
        // Each time a place is drawn at which to begin: that one of a hundred is never drawn is as good as impossible.
        for _ in 0..2000 {
            let spans = last.over(None);
            assert!(spans.len() <= MOST);
            seen.extend(told(&spans));
        }
        assert_eq!(seen.len(), 101);
    }
}
