//! The cards of clients, for people who meet their locks.

use crate::desk::Desk;
use crate::error::Failure;
use crate::link::NOW;
use crate::sides::{Side, again};
use std::time::Duration;
use tenure_core::Card;
use tokio::time::Instant;

impl Desk {
    /// Keeps a client's card for a while; for no time at all, removes it.
    pub(crate) async fn announce(
        &self,
        client: &str,
        card: &Card,
        keep: Duration,
        until: Instant,
    ) -> Result<(), Failure> {
        loop {
            let mut side = self.sides.take(until).await?;
            match put(&mut side, client, card, keep).await {
                Ok(()) => return side.commit().await,
                Err(failure) if again(&failure, side.was_idle, &self.sides) && Instant::now() < until => {}
                Err(failure) => return Err(failure),
            }
        }
    }

    /// The card of a client, if it left one.
    pub(crate) async fn look_up(&self, client: &str, until: Instant) -> Result<Option<Card>, Failure> {
        let statement = format!("SELECT host, pid, label FROM tenure_clients WHERE client = ? AND until > {NOW}");
        loop {
            let mut side = self.sides.take(until).await?;
            match side.rows::<(String, u32, String)>(&statement, (client.as_bytes(),)).await {
                Ok(found) => {
                    side.roll_back().await?;
                    return Ok(found.into_iter().next().map(|(host, pid, label)| Card { host, pid, label }));
                }
                Err(failure) if again(&failure, side.was_idle, &self.sides) && Instant::now() < until => {}
                Err(failure) => return Err(failure),
            }
        }
    }
}

async fn put(side: &mut Side<'_>, client: &str, card: &Card, keep: Duration) -> Result<(), Failure> {
    if keep.is_zero() {
        side.run("DELETE FROM tenure_clients WHERE client = ?", (client.as_bytes(),)).await?;
        return Ok(());
    }
    let statement = format!(
        "INSERT INTO tenure_clients (client, host, pid, label, until) VALUES (?, ?, ?, ?, {NOW} + ?)
         ON DUPLICATE KEY UPDATE host = VALUES(host), pid = VALUES(pid), label = VALUES(label), until = VALUES(until)"
    );
    let micros = u64::try_from(keep.as_micros()).unwrap_or(u64::MAX / 4);
    side.run(&statement, (client.as_bytes(), &card.host, card.pid, &card.label, micros)).await?;
    Ok(())
}
