//! The cards of clients, for people who meet their locks.

use crate::desk::Desk;
use crate::error::Failure;
use crate::link::NOW;
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
        if keep.is_zero() {
            let statement = "DELETE FROM tenure_clients WHERE client = ?";
            return self.sides.write(statement, (client.as_bytes(),), until).await;
        }
        let statement = format!(
            "INSERT INTO tenure_clients (client, host, pid, label, until) VALUES (?, ?, ?, ?, {NOW} + ?)
             ON DUPLICATE KEY UPDATE host = VALUES(host), pid = VALUES(pid), label = VALUES(label), until = VALUES(until)"
        );
        let micros = u64::try_from(keep.as_micros()).unwrap_or(u64::MAX / 4);
        let params = (client.as_bytes(), &card.host, card.pid, &card.label, micros);
        self.sides.write(&statement, params, until).await
    }

    /// The card of a client, if it left one.
    pub(crate) async fn look_up(&self, client: &str, until: Instant) -> Result<Option<Card>, Failure> {
        let statement = format!("SELECT host, pid, label FROM tenure_clients WHERE client = ? AND until > {NOW}");
        let found: Vec<(String, u32, String)> = self.sides.read(&statement, (client.as_bytes(),), until).await?;
        Ok(found.into_iter().next().map(|(host, pid, label)| Card { host, pid, label }))
    }
}
