//! The line of clients that wait for a lock, and whom a release calls.
//!
//! A client is in line for as long as it listens for a key; where it stands there, and whether it counts as waiting, is
//! kept as its state. A release calls the one that has waited longest, and names a second as a reserve, which holds back
//! for a moment in case the first does not come. Nobody else is woken. It is no fair lock: anybody may take a free one,
//! and one who was called but came too late stands in its old place again.

use crate::error::Failure;
use crate::file::{File, Lasting};
use crate::locks::{bytes, moment};
use rusqlite::{OptionalExtension, params};
use tenure_core::records::{FreeTo, Freed, Notices};
use tenure_core::{Claim, Key, Operation, Outcome, Stay, Step};

/// How a client stands in line. The order is that in which they are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It waits.
    Waits = 0,
    /// It was called and not heard of since: others go first, in case it is stuck.
    Called = 1,
    /// It has had the lock and nobody of its own is left behind, but it still listens.
    Served = 2,
}

/// Something that a client is to be told.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) client: String,
    pub(crate) words: String,
}

/// It is this client's turn to take the lock.
pub(crate) const TURN: &str = "turn";
/// The lock is free, but it is somebody else's turn.
pub(crate) const FREE: &str = "free";
/// It is the turn of a claim of this client's that stands in line.
pub(crate) const CALL: &str = "call";
/// A claim of this client's was released by force.
pub(crate) const FORCED: &str = "forced";
/// Too much has happened to tell, or what lies beside the file was removed: look at everything.
pub(crate) const LOOK: &str = "look";

impl File {
    /// Puts a client in line for keys, and takes it out of line for others.
    pub(crate) fn stand(&self, client: &str, come: &[Key], gone: &[Key]) -> Result<(), Failure> {
        self.write(Lasting::No, |file| {
            for key in gone {
                file.leave(bytes(key), client)?;
            }
            let statement = "INSERT INTO waiters VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING";
            for key in come {
                file.db().prepare_cached(statement)?.execute(params![
                    bytes(key),
                    client,
                    moment(file.now()),
                    State::Waits as i64
                ])?;
            }
            Ok(())
        })
    }

    /// Takes a client out of every line.
    pub(crate) fn leave_all(&self, client: &str) -> Result<(), Failure> {
        self.write(Lasting::No, |file| {
            file.db().execute("DELETE FROM waiters WHERE client = ?1", [client])?;
            Ok(())
        })
    }

    /// Takes a client out of the line for a key.
    pub(crate) fn leave(&self, key: &[u8], client: &str) -> Result<(), Failure> {
        let mut statement = self.db().prepare_cached("DELETE FROM waiters WHERE key = ?1 AND client = ?2")?;
        statement.execute(params![key, client])?;
        Ok(())
    }

    /// Whether a client that finds the lock taken stands where it should, or not at all.
    pub(crate) fn stands_well(&self, step: &Step) -> Result<bool, Failure> {
        let (Operation::Acquire { claim, stay, .. } | Operation::Take { claim, stay, .. }) = &step.operation else {
            return Ok(true);
        };
        if *stay == Stay::No {
            return Ok(true);
        }
        let mut statement = self.db().prepare_cached("SELECT state FROM waiters WHERE key = ?1 AND client = ?2")?;
        let state: Option<i64> =
            statement.query_row(params![bytes(&step.key), claim.client()], |row| row.get(0)).optional()?;
        Ok(state.is_none_or(|state| state == State::Waits as i64))
    }

    /// What an acquire's answer means for where the client stands.
    pub(crate) fn keep_place(&self, key: &Key, client: &str, stay: Stay, outcome: &Outcome) -> Result<(), Failure> {
        let (state, anew) = match (stay, outcome) {
            // It got the lock, and stands in line again for those of its own that are behind it.
            (Stay::Waited { more: true }, Outcome::Granted(_)) => (State::Waits, true),
            (Stay::Waited { more: false }, Outcome::Granted(_)) => (State::Served, true),
            // Too late: it stands where it stood. One that was served has no old place.
            (Stay::Waits | Stay::Waited { .. }, Outcome::Busy(_)) => (State::Waits, false),
            _ => return Ok(()),
        };
        let statement = "UPDATE waiters SET since = iif(?3 OR state = 2, ?4, since), state = ?5
                         WHERE key = ?1 AND client = ?2";
        self.db().prepare_cached(statement)?.execute(params![
            bytes(key),
            client,
            anew,
            moment(self.now()),
            state as i64
        ])?;
        Ok(())
    }

