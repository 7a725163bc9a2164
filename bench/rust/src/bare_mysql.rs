//! The bare row lock: `SELECT … FOR UPDATE` and `COMMIT`, and nothing else. No token, no record of who is in, no lease but the
//! connection's: what a lock in MySQL costs at the least. With a write in between, as by whoever keeps a token of its own, the
//! commit goes to disk.

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Opts, OptsBuilder, Result};
use tenure::mysql::InTransaction;

/// A connection for one row.
pub(crate) struct BareMySql {
    conn: Conn,
    row: InTransaction,
    writes: bool,
}

impl BareMySql {
    /// Connects, and makes the row.
    pub(crate) async fn connect(
        url: &str,
        key: &str,
        writes: bool,
    ) -> std::result::Result<Self, Box<dyn std::error::Error>> {
        let opts = OptsBuilder::from_opts(Opts::from_url(url)?).prefer_socket(false).tcp_nodelay(true);
        let mut conn = Conn::new(opts).await?;
        let row = InTransaction::of(key)?;
        conn.exec_drop(row.make_statement(), (row.name(), row.name())).await?;
        conn.query_drop("SET SESSION autocommit = 0").await?;
        conn.query_drop("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED").await?;
        Ok(Self { conn, row, writes })
    }

    pub(crate) async fn take(&mut self) -> Result<()> {
        let found: Option<Vec<u8>> = self.conn.exec_first(self.row.lock_statement(), (self.row.name(),)).await?;
        assert!(found.is_some(), "the row was made");
        if self.writes {
            let write = "UPDATE tenure_rows SET made = made + 1 WHERE name = ?";
            self.conn.exec_drop(write, (self.row.name(),)).await?;
        }
        Ok(())
    }

    pub(crate) async fn free(&mut self) -> Result<()> {
        self.conn.query_drop("COMMIT").await
    }
}
