//! The locks in the file: every operation is a step of the kernel's in a transaction.

use crate::error::Failure;
use crate::file::{File, Lasting};
use crate::machine;
use rusqlite::params;
use tenure_core::kernel::{Countdown, Record, Stepped, Time, step};
use tenure_core::{Claim, Key, Kind, Operation, Outcome, Pattern, Renewal, Sight, Token};

/// How far the ceiling is raised: tokens follow the clock in microseconds, so that the disk is synced every ten seconds at
/// the most, and what is left out after a power loss has passed before the machine is up again.
const HEADROOM: Token = 10_000_000;
/// How many records are read at a time for a listing: enough to make turns rare, few enough to let others have theirs.
const PAGE: i64 = 500;
/// The next records, by their keys. Those that would be forgotten are gone by then.
const NEXT_KEPT: &str = "SELECT key, record FROM locks WHERE key > ?1 ORDER BY key LIMIT ?2";

/// A part of a listing.
pub(crate) struct Page {
    /// The held locks among the records that were looked at.
    pub(crate) held: Vec<(Key, Sight)>,
    /// The last key that was looked at, if there are more.
    pub(crate) next: Option<Vec<u8>>,
}

impl File {
    /// Applies one operation to one lock, and tells those whom it concerns.
    pub(crate) fn apply(&self, kind: Kind, key: &Key, operation: &Operation) -> Result<Outcome, Failure> {
        if let Some(outcome) = self.look(kind, key, operation)? {
            return Ok(outcome);
        }
        let work = |file: &Self| {
            let (mut outcome, called) = file.step(kind, key, operation)?;
            if let Operation::Acquire { claim, stay, .. } | Operation::Take { claim, stay, .. } = operation {
                file.keep_place(key, claim.client(), *stay, &outcome)?;
            }
            file.count_waiters(key, &mut outcome)?;
            let calls = file.calls(key, &outcome, &called)?;
            file.sweep()?;
            Ok((outcome, calls))
        };
        let (outcome, calls) = match self.write(Lasting::No, work) {
            Err(Failure::MustLast) => self.write(Lasting::Yes, work)?,
            done => done?,
        };
        // After the commit: one who is woken must find the lock free. One who is not, because we die right here, looks by
        // itself within a second.
        for call in calls {
            self.bells.ring(&call.client, &call.words);
        }
        Ok(outcome)
    }

    /// The answer, if it can be given without writing: one who looks waits for nobody, and nobody for it. Most of those
    /// who wait for a lock find it taken when they ask.
    fn look(&self, kind: Kind, key: &Key, operation: &Operation) -> Result<Option<Outcome>, Failure> {
        let looks = operation.is_look();
        if !looks && !matches!(operation, Operation::Acquire { .. } | Operation::Take { .. }) {
            return Ok(None);
        }
        let record = match self.load(key)? {
            Some(record) => record,
            None if looks => Record::default(),
            None => return Ok(None),
        };
        let Stepped { record: after, mut outcome, .. } = step(kind, record.clone(), operation, self.now(), 0);
        if looks {
            self.count_waiters(key, &mut outcome)?;
            return Ok(Some(outcome));
        }
        let keeps_place = match operation {
            Operation::Acquire { claim, stay, .. } | Operation::Take { claim, stay, .. } => {
                self.is_in_place_in_line(key, claim.client(), *stay)?
            }
            _ => true,
        };
        Ok((after == record && keeps_place && !matches!(outcome, Outcome::Granted(_))).then_some(outcome))
    }

    /// One step, written down. To be called in a transaction that writes.
    fn step(&self, kind: Kind, key: &Key, operation: &Operation) -> Result<(Outcome, Vec<Claim>), Failure> {
        let before = self.load(key)?.unwrap_or_default();
        let tokens = operation.counts();
        let watermark = if tokens { self.meta("watermark")?.max(machine::floor()) } else { 0 };
        // The time is told within the transaction: of two steps the later one sees the later time.
        let stepped = step(kind, before.clone(), operation, self.now(), watermark);
        self.note(key, &before, &stepped.record)?;
        if tokens && stepped.watermark != watermark {
            self.hand_out(stepped.watermark)?;
        }
        Ok((stepped.outcome, stepped.called))
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
        let (mut statement, mut after) = (self.db().prepare(NEXT_KEPT)?, Vec::new());
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

    /// Renews many holds in one transaction; for each, whether it still holds.
    pub(crate) fn renew(&self, renewals: &[Renewal]) -> Result<Vec<bool>, Failure> {
        self.write(Lasting::No, |file| {
            let renew = |Renewal { kind, key, claim, lease }: &Renewal| {
                let operation = Operation::Renew { claim: claim.clone(), lease: *lease };
                Ok(file.step(*kind, key, &operation)?.0 == Outcome::Renewed)
            };
            renewals.iter().map(renew).collect()
        })
    }

    /// The held locks among the next records after a key.
    pub(crate) fn page(&self, pattern: &Pattern, after: &[u8]) -> Result<Page, Failure> {
        let mut statement =
            self.db().prepare_cached("SELECT key, record FROM locks WHERE key > ?1 ORDER BY key LIMIT ?2")?;
        let mut rows = statement.query(params![after, PAGE])?;
        let (mut held, mut last, mut looked) = (Vec::new(), Vec::new(), 0);
        while let Some(row) = rows.next()? {
            (last, looked) = (row.get(0)?, looked + 1);
            let Some(key) = str::from_utf8(&last).ok().and_then(|name| Key::new(name).ok()) else { continue };
            // What a later version has written is not what was asked for.
            let Ok(record) = row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?.parse::<Record>() else {
                continue;
            };
            if !pattern.matches(key.as_str()) {
                continue;
            }
            let mut outcome = step(Kind::Reentrant, record, &Operation::Inspect, self.now(), 0).outcome;
            self.count_waiters(&key, &mut outcome)?;
            if let Outcome::Seen(Some(sight)) = outcome {
                held.push((key, sight));
            }
        }
        Ok(Page { held, next: (looked == PAGE).then_some(last) })
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
    use tenure_core::{Clock, ManualClock};

    /// Whether a power loss leaves what was told of an operation.
    fn lasts(file: &File, kind: Kind, operation: &Operation) -> bool {
        file.apply(kind, &Key::new(kind.name()).unwrap(), operation).unwrap();
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
