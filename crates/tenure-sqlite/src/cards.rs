//! The cards of clients, for people who meet their locks.

use crate::error::Failure;
use crate::file::{File, Lasting};
use crate::locks::moment;
use rusqlite::{OptionalExtension, params};
use std::time::Duration;
use tenure_core::Card;

impl File {
    /// Keeps a client's card for a while; for no time at all, removes it.
    pub(crate) fn announce(&self, client: &str, card: &Card, keep: Duration) -> Result<(), Failure> {
        self.write(Lasting::No, |file| {
            let now = file.now();
            // Those of clients that were killed go with it.
            file.db().execute("DELETE FROM clients WHERE client = ?1 OR until <= ?2", params![client, moment(now)])?;
            if !keep.is_zero() {
                file.db().execute(
                    "INSERT INTO clients VALUES (?1, ?2, ?3, ?4, ?5)",
                    params![client, card.host, card.pid, card.label, moment(now.plus(keep))],
                )?;
            }
            Ok(())
        })
    }

    /// The card of a client, if it left one.
    pub(crate) fn look_up(&self, client: &str) -> Result<Option<Card>, Failure> {
        let statement = "SELECT host, pid, label FROM clients WHERE client = ?1 AND until > ?2";
        let found = self.db().query_row(statement, params![client, moment(self.now())], |row| {
            Ok(Card { host: row.get(0)?, pid: row.get(1)?, label: row.get(2)? })
        });
        Ok(found.optional()?)
    }
}
