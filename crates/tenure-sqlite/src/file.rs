//! The open file: one connection, and the transactions on it.

use crate::bells::Bells;
use crate::error::Failure;
use crate::line::LOOK;
use crate::machine::Machine;
use crate::parts::Parts;
use crate::{patience, place, schema, sweep};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use std::cell::Cell;
use std::path::{Path, PathBuf};
use tenure_core::kernel::Time;
use tenure_core::{StoreError, StoreErrorKind, report};

/// Whether a power loss may undo what is written.
///
/// It may undo everything but the ceiling of tokens and what outlives a boot. A machine that lost its power has lost its
/// holders too, and the next boot ends all leases, so that neither a grant nor a release need be found again; but a token
/// that was handed out must never be handed out again, and the wall clock may come back behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lasting {
    /// It is on the disk before anybody is told.
    Yes,
    /// It is there soon.
    No,
}

/// The open file.
pub(crate) struct File {
    db: Connection,
    path: PathBuf,
    parts: Parts,
    machine: Machine,
    pub(crate) bells: Bells,
    lasting: Cell<Lasting>,
    /// How many transactions have written.
    pub(crate) written: Cell<u32>,
}

impl File {
    /// Opens the file, and makes it if there is none.
    pub(crate) fn open(path: &Path, machine: &Machine) -> Result<Self, Failure> {
        let path = place::settle(path)?;
        let mut looks = 0;
        loop {
            match Self::open_once(&path, machine.clone()) {
                Err(failure) if failure.is_torn() && patience::wait(looks) => looks += 1,
                opened => return opened,
            }
            // Those who still have what was removed let go of it when they look.
            if looks == 1 {
                Bells::find(&path)?.ring_all(LOOK);
            }
        }
    }

    fn open_once(path: &Path, machine: Machine) -> Result<Self, Failure> {
        // Only one thread ever has it, so that SQLite needs no mutex of its own.
        let db =
            Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        db.busy_handler(Some(patience::wait))?;
        // Before anything is made beside it: a file of another's is left alone.
        schema::settle(&db, path)?;
        let bells = Bells::open(path)?;
        // Before anything is written: with an index of its own it would be written over what others have in the log.
        let parts = Parts::of(path).ok_or(Failure::Torn)?;
        let file = Self {
            db,
            path: path.to_owned(),
            parts,
            machine,
            bells,
            lasting: Cell::new(Lasting::Yes),
            written: Cell::new(sweep::anywhere()),
        };
        file.write(Lasting::No, |file| {
            schema::make(&file.db, &file.path)?;
            file.join()
        })?;
        Ok(file)
    }

    /// Joins those who use the file. If they lived in another boot, they are dead, and so is all that they held.
    ///
    /// Everybody has a shared lock on the directory of the bells for as long as the file is open; the kernel forgets it
    /// with the process, and at the latest with the machine. Who finds another boot's id in the file wants that lock for
    /// itself: if it gets it, the other boot is over. If it does not, somebody lives whose boot has another id: another
    /// machine, or a container that was given an id of its own. Whether its clock is ours nobody can tell.
    ///
    /// Locks change hands only in transactions that write, one at a time, so that none is missed while it changes.
    fn join(&self) -> Result<(), Failure> {
        let boot: String = self.db.query_row("SELECT value FROM meta WHERE name = 'boot'", [], |row| row.get(0))?;
        if boot != self.machine.boot() {
            // Without any boot's id it is as new. Whoever is alive then has an older file or log open, which was removed,
            // and finds ours when it next asks.
            if !boot.is_empty() && !self.bells.try_alone()? {
                let message = format!(
                    "processes of another machine or container use the file, which have another boot id: give each machine \
                     its own file, or use a server: path=`{}`",
                    self.path.display()
                );
                return Err(StoreError::new(StoreErrorKind::Unsupported, message).into());
            }
            self.end_leases()?;
            self.db.execute_batch(
                "DELETE FROM waiters; DELETE FROM clients;
                 UPDATE meta SET value = (SELECT max(value) FROM meta WHERE name IN ('watermark', 'ceiling'))
                 WHERE name = 'watermark'",
            )?;
            self.db.execute("UPDATE meta SET value = ?1 WHERE name = 'boot'", [self.machine.boot()])?;
        }
        self.bells.together()
    }

    /// Whether the path still leads to the file, and to all that belongs to it.
    pub(crate) fn is_in_place(&self) -> bool {
        self.parts.are_in_place() && self.bells.is_in_place()
    }

    /// The time of the store.
    pub(crate) fn now(&self) -> Time {
        self.machine.now()
    }

    /// Whether what is being written will last.
    pub(crate) fn lasts(&self) -> bool {
        self.lasting.get() == Lasting::Yes
    }

    /// The connection, for statements of one transaction.
    pub(crate) fn db(&self) -> &Connection {
        &self.db
    }

    /// Does some work that writes, whole or not at all. Nobody else writes meanwhile.
    pub(crate) fn write<T>(
        &self,
        lasting: Lasting,
        work: impl FnOnce(&Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.set_lasting(lasting)?;
        // Locked from the start: one who reads first and writes then may find that it has read what is no longer so.
        self.run("BEGIN IMMEDIATE")?;
        let done = if patience::is_wanted() { work(self) } else { Err(given_up()) };
        let done = done.and_then(|done| self.run("COMMIT").map(|()| done).map_err(Failure::Commit));
        if done.is_err() && !self.db.is_autocommit() {
            // If even this fails the connection is given up, which does the same.
            let _ = self.run("ROLLBACK");
        }
        done
    }

    fn set_lasting(&self, lasting: Lasting) -> Result<(), Failure> {
        if self.lasting.get() != lasting {
            self.db.execute_batch(match lasting {
                Lasting::Yes => "PRAGMA synchronous = FULL",
                Lasting::No => "PRAGMA synchronous = NORMAL",
            })?;
            self.lasting.set(lasting);
        }
        Ok(())
    }

    fn run(&self, statement: &str) -> Result<(), rusqlite::Error> {
        self.db.prepare_cached(statement)?.execute([]).map(drop)
    }
}

impl Drop for File {
    /// The last who closes a file moves the log into it and removes the log, by its name. If it was removed before, what
    /// has that name now is others'.
    fn drop(&mut self) {
        if !self.parts.are_in_place()
            && let Err(error) = self.db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
        {
            report(move || tracing::warn!(%error, "a file that was replaced may be written to as it is closed"));
        }
    }
}

/// The one who wanted it went while it waited for its turn.
fn given_up() -> Failure {
    StoreError::new(StoreErrorKind::Unreachable, "nobody wants it any more, nothing was done").into()
}
