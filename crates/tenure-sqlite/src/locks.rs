//! The locks in the file: every batch is a transaction.

use crate::error::Failure;
use crate::file::{File, Lasting};
use crate::line::Call;
use crate::machine;
use rusqlite::params;
use tenure_core::kernel::{Countdown, Record, Time};
use tenure_core::records::{Entry, Liveness, Loaded, Page, run};
use tenure_core::{Applied, Batch, Key, Kind, Operation, Outcome, Step, Token};

/// How far the ceiling is raised: tokens follow the clock in microseconds, so that the disk is synced every ten seconds at
/// the most, and what is left out after a power loss has passed before the machine is up again.
const HEADROOM: Token = 10_000_000;
/// How many records are read at a time: enough to make turns rare, few enough to let others have theirs.
const PAGE: i64 = 500;
/// The next records, by their keys.
const NEXT: &str = "SELECT key, record FROM locks WHERE key > ?1 ORDER BY key LIMIT ?2";

impl File {
    /// Applies a batch, and tells those whom it concerns.
    pub(crate) fn apply(&self, batch: Batch<'_>) -> Result<Applied, Failure> {
        if let Some(applied) = self.look(batch)? {
            return Ok(applied);
        }
        let work = |file: &Self| file.step(batch);
        let (applied, calls) = match self.write(Lasting::No, work) {
            Err(Failure::MustLast) => self.write(Lasting::Yes, work)?,
            done => done?,
        };
        // After the commit: one who is woken must find the lock free. One who is not, because we die right here, looks by
        // itself within a second.
        for call in calls {
            self.bells.ring(&call.client, &call.words);
        }
        Ok(applied)
    }

    /// The answer, if it can be given without writing: one who looks waits for nobody, and nobody for it. Most of those
    /// who wait for a lock find it taken when they ask.
    fn look(&self, batch: Batch<'_>) -> Result<Option<Applied>, Failure> {
        let may_change = |step: &Step| {
            !step.operation.is_look() && !matches!(step.operation, Operation::Acquire { .. } | Operation::Take { .. })
        };
        if batch.steps.iter().any(may_change) {
            return Ok(None);
        }
        let before = self.entries(batch, 0)?;
        let done = run(batch, self.loaded(before.clone()));
        if batch.only_looks() || matches!(done.applied, Applied::Stopped { .. }) {
            return Ok(Some(done.applied));
        }
        for (step, outcome) in outcomes(batch, &done.applied) {
            if matches!(outcome, Outcome::Granted(_)) || !self.stands_well(step)? {
                return Ok(None);
            }
        }
        let same = before.iter().zip(&done.entries).all(|(before, after)| before.record == after.record);
        Ok(same.then_some(done.applied))
    }

    /// The batch, written down. To be called in a transaction that writes.
    fn step(&self, batch: Batch<'_>) -> Result<(Applied, Vec<Call>), Failure> {
        let watermark = if batch.counts() { self.meta("watermark")?.max(machine::floor()) } else { 0 };
        let before = self.entries(batch, watermark)?;
        let done = run(batch, self.loaded(before.clone()));
        for (key, (before, after)) in batch.keys().into_iter().zip(before.iter().zip(&done.entries)) {
            self.note(key, &before.record, &after.record)?;
        }
        if batch.counts() && done.watermark() != watermark {
            self.hand_out(done.watermark())?;
        }
        for (step, outcome) in outcomes(batch, &done.applied) {
            if let Operation::Acquire { claim, stay, .. } | Operation::Take { claim, stay, .. } = &step.operation {
                self.keep_place(&step.key, claim.client(), *stay, outcome)?;
            }
        }
        let calls = self.calls(&done.notices)?;
        self.sweep()?;
        Ok((done.applied, calls))
    }

