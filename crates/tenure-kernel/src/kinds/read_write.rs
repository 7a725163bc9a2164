//! The read-write lock: many who read, or one who writes. Both go in as often as they like, and each has a lease of its own.
//!
//! Readers and writers take turns. While a writer waits, those who come to read stand in line; when a writer leaves, all who
//! have waited for it to read go in together, before the next writer. So neither can keep the other out for ever.
//!
//! One who holds goes in on the other side under its own claim: a writer that reads beside its writing, and leaves that,
//! has become a reader; a reader that is alone may write. Two readers who both wait to write would wait for each other: the
//! second is told so.
//!
//! What holds after every step, each with a property test of its name in `tests/read_write.rs`:
//!
//! * `a_writer_is_alone`: nobody is granted beside a writer, nor a writer beside anybody, but for those it stands under.
//! * `readers_are_together`: while nobody writes or waits to write, every reader is let in.
//! * `each_ends_by_itself`: a share ends with its own lease, whatever becomes of the others, and none is ever shortened.
//! * `tokens_only_grow`: a fresh grant's token exceeds every token before it; a claim under a writer has the writer's.
//! * `asking_twice_is_asking_once`: an acquire repeated by a claim that holds returns the same token and count.
//! * `new_readers_wait_for_a_waiting_writer`: nobody who comes to read goes before one who waits to write.
//! * `readers_who_waited_for_a_writer_go_before_the_next`: no writer is let in before them.
//! * `one_of_two_who_upgrade_is_refused`: of two readers who want to write, the second is told that it would wait for ever.
//! * `cancelled_stays_cancelled`: an entry that was cancelled is refused for as long as that is remembered.
//! * `only_the_claim_may`: renew, re-enter and release by any other claim change nothing.

use crate::record::count_up;
use crate::{Claim, Grant, Holder, Kind, Operation, Outcome, Record, Time, Token, Waiter};
use std::time::Duration;

/// A claim that is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    /// Which.
    pub claim: Claim,
    /// As what.
    pub kind: Kind,
    /// Its fencing token.
    pub token: Token,
    /// Since when.
    pub since: Time,
    /// When its lease ends.
    pub ends: Time,
    /// How often it is in; of a semaphore, with how many permits.
    pub count: u32,
    /// The claim's change that set the count.
    pub change: u32,
}

/// What becomes of one who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// In, with the token of the writer it stands under, if there is one.
    In(Option<Token>),
    /// Not now. Those who hold to read and wait to write go before others.
    Wait {
        /// Whether it does.
        upgrades: bool,
    },
    /// This one waits for the asker.
    Deadlock(Claim),
}

impl Verdict {
    pub(crate) fn is_in(&self) -> bool {
        matches!(self, Self::In(_))
    }
}

/// What a line means for those who come to it, the same for all of them.
pub(crate) struct Turns<'a> {
    record: &'a Record,
    /// The writer that comes first.
    first_writer: Option<&'a Waiter>,
    /// Readers wait who go before it.
    readers_first: bool,
    /// The one who holds to read and waits to write.
    upgrades: Option<&'a Waiter>,
}

impl<'a> Turns<'a> {
    pub(crate) fn of(record: &'a Record) -> Self {
        let writers = || record.line.iter().filter(|waiter| waiter.kind == Kind::Write);
        let mut readers = record.line.iter().filter(|waiter| waiter.kind == Kind::Read);
        Self {
            record,
            first_writer: writers().min_by_key(|waiter| (!waiter.upgrades, waiter.since)),
            readers_first: readers.any(|waiter| waiter.since <= record.pass),
            upgrades: writers().find(|waiter| waiter.upgrades),
        }
    }

    /// Whether a claim that is not in may go in; `since` when it has stood in line, if it has.
    pub(crate) fn decide(&self, kind: Kind, claim: &Claim, under: &[Claim], since: Option<Time>) -> Verdict {
        let shares = &self.record.shares;
        let is_kin = |share: &Share| under.contains(&share.claim);
        let kin = !under.is_empty() && shares.iter().any(is_kin);
        if shares.iter().any(|share| (kind == Kind::Write || share.kind == Kind::Write) && !is_kin(share)) {
            let writes = shares.iter().any(|share| is_kin(share) && share.kind == Kind::Write);
            let upgrades = kin && !writes && kind == Kind::Write;
            let rival = self.upgrades.filter(|rival| upgrades && rival.claim != *claim);
            return rival.map_or(Verdict::Wait { upgrades }, |rival| Verdict::Deadlock(rival.claim.clone()));
        }
        let may = match kind {
            // Whoever is in already, on either side, does not queue behind those who wait for it to leave.
            _ if kin => true,
            Kind::Read => self.first_writer.is_none() || since.is_some_and(|since| since <= self.record.pass),
            _ => !self.readers_first && self.first_writer.is_none_or(|first| first.claim == *claim),
        };
        if !may {
            return Verdict::Wait { upgrades: false };
        }
        let writer = |claim: &Claim| shares.iter().find(|share| share.claim == *claim && share.kind == Kind::Write);
        Verdict::In(under.iter().find_map(writer).map(|share| share.token))
    }
}

