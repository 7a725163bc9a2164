//! A session that has row locks: a connection of its own, for as long as the lock is held or waited for.

use crate::error::Failure;
use crate::link::{self, IDLE, in_time};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Opts};
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use uuid::Uuid;

/// For how long one statement waits for a row before it is asked again whether anybody still wants it. A client that was cut
/// off while it waited is out of the server's line after that.
const LOCK_WAIT: Duration = Duration::from_secs(5);

/// A session. Dropping it closes the connection, with which every lock of its own ends.
pub(crate) struct Session {
    conn: Conn,
    /// The name by which everybody can tell whether it is alive: a named lock that it has until it ends.
    pub(crate) name: String,
    /// How long the server leaves it alone.
    idle: u64,
    /// Whether a transaction is open in it.
    open: bool,
    _room: OwnedSemaphorePermit,
}

/// What became of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Row {
    /// We have it.
    Ours,
    /// Somebody else has it.
    Taken,
    /// There is none.
    Missing,
}

/// Whether to wait for a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    No,
    Yes,
}

impl Session {
    pub(crate) async fn open(opts: &Opts, room: OwnedSemaphorePermit, until: Instant) -> Result<Self, Failure> {
        let name = format!("tenure-{}", Uuid::new_v4().simple());
        // The name is ours and of letters that mean nothing to SQL.
        let conn = link::open(opts, LOCK_WAIT, &format!("DO GET_LOCK('{name}', 0)"), until).await?;
        Ok(Self { conn, name, idle: IDLE.as_secs(), open: false, _room: room })
    }

    /// The server's number for it.
    pub(crate) fn connection(&self) -> u32 {
        self.conn.id()
    }

    /// How long it may lie idle and still be used.
    pub(crate) fn keeps(&self) -> Duration {
        Duration::from_secs(self.idle) / 2
    }

    /// Locks the row of a name. What it has locked before stays locked.
    pub(crate) async fn lock(&mut self, name: &[u8], wait: Wait, until: Instant) -> Result<Row, Failure> {
        self.lock_all(&[name], wait, until).await
    }

    /// Locks the rows of several names, all of them unless one is missing or taken.
    pub(crate) async fn lock_all(&mut self, names: &[&[u8]], wait: Wait, until: Instant) -> Result<Row, Failure> {
        let statement = locking(names.len(), wait);
        let params: Vec<mysql_async::Value> = names.iter().map(|name| (*name).into()).collect();
        self.open = true;
        let locked = in_time(until, async { Ok(self.conn.exec::<Vec<u8>, _, _>(statement, params).await?) }).await;
        match locked {
            Ok(rows) if rows.len() == names.len() => Ok(Row::Ours),
            Ok(_) => Ok(Row::Missing),
            Err(failure) if failure.is_passing() => Ok(Row::Taken),
            Err(failure) => Err(failure),
        }
    }

    /// Is left alone by the server for a lease from now on at least, and ended by it after that. The server counts from the
    /// last command, so there always is one.
    pub(crate) async fn lease(&mut self, lease: Duration, until: Instant) -> Result<(), Failure> {
        let idle = lease.as_secs() + u64::from(lease.subsec_nanos() > 0);
        if idle == self.idle {
            return self.beat(until).await;
        }
        let statement = format!("SET SESSION wait_timeout = {idle}");
        in_time(until, async { Ok(self.conn.query_drop(statement).await?) }).await?;
        self.idle = idle;
        Ok(())
    }

    /// Shows that both ends are there.
    pub(crate) async fn beat(&mut self, until: Instant) -> Result<(), Failure> {
        in_time(until, async { Ok(self.conn.ping().await?) }).await
    }

    /// Lets go of every row.
    pub(crate) async fn let_go(&mut self, until: Instant) -> Result<(), Failure> {
        if self.open {
            // A statement that timed out leaves the transaction open, and what it had locked locked.
            in_time(until, async { Ok(self.conn.query_drop("COMMIT").await?) }).await?;
            self.open = false;
        }
        Ok(())
    }
}

/// The statement that locks so many rows.
fn locking(count: usize, wait: Wait) -> String {
    let marks = vec!["?"; count].join(", ");
    let wait = if wait == Wait::No { " NOWAIT" } else { "" };
    format!("SELECT name FROM tenure_rows WHERE name IN ({marks}) ORDER BY name FOR UPDATE{wait}")
}