    /// What the file has of the batch's locks.
    fn entries(&self, batch: Batch<'_>, watermark: Token) -> Result<Vec<Entry>, Failure> {
        let shows =
            batch.steps.iter().any(|step| matches!(step.operation, Operation::Inspect | Operation::ForceRelease));
        let entry = |key| {
            let record = self.load(key)?.unwrap_or_default();
            let waiters = if shows { Some(self.waiters(key)?) } else { None };
            Ok(Entry { waiters, ..Entry::new(record, watermark) })
        };
        batch.keys().into_iter().map(entry).collect()
    }

    fn loaded(&self, entries: Vec<Entry>) -> Loaded {
        Loaded { entries, now: self.now(), liveness: Liveness::Leases }
    }

    /// Writes down what has become of a lock. What outlives a boot is on the disk before anybody is told.
    pub(crate) fn note(&self, key: &Key, before: &Record, after: &Record) -> Result<(), Failure> {
        if lasting(after) != lasting(before) && !self.lasts() {
            return Err(Failure::MustLast);
        }
        if after != before {
            self.store(key, after)?;
        }
        Ok(())
    }

    /// Ends all that ends with a boot, whose moments mean nothing in the next one.
    pub(crate) fn end_leases(&self) -> Result<(), Failure> {
        let never = moment(Time::MAX);
        self.db().execute("DELETE FROM locks WHERE forget < ?1", [never])?;
        let (mut statement, mut after) = (self.db().prepare(NEXT)?, Vec::new());
        loop {
            let page: Vec<(Vec<u8>, String)> = statement
                .query_map(params![after, PAGE], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect::<Result<_, _>>()?;
            let Some((last, _)) = page.last() else { return Ok(()) };
            after.clone_from(last);
            for (key, record) in page {
                // What a later version has written is for that one to end.
                let Ok(record) = record.parse::<Record>() else { continue };
                let (supply, latch, fence) = lasting(&record);
                let kept = Record { supply, latch: latch.cloned(), fence, ..Record::default() };
                let statement = "UPDATE locks SET record = ?2 WHERE key = ?1";
                self.db().prepare_cached(statement)?.execute(params![key, kept.to_string()])?;
            }
        }
    }

    /// Notes that a token is handed out.
    ///
    /// To sync the disk for each of them would cost more than all the rest. So it is synced when a token is above the
    /// ceiling, which is then raised above many more; a boot that cannot know what was lost counts on from the ceiling.
    pub(crate) fn hand_out(&self, token: Token) -> Result<(), Failure> {
        if token > self.meta("ceiling")? {
            if !self.lasts() {
                return Err(Failure::MustLast);
            }
            self.set_meta("ceiling", token.saturating_add(HEADROOM))?;
        }
        self.set_meta("watermark", token)
    }

    /// The next locks after a key.
    pub(crate) fn page(&self, after: &[u8]) -> Result<Page, Failure> {
        let mut statement = self.db().prepare_cached(NEXT)?;
        let mut rows = statement.query(params![after, PAGE])?;
        let (mut entries, mut last, mut looked) = (Vec::new(), Vec::new(), 0);
        while let Some(row) = rows.next()? {
            (last, looked) = (row.get(0)?, looked + 1);
            let Some(key) = str::from_utf8(&last).ok().and_then(|name| Key::new(name).ok()) else { continue };
            // What a later version has written is not what was asked for.
            let Ok(record) = row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?.parse::<Record>() else {
                continue;
            };
            let waiters = Some(self.waiters(&key)?);
            entries.push((key, Entry { waiters, ..Entry::new(record, 0) }));
        }
        let next = (looked == PAGE).then_some(last);
        Ok(Page { entries, now: self.now(), liveness: Liveness::Leases, next })
    }

    pub(crate) fn load(&self, key: &Key) -> Result<Option<Record>, Failure> {
        let mut statement = self.db().prepare_cached("SELECT record FROM locks WHERE key = ?1")?;
        let mut rows = statement.query([bytes(key)])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        Ok(Some(row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?.parse()?))
    }

    pub(crate) fn store(&self, key: &Key, record: &Record) -> Result<(), Failure> {
        if record.is_empty() {
            self.db().prepare_cached("DELETE FROM locks WHERE key = ?1")?.execute([bytes(key)])?;
        } else {
            let statement = "INSERT INTO locks VALUES (?1, ?2, ?3)
                             ON CONFLICT DO UPDATE SET record = excluded.record, forget = excluded.forget";
            self.db().prepare_cached(statement)?.execute(params![
                bytes(key),
                record.to_string(),
                moment(record.forget_at())
            ])?;
        }
        Ok(())
    }

    pub(crate) fn meta(&self, name: &str) -> Result<Token, Failure> {
        let mut statement = self.db().prepare_cached("SELECT value FROM meta WHERE name = ?1")?;
        let found: i64 = statement.query_row([name], |row| row.get(0))?;
        Ok(found.try_into().unwrap_or(0))
    }

    fn set_meta(&self, name: &str, token: Token) -> Result<(), Failure> {
        let mut statement = self.db().prepare_cached("UPDATE meta SET value = ?2 WHERE name = ?1")?;
        statement.execute(params![name, number(token)])?;
        Ok(())
    }
}

/// The steps with what came of each.
fn outcomes<'a>(batch: Batch<'a>, applied: &'a Applied) -> impl Iterator<Item = (&'a Step, &'a Outcome)> {
    let answers = if let Applied::Each(answers) = applied { &**answers } else { &[] };
    batch.steps.iter().zip(answers.iter().flatten())
}