/// Remembers that a writer is in: readers who stand in line by now have waited for one. To look changes nothing.
pub(crate) fn note_writers(record: &mut Record, operation: &Operation, now: Time) {
    if record.line.is_empty() {
        record.pass = Time::default();
    } else if *operation != Operation::Inspect && record.kind() == Some(Kind::Write) {
        record.pass = record.line.last().map_or(now, |waiter| waiter.since.max(now));
    }
}

/// Applies one operation that is about a claim.
pub(crate) fn apply(
    kind: Kind,
    record: &mut Record,
    operation: &Operation,
    now: Time,
    watermark: &mut Token,
) -> Outcome {
    match operation {
        Operation::Acquire { claim, .. } if record.is_cancelled(claim, crate::FIRST_ENTRY) => Outcome::Refused,
        Operation::Acquire { claim, under, lease, stay } => {
            if let Some(other) = record.in_use_for().filter(|other| !other.is_side()) {
                return Outcome::Conflict(other);
            }
            let ends = now.plus(*lease);
            if let Some(share) = share(record, claim) {
                share.ends = share.ends.max(ends);
                return Outcome::Granted(share.grant());
            }
            let since = record.line.iter().find(|waiter| waiter.claim == *claim).map(|waiter| waiter.since);
            match Turns::of(record).decide(kind, claim, under, since) {
                Verdict::In(token) => {
                    let token = token.unwrap_or_else(|| count_up(watermark, now));
                    record.leave_line(claim);
                    let claim = claim.clone();
                    let share = Share { claim, kind, token, since: now, ends, count: 1, change: 0 };
                    let grant = share.grant();
                    record.shares.push(share);
                    Outcome::Granted(grant)
                }
                Verdict::Wait { upgrades } => {
                    let holder = in_the_way(record, under, now);
                    Outcome::Busy(record.turn_away((claim, under, kind), upgrades, holder, *stay, now))
                }
                Verdict::Deadlock(rival) => Outcome::Deadlock(rival),
            }
        }
        Operation::Reenter { claim, entry, .. } if record.is_cancelled(claim, *entry) => Outcome::Refused,
        Operation::Reenter { claim, count, change, lease, .. } => match share(record, claim) {
            Some(share) => {
                share.stay((*count, *change), now.plus(*lease));
                Outcome::Granted(share.grant())
            }
            None => Outcome::NotHeld,
        },
        Operation::Renew { claim, lease } => match share(record, claim) {
            Some(share) => {
                share.ends = share.ends.max(now.plus(*lease));
                Outcome::Renewed
            }
            None => Outcome::NotHeld,
        },
        Operation::Release { claim, left, change, lease, keep, cancel } => {
            let outcome = match (left, share(record, claim)) {
                (0, _) => leave(record, claim, *keep, now),
                (_, None) => Outcome::NotHeld,
                (_, Some(share)) => {
                    share.stay((*left, *change), now.plus(*lease));
                    Outcome::StillHeld(share.count)
                }
            };
            record.remember(claim, cancel.as_ref(), now);
            outcome
        }
        // About no claim, and done already; or nothing for a lock.
        _ => Outcome::NotHeld,
    }
}

/// A claim leaves for good, or the line. The last one may leave the lock taken for a while.
fn leave(record: &mut Record, claim: &Claim, keep: Duration, now: Time) -> Outcome {
    record.leave_line(claim);
    let alone = record.shares.len() == 1;
    match share(record, claim) {
        None => Outcome::NotHeld,
        Some(share) if alone && !keep.is_zero() => {
            share.ends = now.plus(keep);
            Outcome::Kept
        }
        Some(_) => {
            record.shares.retain(|share| share.claim != *claim);
            if record.shares.is_empty() { Outcome::Released } else { Outcome::Left }
        }
    }
}

pub(super) fn share<'a>(record: &'a mut Record, claim: &Claim) -> Option<&'a mut Share> {
    record.shares.iter_mut().find(|share| share.claim == *claim)
}

/// Of those who hold and whom the asker does not stand under, the one that holds for longest.
pub(super) fn in_the_way(record: &Record, under: &[Claim], now: Time) -> Option<Holder> {
    let strangers = record.shares.iter().filter(|share| !under.contains(&share.claim));
    strangers.max_by_key(|share| (share.ends, &share.claim)).map(|share| share.holder(now))
}

/// Who is in, as others see it, in the order in which they came.
pub(crate) fn holders(shares: &[Share], now: Time) -> Vec<Holder> {
    let mut shares: Vec<&Share> = shares.iter().collect();
    shares.sort_by_key(|share| (share.since, &share.claim));
    shares.into_iter().map(|share| share.holder(now)).collect()
}

impl Share {
    pub(super) fn grant(&self) -> Grant {
        Grant { token: self.token, count: self.count }
    }

    /// Goes on in so many entries, unless a later change said otherwise, until `end` at least.
    fn stay(&mut self, (count, change): (u32, u32), end: Time) {
        if change >= self.change {
            (self.count, self.change) = (count, change);
        }
        self.ends = self.ends.max(end);
    }

    fn holder(&self, now: Time) -> Holder {
        Holder {
            claim: self.claim.clone(),
            count: self.count,
            // A permit that is passed on by its name has none.
            token: (self.kind != Kind::Permits).then_some(self.token),
            remaining: Some(self.ends.since(now)),
            held_for: Some(now.since(self.since)),
        }
    }
}