    /// What to say to whom, and in what order. Those who died are taken out of the line.
    pub(crate) fn calls(&self, notices: &Notices) -> Result<Vec<Call>, Failure> {
        let call =
            |word| move |claim: &Claim| Call { client: claim.client().to_owned(), words: format!("{word} {claim}") };
        let mut calls: Vec<Call> = notices.called.iter().map(call(CALL)).collect();
        calls.extend(notices.forced.iter().map(call(FORCED)));
        for Freed { topic, to } in &notices.freed {
            self.call_line(&topic.key, *to, &mut calls)?;
        }
        Ok(calls)
    }

    fn call_line(&self, key: &Key, to: FreeTo, calls: &mut Vec<Call>) -> Result<(), Failure> {
        let mut heard = self.in_line(bytes(key))?.into_iter().filter_map(|(client, _)| {
            if self.bells.is_heard(&client) { Some(Ok(client)) } else { self.leave(bytes(key), &client).err().map(Err) }
        });
        if let Some(client) = heard.next().transpose()? {
            if to == FreeTo::One {
                let statement = "UPDATE waiters SET state = max(state, ?3) WHERE key = ?1 AND client = ?2";
                self.db().prepare_cached(statement)?.execute(params![bytes(key), client, State::Called as i64])?;
            }
            calls.push(Call { client, words: format!("{TURN} {key}") });
        }
        // The second stands in for the first, should that not come; of more than one who may go on, all look.
        let (word, others) = match to {
            FreeTo::One => (FREE, 1),
            FreeTo::Nested => (FREE, usize::MAX),
            FreeTo::All => (TURN, usize::MAX),
        };
        for client in heard.take(others) {
            calls.push(Call { client: client?, words: format!("{word} {key}") });
        }
        Ok(())
    }

    /// A client was called and nobody of its own waits any more: it is the next one's turn.
    pub(crate) fn pass_on(&self, key: &Key, client: &str) -> Result<(), Failure> {
        let calls = self.write(Lasting::No, |file| {
            // One that has asked since is not called any more.
            let statement = "UPDATE waiters SET state = ?3 WHERE key = ?1 AND client = ?2 AND state = ?4";
            let states = (State::Served as i64, State::Called as i64);
            let changed =
                file.db().prepare_cached(statement)?.execute(params![bytes(key), client, states.0, states.1])?;
            let mut calls = Vec::new();
            if changed > 0 {
                file.call_line(key, FreeTo::One, &mut calls)?;
            }
            Ok(calls)
        })?;
        // Outside: whoever is rung finds what was written.
        for Call { client: next, words } in calls {
            // The last in line has nobody to pass it on to.
            if next != client {
                self.bells.ring(&next, &words);
            }
        }
        Ok(())
    }

    /// How many clients wait for a lock.
    pub(crate) fn waiters(&self, key: &Key) -> Result<u32, Failure> {
        let waiting = self.in_line(bytes(key))?.into_iter();
        let waiting = waiting.filter(|(client, state)| *state < State::Served as i64 && self.bells.is_heard(client));
        Ok(u32::try_from(waiting.count()).unwrap_or(u32::MAX))
    }

    /// The clients in line in the order in which they are called, with their states.
    pub(crate) fn in_line(&self, key: &[u8]) -> Result<Vec<(String, i64)>, Failure> {
        let mut statement =
            self.db().prepare_cached("SELECT client, state FROM waiters WHERE key = ?1 ORDER BY state, since")?;
        let rows = statement.query_map([key], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}