/// What is kept of a lock until somebody removes it, over boots as well: how many permits there are, how often a latch is to be
/// counted down, and the last of the tokens of its own.
fn lasting(record: &Record) -> (Option<(Kind, i64)>, Option<&Countdown>, Token) {
    (record.supply, record.latch.as_ref(), record.fence)
}

/// A key as the file has it: its bytes, which have one order and are never folded.
pub(crate) fn bytes(key: &Key) -> &[u8] {
    key.as_str().as_bytes()
}

/// A moment as the file has it.
pub(crate) fn moment(time: Time) -> i64 {
    number(time.as_micros())
}

fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Machine;
    use crate::patience;
    use crate::ticket::Ticket;
    use std::sync::Arc;
    use std::time::{Duration, Instant};
    use tenure_core::kernel::{Counting, Stay, Supplying};
    use tenure_core::{Claim, Clock, ManualClock};

    /// Whether a power loss leaves what was told of an operation.
    fn lasts(file: &File, kind: Kind, operation: &Operation) -> bool {
        let step = Step::new(kind, &Key::new(kind.name()).unwrap(), operation.clone());
        file.apply(Batch::one(&step)).unwrap().single().unwrap();
        file.lasts()
    }

    fn acquire(number: u64) -> Operation {
        let claim = Claim::new("client", number);
        Operation::Acquire { claim, under: Vec::new(), lease: Duration::from_secs(60), stay: Stay::No }
    }

    #[test]
    fn what_outlives_a_boot_is_synced_and_what_does_not_is_not() {
        let soon = Instant::now() + Duration::from_secs(60);
        patience::with(soon, &Arc::new(Ticket::default()), || {
            let directory = tempfile::tempdir().unwrap();
            let machine = Machine::pretended("boot", Clock::from(ManualClock::new()));
            let file = File::open(&directory.path().join("locks"), &machine).unwrap();
            // The first token raises the ceiling.
            assert!(lasts(&file, Kind::Reentrant, &acquire(1)));
            let renew = Operation::Renew { claim: Claim::new("client", 1), lease: Duration::from_secs(60) };
            assert!(!lasts(&file, Kind::Reentrant, &renew));
            for (kind, operation) in [
                (Kind::Fenced, acquire(2)),
                (Kind::Semaphore, Operation::Supply(Supplying::Set(3))),
                (Kind::Latch, Operation::Count(Counting::Set(2))),
                (Kind::Latch, Operation::Count(Counting::Down(None))),
            ] {
                assert!(lasts(&file, kind, &operation), "{operation:?}");
                assert!(!lasts(&file, Kind::Reentrant, &renew), "{operation:?}");
            }
        });
    }
}
