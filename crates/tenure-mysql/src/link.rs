//! How a connection is made, whatever it is for.

use crate::error::Failure;
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Opts};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// What every session of ours lives by, whatever the server's defaults are. Between statements it sees what others have
/// committed, and times mean the same in winter and in summer.
const SET_UP: &str = "SET SESSION autocommit = 0, SESSION time_zone = '+00:00', SESSION sql_mode = 'STRICT_ALL_TABLES', \
                      SESSION wait_timeout = 5, SESSION innodb_lock_wait_timeout = ";
/// How long the server leaves a connection alone, as it is set up: one that is cut off in the middle of a transaction is not to
/// keep what it has locked for hours.
pub(crate) const IDLE: Duration = Duration::from_secs(5);
/// A holder does nothing in its transaction, and whoever waits has a statement that takes long: where there are limits to that,
/// each of MariaDB's or MySQL's own, they are not for us.
const UNLIMITED: &str = "/*M!100600 , SESSION idle_transaction_timeout = 0, SESSION idle_readonly_transaction_timeout = 0, \
                         SESSION idle_write_transaction_timeout = 0, SESSION max_statement_time = 0 */ \
                         /*!80000 , SESSION max_execution_time = 0 */";
const ISOLATION: &str = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";

/// The server's time in microseconds, told when the row is read: after whoever had it locked has let go of it.
pub(crate) const NOW: &str = "CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS UNSIGNED)";

/// A connection whose statements wait for locks for so long, and which does something at first.
pub(crate) async fn open(opts: &Opts, wait: Duration, first: &str, until: Instant) -> Result<Conn, Failure> {
    in_time(until, async {
        let mut conn = Conn::new(opts.clone()).await?;
        conn.query_drop(format!("{SET_UP}{} {UNLIMITED}; {ISOLATION}; {first}", wait.as_secs().max(1))).await?;
        Ok(conn)
    })
    .await
}

/// What is asked of the server, if it answers by then.
pub(crate) async fn in_time<T>(until: Instant, asked: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    timeout_at(until, asked).await.unwrap_or(Err(Failure::Late))
}
