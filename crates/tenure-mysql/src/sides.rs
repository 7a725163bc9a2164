//! The side connections: for all that is no row lock, in short transactions.

use crate::error::Failure;
use crate::link::{self, in_time};
use crate::schema;
use mysql_async::prelude::{FromRow, Queryable};
use mysql_async::{Conn, Opts, Params};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

/// So many at the most: transactions are short, and one more would only wait in the server.
pub(crate) const MOST: usize = 4;
/// One that was not used for so long is closed, before the server does it.
const IDLE: Duration = Duration::from_secs(3);
/// Before something is tried again.
const PAUSE: Duration = Duration::from_millis(2);
/// There is no such session.
const NO_THREAD: u16 = 1094;
/// For how long a statement waits for somebody else's short transaction. The server counts in whole seconds.
const LOCK_WAIT: Duration = Duration::from_secs(1);

/// The side connections of a client.
pub(crate) struct Sides {
    opts: Opts,
    room: Semaphore,
    idle: Mutex<Vec<(Conn, Instant)>>,
    /// Whether the tables were found to be there.
    has_schema: AtomicBool,
}

/// One of them, in a transaction. It is closed unless it is [put back](Side::rest).
pub(crate) struct Side<'a> {
    sides: &'a Sides,
    conn: Conn,
    until: Instant,
    /// Whether it was lying idle: it may have been closed by the server meanwhile.
    pub(crate) was_idle: bool,
    _room: SemaphorePermit<'a>,
}

impl Sides {
    pub(crate) fn new(opts: Opts) -> Self {
        Self { opts, room: Semaphore::new(MOST), idle: Mutex::default(), has_schema: AtomicBool::new(false) }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<(Conn, Instant)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One for a transaction that must be over by then.
    pub(crate) async fn take(&self, until: Instant) -> Result<Side<'_>, Failure> {
        let room = in_time(until, async { self.room.acquire().await.map_err(|_| Failure::Late) }).await?;
        let idle = self.idle().pop();
        let was_idle = idle.is_some();
        let mut conn = match idle {
            Some((conn, _)) => conn,
            None => link::open(&self.opts, LOCK_WAIT, "", until).await?,
        };
        if !self.has_schema.load(Ordering::Acquire) {
            in_time(until, schema::ensure(&mut conn)).await?;
            self.has_schema.store(true, Ordering::Release);
        }
        Ok(Side { sides: self, conn, until, was_idle, _room: room })
    }

    /// Closes those that nobody has used for long.
    pub(crate) fn close_idle(&self) {
        self.idle().retain(|(_, since)| since.elapsed() < IDLE);
    }

    /// Closes all that lie idle.
    pub(crate) fn close_all(&self) {
        self.idle().clear();
    }

    /// Whether anything was ever asked of the server.
    pub(crate) fn are_used(&self) -> bool {
        self.has_schema.load(Ordering::Acquire)
    }

    /// The tables may not be there any more.
    pub(crate) fn doubt_schema(&self) {
        self.has_schema.store(false, Ordering::Release);
    }

    /// All rows of an answer, in a transaction that changes nothing.
    pub(crate) async fn read<T>(
        &self,
        statement: &str,
        params: impl Into<Params> + Send,
        until: Instant,
    ) -> Result<Vec<T>, Failure>
    where
        T: FromRow + Send + 'static,
    {
        let params = params.into();
        loop {
            let mut side = self.take(until).await?;
            match side.rows(statement, params.clone()).await {
                Ok(rows) => {
                    side.roll_back().await?;
                    return Ok(rows);
                }
                Err(failure) => self.again(failure, side.was_idle, until).await?,
            }
        }
    }

    /// Changes something, in a transaction of its own.
    pub(crate) async fn write(
        &self,
        statement: &str,
        params: impl Into<Params> + Send,
        until: Instant,
    ) -> Result<(), Failure> {
        let params = params.into();
        loop {
            let mut side = self.take(until).await?;
            match side.run(statement, params.clone()).await {
                Ok(_) => return side.commit().await,
                Err(failure) => self.again(failure, side.was_idle, until).await?,
            }
        }
    }

    /// Ends a session of this user's.
    pub(crate) async fn end(&self, connection: u64, until: Instant) -> Result<(), Failure> {
        loop {
            let mut side = self.take(until).await?;
            match side.end(connection).await {
                Ok(()) => return side.roll_back().await,
                Err(failure) => self.again(failure, side.was_idle, until).await?,
            }
        }
    }

    /// Whether to begin anew after a failure, before which nothing was committed.
    pub(crate) async fn again(&self, failure: Failure, was_idle: bool, until: Instant) -> Result<(), Failure> {
        let again = if failure.is_gone() && was_idle {
            // The server was restarted, or did not like to wait: the others that lie idle are gone too.
            self.close_all();
            true
        } else if failure.is_missing() {
            self.doubt_schema();
            true
        } else {
            failure.is_passing()
        };
        if !again || Instant::now() >= until {
            return Err(failure);
        }
        tokio::time::sleep(PAUSE).await;
        Ok(())
    }
}

impl Side<'_> {
    /// All rows of an answer.
    pub(crate) async fn rows<T>(&mut self, statement: &str, params: impl Into<Params> + Send) -> Result<Vec<T>, Failure>
    where
        T: FromRow + Send + 'static,
    {
        let params = params.into();
        in_time(self.until, async { Ok(self.conn.exec(statement, params).await?) }).await
    }

    /// Changes something; says how many rows it changed.
    pub(crate) async fn run(&mut self, statement: &str, params: impl Into<Params> + Send) -> Result<u64, Failure> {
        let params = params.into();
        in_time(self.until, async {
            self.conn.exec_drop(statement, params).await?;
            Ok(self.conn.affected_rows())
        })
        .await
    }

    /// Ends a session of this user's; one that is gone already is as good.
    pub(crate) async fn end(&mut self, connection: u64) -> Result<(), Failure> {
        let end = in_time(self.until, async { Ok(self.conn.query_drop(format!("KILL {connection}")).await?) });
        match end.await {
            Err(failure) if failure.code() == Some(NO_THREAD) => Ok(()),
            done => done,
        }
    }

    /// Makes it last.
    pub(crate) async fn commit(self) -> Result<(), Failure> {
        self.end_with("COMMIT".to_owned()).await
    }

    /// Does one thing more and makes all of it last, or none.
    pub(crate) async fn commit_with(self, last: &str) -> Result<(), Failure> {
        // The server leaves the second out if the first fails.
        self.end_with(format!("{last}; COMMIT")).await
    }

    async fn end_with(mut self, statement: String) -> Result<(), Failure> {
        let done = in_time(self.until, async { Ok(self.conn.query_drop(statement).await?) }).await;
        done.map_err(|failure| Failure::Commit(Box::new(failure)))?;
        self.rest();
        Ok(())
    }

    /// As if nothing had been asked.
    pub(crate) async fn roll_back(mut self) -> Result<(), Failure> {
        in_time(self.until, async { Ok(self.conn.query_drop("ROLLBACK").await?) }).await?;
        self.rest();
        Ok(())
    }

    /// Nothing is open in it.
    fn rest(self) {
        let Self { sides, conn, .. } = self;
        sides.idle().push((conn, Instant::now()));
    }
}
