//! What a store keeps of one lock, whatever its kind, and how to step it.

use crate::kinds::reentrant::Hold;
use crate::{
    Cancelled, Claim, Countdown, Kind, Operation, Outcome, Share, Sight, Span, Spot, Time, Token, Waiter, fair, fenced,
    latch, line, read_write, reentrant, semaphore, simple,
};
use std::sync::Arc;

/// All that a store remembers of one lock. An empty record need not be kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Record {
    /// Who is in, of a lock that one at a time can have.
    pub hold: Option<Hold>,
    /// Who is in, of a lock that several can have, in the order in which they came.
    pub shares: Vec<Share>,
    /// Of a semaphore: as which kind it was begun, and how many permits there are, those that are taken included.
    pub supply: Option<(Kind, i64)>,
    /// Of a latch: how often it is still to be counted down.
    pub latch: Option<Countdown>,
    /// Of a fenced lock: the last token of its own, kept for ever.
    pub fence: Token,
    /// Who stands in line, in the order in which they came.
    pub line: Vec<Waiter>,
    /// Readers who stood in line by then have waited for a writer who was in: they go before the next.
    pub pass: Time,
    /// What was given up before its answer was known.
    pub tombstones: Vec<Tombstone>,
}

/// What of a client's is over, remembered until `forget`.
///
/// Those of one client have nothing in common, and are forgotten together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tombstone {
    /// Whose.
    pub client: Arc<str>,
    /// What.
    pub span: Span,
    /// When it may be forgotten.
    pub forget: Time,
}

/// What a step leaves behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stepped {
    /// The record to keep.
    pub record: Record,
    /// The largest token handed out so far by this store, to keep beside all records.
    pub watermark: Token,
    /// The answer.
    pub outcome: Outcome,
    /// Those in line whose turn has come with this step: they would be let in if they asked.
    pub called: Vec<Claim>,
}

/// Applies one operation to a lock of one kind, at one moment of the store's clock. `watermark` is the largest token the
/// store has handed out, for any key; zero if it does not remember.
pub fn step(kind: Kind, mut record: Record, operation: &Operation, now: Time, mut watermark: Token) -> Stepped {
    // Before what has ended is forgotten: whoever comes first because of that is called too.
    let could = line::admissible(&record);
    record.forget_what_ended(now);
    let outcome = match (operation, kind) {
        (Operation::ForceRelease, _) => {
            let sight = record.sight(now);
            record.hold = None;
            record.shares.clear();
            Outcome::Forced(sight)
        }
        (Operation::Inspect, _) => Outcome::Seen(record.sight(now).map(Sight::shortened)),
        (_, Kind::Reentrant) => reentrant::apply(kind, &mut record, operation, now, &mut watermark),
        (_, Kind::Simple) => simple::apply(&mut record, operation, now, &mut watermark),
        (_, Kind::Fair) => fair::apply(&mut record, operation, now, &mut watermark),
        (_, Kind::Fenced) => fenced::apply(&mut record, operation, now, &mut watermark),
        (_, Kind::Semaphore | Kind::Permits) => semaphore::apply(kind, &mut record, operation, now, &mut watermark),
        (_, Kind::Latch) => latch::apply(&mut record, operation, now, &mut watermark),
        (_, Kind::Read | Kind::Write) => read_write::apply(kind, &mut record, operation, now, &mut watermark),
    };
    read_write::note_writers(&mut record, operation, now);
    let called = line::admissible(&record).into_iter().filter(|claim| !could.contains(claim)).collect();
    Stepped { record, watermark, outcome, called }
}

/// The next token.
pub(crate) fn count_up(watermark: &mut Token, now: Time) -> Token {
    *watermark = watermark.saturating_add(1).max(now.as_micros());
    *watermark
}

impl Record {
    /// Whether there is nothing to keep.
    pub fn is_empty(&self) -> bool {
        self.is_passing() && self.forget_at() == Time::default()
    }

    /// Whether all of it ends by itself.
    fn is_passing(&self) -> bool {
        self.supply.is_none() && self.latch.is_none() && self.fence == 0
    }

    /// What the key is in use for, held or not.
    pub(crate) fn in_use_for(&self) -> Option<Kind> {
        let supply = self.supply.map(|(kind, _)| kind);
        self.kind().or(supply).or_else(|| self.latch.as_ref().map(|_| Kind::Latch))
    }

    /// As what the lock is held, if it is: to write, if anybody does.
    pub fn kind(&self) -> Option<Kind> {
        let share = || self.shares.iter().map(|share| share.kind).max_by_key(|kind| *kind == Kind::Write);
        self.hold.as_ref().map(|hold| hold.kind).or_else(share)
    }

    /// When the last of it may be forgotten.
    pub fn forget_at(&self) -> Time {
        if !self.is_passing() {
            return Time::MAX;
        }
        let hold = self.hold.iter().map(|hold| hold.ends);
        let (shares, line) = (self.shares.iter().map(|share| share.ends), self.line.iter().map(|waiter| waiter.ends));
        let tombstones = self.tombstones.iter().map(|tombstone| tombstone.forget);
        hold.chain(shares).chain(line).chain(tombstones).max().unwrap_or_default()
    }

    fn forget_what_ended(&mut self, now: Time) {
        if let Some(hold) = &mut self.hold {
            hold.claims.retain(|entered| entered.ends.is_none_or(|ends| ends > now));
        }
        self.hold.take_if(|hold| hold.ends <= now || hold.claims.is_empty());
        self.shares.retain(|share| share.ends > now);
        self.line.retain(|waiter| waiter.ends > now);
        self.tombstones.retain(|tombstone| tombstone.forget > now);
    }

    pub(crate) fn is_cancelled(&self, claim: &Claim, entry: u32) -> bool {
        let has = |spot| self.tombstones.iter().any(|grave| grave.span.has(spot) && *grave.client == *claim.client());
        Spot::of(claim, entry).is_some_and(has)
    }

    /// Remembers that something of the claim's client was given up. What says the same, or less, is not needed any more.
    pub(crate) fn remember(&mut self, claim: &Claim, cancel: Option<&Cancelled>, now: Time) {
        let Some(Cancelled { spans, remember }) = cancel.filter(|cancel| !cancel.spans.is_empty()) else { return };
        let client: Arc<str> = claim.client().into();
        let (mut own, others): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.tombstones).into_iter().partition(|grave| grave.client == client);
        let forget = own.iter().map(|grave| grave.forget).fold(now.plus(*remember), Time::max);
        for span in spans {
            let mut all = *span;
            own.retain(|grave| match all.joined(grave.span) {
                Some(joined) => {
                    all = joined;
                    false
                }
                None => true,
            });
            own.push(Tombstone { client: Arc::clone(&client), span: all, forget });
        }
        for grave in &mut own {
            grave.forget = forget;
        }
        self.tombstones = [others, own].concat();
    }

    /// The lock as others see it.
    fn sight(&self, now: Time) -> Option<Sight> {
        let kind = self.kind()?;
        let holders = match &self.hold {
            Some(hold) => hold.holders(now),
            None => read_write::holders(&self.shares, now),
        };
        let waiters = kind.has_line().then(|| u32::try_from(self.waiting_for(kind).count()).unwrap_or(u32::MAX));
        let line = line::seen(self.waiting_for(kind), now);
        Some(Sight { kind, holders, more: 0, waiters, line, votes: Vec::new() })
    }
}
