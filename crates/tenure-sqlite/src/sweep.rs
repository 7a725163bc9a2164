//! Forgets what ended while nobody looked: locks whose leases are over, and the places in line of clients that died.
//!
//! Like the hand of a clock it passes over a few rows every few transactions, and comes round to all of them. The hand is
//! kept in the file, and where in its round a process begins is left to chance: processes that live for a moment move it
//! on together.

use crate::error::Failure;
use crate::file::File;
use crate::locks::moment;
use rusqlite::{OptionalExtension, params};
use std::collections::HashMap;

/// After this many transactions, so many rows of each table are passed over.
const EVERY: u32 = 16;
const PAGE: usize = 64;

/// The hands: up to which key the rows of a table were looked at.
const LOCKS: &str = "swept locks";
const WAITERS: &str = "swept waiters";

/// How many transactions a file that was just opened is said to have seen.
pub(crate) fn anywhere() -> u32 {
    fastrand::u32(..EVERY)
}

impl File {
    /// Moves the hands on, if it is time. To be called in a transaction that writes.
    pub(crate) fn sweep(&self) -> Result<(), Failure> {
        self.written.set(self.written.get().wrapping_add(1));
        if self.written.get().is_multiple_of(EVERY) {
            self.sweep_locks()?;
            self.sweep_lines()?;
        }
        Ok(())
    }

    fn sweep_locks(&self) -> Result<(), Failure> {
        let keys = self.pass(LOCKS, "SELECT key FROM locks WHERE key > ?1 ORDER BY key LIMIT ?2")?;
        if let (Some(first), Some(last)) = (keys.first(), keys.last()) {
            let statement = "DELETE FROM locks WHERE key BETWEEN ?1 AND ?2 AND forget <= ?3";
            self.db().prepare_cached(statement)?.execute(params![first, last, moment(self.now())])?;
        }
        Ok(())
    }

    fn sweep_lines(&self) -> Result<(), Failure> {
        let keys = self.pass(WAITERS, "SELECT DISTINCT key FROM waiters WHERE key > ?1 ORDER BY key LIMIT ?2")?;
        // One client stands in many lines, and is asked once.
        let mut heard = HashMap::new();
        for key in keys {
            for (client, _) in self.in_line(&key)? {
                if !*heard.entry(client.clone()).or_insert_with(|| self.bells.is_heard(&client)) {
                    self.leave(&key, &client)?;
                }
            }
        }
        Ok(())
    }

    /// The next keys that a hand passes over. At the last it starts over.
    fn pass(&self, hand: &str, next: &str) -> Result<Vec<Vec<u8>>, Failure> {
        let mut statement = self.db().prepare_cached("SELECT value FROM meta WHERE name = ?1")?;
        let at: Vec<u8> = statement.query_row([hand], |row| row.get(0)).optional()?.unwrap_or_default();
        let mut statement = self.db().prepare_cached(next)?;
        let keys: Vec<Vec<u8>> =
            statement.query_map(params![at, PAGE.cast_signed()], |row| row.get(0))?.collect::<Result<_, _>>()?;
        let to = if keys.len() < PAGE { &[][..] } else { keys.last().map_or(&[][..], Vec::as_slice) };
        if to != at {
            let statement = "INSERT INTO meta VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = excluded.value";
            self.db().prepare_cached(statement)?.execute(params![hand, to])?;
        }
        Ok(keys)
    }
}
