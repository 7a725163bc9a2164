//! What a batch does to the records that it is about.

use super::sessions;
use super::{Liveness, Notices};
use crate::{Applied, Batch};
use std::borrow::Cow;
use tenure_kernel::{Claim, Key, Outcome, Record, Stepped, Time, Token, step};

/// What a store has read.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// An entry for each of the [batch's keys](Batch::keys), in their order; an empty one where the store has nothing.
    pub entries: Vec<Entry>,
    /// The store's time, told within the transaction: of two batches the later one sees the later time.
    pub now: Time,
    /// How the store knows which claims are dead.
    pub liveness: Liveness,
}

/// One lock as a store has it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Entry {
    /// What is remembered of the lock.
    pub record: Record,
    /// The largest token that the store has handed out, for this key at least. Zero if no step [counts](Batch::counts).
    pub watermark: Token,
    /// The claims in the record whose session the store knows to have ended, for ever.
    pub dead: Vec<Claim>,
    /// How many wait for the lock without a place in its queue, if the store knows and somebody looks.
    pub waiters: Option<u32>,
    /// Whether the batch has made news for those who wait for the lock: who finds out by looking is to look again.
    pub news: bool,
}

impl Entry {
    /// A record in a store of leases.
    pub fn new(record: Record, watermark: Token) -> Self {
        Self { record, watermark, dead: Vec::new(), waiters: None, news: false }
    }
}

impl Entry {
    /// Takes the dead out of the record.
    pub(super) fn bury(&mut self, liveness: Liveness) {
        sessions::strike(&mut self.record, &std::mem::take(&mut self.dead), liveness);
    }

    /// Says how many wait, where the record does not.
    pub(super) fn count_waiters(&self, outcome: &mut Outcome) {
        if let Outcome::Seen(Some(sight)) | Outcome::Forced(Some(sight)) = outcome {
            sight.waiters = sight.waiters.or(self.waiters);
        }
    }
}

/// What a batch has done, before anybody knows.
#[derive(Debug, Clone)]
pub struct Done {
    /// What there is now for each of the batch's keys. A store writes those records that differ from what it has read.
    pub entries: Vec<Entry>,
    /// The answer, to be given when what has changed is written.
    pub applied: Applied,
    /// Whom to tell then.
    pub notices: Notices,
}

impl Done {
    /// The largest token of all entries.
    pub fn watermark(&self) -> Token {
        self.entries.iter().map(|entry| entry.watermark).max().unwrap_or(0)
    }
}

/// Takes the steps of a batch. It changes nothing but what it returns, so that a store may call it as often as it must.
pub fn run(batch: Batch<'_>, Loaded { mut entries, now, liveness }: Loaded) -> Done {
    for entry in &mut entries {
        entry.bury(liveness);
    }
    let before = batch.all_or_none.then(|| entries.clone());
    let places = Places::of(batch);
    let (mut answers, mut notices, mut last) = (Vec::with_capacity(batch.steps.len()), Notices::default(), 0);
    for (at, one) in batch.steps.iter().enumerate() {
        let entry = &mut entries[places.get(at)];
        let operation = match liveness {
            Liveness::Leases => Cow::Borrowed(&one.operation),
            Liveness::Sessions => Cow::Owned(sessions::without_end(&one.operation)),
        };
        // Of those that are taken together no two have the same token.
        last = last.max(entry.watermark);
        let stepped = step(one.kind, std::mem::take(&mut entry.record), &operation, now, last);
        let Stepped { record: after, watermark: counted, mut outcome, called } = stepped;
        entry.record = after;
        if operation.counts() {
            (entry.watermark, last) = (counted, counted);
        }
        entry.count_waiters(&mut outcome);
        if liveness == Liveness::Sessions {
            sessions::forget_ends(&mut outcome);
        }
        if let (Some(before), false) = (&before, matches!(outcome, Outcome::Granted(_))) {
            let applied = Applied::Stopped { at, answer: Ok(outcome) };
            return Done { entries: before.clone(), applied, notices: Notices::default() };
        }
        entry.news |= notices.add(one.kind, &one.key, &outcome, called);
        answers.push(Ok(outcome));
    }
    Done { entries, applied: Applied::Each(answers), notices }
}

/// Which entry each step is about.
enum Places {
    /// The only one.
    One,
    Each(Vec<usize>),
}

impl Places {
    fn of(batch: Batch<'_>) -> Self {
        if batch.steps.len() == 1 {
            return Self::One;
        }
        let keys = batch.keys();
        let place = |key: &Key| keys.binary_search(&key).unwrap_or_default();
        Self::Each(batch.steps.iter().map(|step| place(&step.key)).collect())
    }

    fn get(&self, step: usize) -> usize {
        match self {
            Self::One => 0,
            Self::Each(places) => places[step],
        }
    }
}
