//! Notices: whose lock was freed by force is told so when its client next looks, which is soon.

use crate::desk::Desk;
use crate::error::Failure;
use crate::link::NOW;
use crate::sides::Side;
use tenure_core::Claim;
use tokio::time::Instant;

/// For how long a notice is kept for a client that does not look, in microseconds.
const KEPT: u64 = 60_000_000;

/// Leaves a notice for everybody who was put out. To be called in the transaction that did so.
pub(crate) async fn leave(side: &mut Side<'_>, forced: &[Claim]) -> Result<(), Failure> {
    for claim in forced {
        let statement = format!("INSERT IGNORE INTO tenure_notices (client, claim, until) VALUES (?, ?, {NOW} + ?)");
        side.run(&statement, (claim.client().as_bytes(), claim.as_str().as_bytes(), KEPT)).await?;
    }
    Ok(())
}

impl Desk {
    /// Which claims of a client were put out.
    pub(crate) async fn notices(&self, client: &str, until: Instant) -> Result<Vec<Claim>, Failure> {
        let client = client.as_bytes();
        let left: Vec<Vec<u8>> =
            self.sides.read("SELECT claim FROM tenure_notices WHERE client = ?", (client,), until).await?;
        Ok(left.iter().map(|claim| Claim::found(&String::from_utf8_lossy(claim))).collect())
    }
    /// They have been told. Before, or one that cannot be taken away now would never be told.
    pub(crate) async fn told(&self, client: &str, claims: &[Claim], until: Instant) -> Result<(), Failure> {
        for claim in claims {
            let statement = "DELETE FROM tenure_notices WHERE client = ? AND claim = ?";
            self.sides.write(statement, (client.as_bytes(), claim.as_str().as_bytes()), until).await?;
        }
        Ok(())
    }
}
