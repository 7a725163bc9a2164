//! Forgets what nobody has used for a day: rows, sheets of locks, cards of clients that were killed, and notices that nobody looked for.
//!
//! Of all clients of a database one sweeps each hour. A row that somebody has, or waits for, is passed over, and the tokens of
//! what is forgotten are remembered: they never come again.

use crate::desk::Desk;
use crate::error::Failure;
use crate::link::NOW;
use crate::sides::Side;
use mysql_async::Value;
use std::time::Duration;
use tokio::time::Instant;

/// How often.
pub(crate) const EVERY: Duration = Duration::from_secs(3600);
/// How long something must have been left alone, in microseconds.
const A_DAY: u64 = 24 * 3600 * 1_000_000;
/// How many are looked at in one transaction, and how long all may take.
const PAGE: usize = 100;
const WITHIN: Duration = Duration::from_secs(60);

impl Desk {
    /// Sweeps, if it is time and nobody else does.
    pub(crate) async fn sweep(&self) -> Result<(), Failure> {
        let until = Instant::now() + WITHIN;
        let mut side = self.sides.take(until).await?;
        let turn = format!("UPDATE tenure_meta SET value = {NOW} WHERE name = 'swept' AND value + ? <= {NOW}");
        let every = u64::try_from(EVERY.as_micros()).unwrap_or(u64::MAX);
        let ours = side.run(&turn, (every,)).await? == 1;
        for table in ["tenure_clients", "tenure_notices"] {
            side.run(&format!("DELETE FROM {table} WHERE until <= {NOW}"), ()).await?;
        }
        side.commit().await?;
        let mut after = Some(Vec::new());
        while let Some(name) = after.filter(|_| ours) {
            let mut side = self.sides.take(until).await?;
            after = page(&mut side, &name).await?;
            side.commit().await?;
        }
        Ok(())
    }
}

/// Sweeps the next few names after one; says which was the last, if there are more.
async fn page(side: &mut Side<'_>, after: &[u8]) -> Result<Option<Vec<u8>>, Failure> {
    let unused = format!(
        "SELECT r.name FROM tenure_rows r LEFT JOIN tenure_locks l ON l.name = r.name
         WHERE r.name > ? AND r.made + ? <= {NOW} AND (l.name IS NULL OR (l.used + ? <= {NOW} AND l.forget <= {NOW}))
         UNION
         SELECT l.name FROM tenure_locks l WHERE l.name > ? AND l.used + ? <= {NOW} AND l.forget <= {NOW}
         ORDER BY name LIMIT {PAGE}"
    );
    let names: Vec<Vec<u8>> = side.rows(&unused, (after, A_DAY, A_DAY, after, A_DAY)).await?;
    if names.is_empty() {
        return Ok(None);
    }
    let marks = vec!["?"; names.len()].join(", ");
    let params = || names.iter().map(|name| name.clone().into()).collect::<Vec<Value>>();
    let (all, mut free): (Vec<Vec<u8>>, Vec<Vec<u8>>) = (
        side.rows(&format!("SELECT name FROM tenure_rows WHERE name IN ({marks})"), params()).await?,
        side.rows(&format!("SELECT name FROM tenure_rows WHERE name IN ({marks}) FOR UPDATE SKIP LOCKED"), params())
            .await?,
    );
    // A sheet of a kind that needs no row has none.
    free.extend(names.iter().filter(|name| !all.contains(name)).cloned());
    for name in &free {
        forget(side, name).await?;
    }
    Ok(names.last().filter(|_| names.len() == PAGE).cloned())
}

/// Forgets one, if it was not used since it was looked at. Its row, if it has one, is locked.
async fn forget(side: &mut Side<'_>, name: &[u8]) -> Result<(), Failure> {
    let statement =
        format!("SELECT token, used + ? <= {NOW} AND forget <= {NOW} FROM tenure_locks WHERE name = ? FOR UPDATE");
    let sheet: Option<(u64, bool)> = side.rows(&statement, (A_DAY, name)).await?.into_iter().next();
    match sheet {
        Some((_, false)) => return Ok(()),
        Some((token, true)) => {
            let statement = "UPDATE tenure_meta SET value = GREATEST(value, ?) WHERE name = 'watermark'";
            side.run(statement, (token,)).await?;
            side.run("DELETE FROM tenure_locks WHERE name = ?", (name,)).await?;
        }
        None => {}
    }
    side.run("DELETE FROM tenure_rows WHERE name = ?", (name,)).await?;
    Ok(())
}
