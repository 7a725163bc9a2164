//! The line of those who wait for a lock, each in a place of its own: who comes first, and whose turn it is.
//!
//! A place is kept for a while and lost unless its claim asks again: whoever died in line is passed over. Places are told
//! apart by the moment they were taken at, which is never the same for two.

use crate::kinds::read_write::Turns;
use crate::kinds::semaphore;
use crate::operation::Waiting;
use crate::{Busy, Claim, Holder, Kind, Record, Sight, Stay, Time};
use std::time::Duration;

/// One who stands in line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiter {
    /// Who.
    pub claim: Claim,
    /// As what it wants the lock.
    pub kind: Kind,
    /// How many permits it wants, of a semaphore.
    pub want: u32,
    /// The claims it stands under.
    pub under: Vec<Claim>,
    /// Whether it holds the lock to read, and waits to write: it goes before all others.
    pub upgrades: bool,
    /// Since when; no two have the same.
    pub since: Time,
    /// Until when its place is kept.
    pub ends: Time,
}

impl Record {
    /// Those who wait for a lock of this kind, or for its other side.
    pub(crate) fn waiting_for(&self, kind: Kind) -> impl Iterator<Item = &Waiter> {
        self.line.iter().filter(move |waiter| waiter.kind.goes_with(kind))
    }

    /// Leaves the line.
    pub(crate) fn leave_line(&mut self, claim: &Claim) {
        self.line.retain(|waiter| waiter.claim != *claim);
    }

    /// Not now: takes the asker a place in line, or keeps its place, if it wants one.
    pub(crate) fn turn_away(
        &mut self,
        (claim, under, kind): (&Claim, &[Claim], Kind),
        upgrades: bool,
        holder: Option<Holder>,
        stay: Stay,
        now: Time,
    ) -> Busy {
        if let Some(place) = stay.place() {
            let ends = now.plus(place);
            match self.line.iter_mut().find(|waiter| waiter.claim == *claim) {
                Some(waiter) => (waiter.ends, waiter.upgrades) = (waiter.ends.max(ends), upgrades),
                None => {
                    let last = self.line.last().map_or(0, |waiter| waiter.since.as_micros());
                    let since = Time::from_micros(now.as_micros().max(last + 1));
                    let (claim, under) = (claim.clone(), under.to_vec());
                    self.line.push(Waiter { claim, kind, want: 1, under, upgrades, since, ends });
                }
            }
        }
        let again = match &holder {
            Some(_) => self.held_until().map(|ends| ends.since(now)),
            None => self.first(kind).map(|waiter| waiter.ends.since(now)),
        };
        Busy { holder, ahead: self.ahead_of(claim), again, votes: Vec::new() }
    }

    /// When the last of those who hold ends, if nobody renews.
    fn held_until(&self) -> Option<Time> {
        let shares = self.shares.iter().map(|share| share.ends);
        self.hold.iter().map(|hold| hold.ends).chain(shares).max()
    }

    /// How many stand before a claim that stands in line.
    fn ahead_of(&self, claim: &Claim) -> Option<u32> {
        let own = self.line.iter().find(|waiter| waiter.claim == *claim)?;
        let before = |waiter: &&Waiter| !own.upgrades && (waiter.upgrades || waiter.since < own.since);
        Some(self.waiting_for(own.kind).filter(before).count().try_into().unwrap_or(u32::MAX))
    }

    /// Who comes first.
    pub(crate) fn first(&self, kind: Kind) -> Option<&Waiter> {
        self.waiting_for(kind).min_by_key(|waiter| (!waiter.upgrades, waiter.since))
    }
}

impl Record {
    /// Those in line who would be let in if they asked now, for a store that cannot tell them when it changes.
    pub fn admissible(&self) -> Vec<Claim> {
        admissible(self)
    }
}

/// Those in line who would not be told to wait if they asked.
pub(crate) fn admissible(record: &Record) -> Vec<Claim> {
    if record.line.is_empty() {
        return Vec::new();
    }
    let (turns, first) = (Turns::of(record), record.first(Kind::Fair));
    let mut left = semaphore::available(record);
    let mut is_next = |waiter: &&Waiter| match (waiter.kind, &record.hold) {
        // It is told so, and is in nobody's way.
        (Kind::Semaphore, None) if semaphore::falls_short(record, waiter.want).is_some() => true,
        (Kind::Semaphore, None) => {
            // In the order in which they came, and none before one who still has to wait.
            left -= i64::from(waiter.want);
            left >= 0
        }
        (Kind::Fair, None) => record.shares.is_empty() && first.is_some_and(|first| first.claim == waiter.claim),
        (kind, None) => turns.decide(kind, &waiter.claim, &waiter.under, Some(waiter.since)).is_in(),
        // Only beside those it stands under.
        (kind, Some(hold)) => hold.kind == kind && hold.lets_in(&waiter.under),
    };
    record.line.iter().filter(|waiter| is_next(waiter)).map(|waiter| waiter.claim.clone()).collect()
}

/// The line as others see it.
pub(crate) fn seen<'a>(line: impl Iterator<Item = &'a Waiter>, now: Time) -> Vec<Waiting> {
    let seen = |waiter: &Waiter| Waiting {
        claim: waiter.claim.clone(),
        kind: waiter.kind,
        waited: Some(now.since(waiter.since)),
    };
    line.take(Sight::MOST).map(seen).collect()
}

impl Waiter {
    /// For how long clients have their places kept: those behind one who died wait no longer than that.
    pub const PLACE: Duration = Duration::from_secs(3);
}
