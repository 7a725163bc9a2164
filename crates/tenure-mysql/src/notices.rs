//! Notices: whose lock was freed by force is told so when its client next looks, which is soon.

use crate::desk::Desk;
use crate::error::Failure;
use crate::link::NOW;
use crate::sides::{Side, again};
use tenure_core::{Claim, Sight};
use tokio::time::Instant;

/// For how long a notice is kept for a client that does not look, in microseconds.
const KEPT: u64 = 60_000_000;

/// Leaves a notice for everybody who was put out. To be called in the transaction that did so.
pub(crate) async fn leave(side: &mut Side<'_>, sight: &Sight) -> Result<(), Failure> {
    for holder in &sight.holders {
        let claim = &holder.claim;
        let statement = format!("INSERT IGNORE INTO tenure_notices (client, claim, until) VALUES (?, ?, {NOW} + ?)");
        side.run(&statement, (claim.client().as_bytes(), claim.as_str().as_bytes(), KEPT)).await?;
    }
    Ok(())
}

impl Desk {
    /// Which claims of a client were put out; each is told once.
    pub(crate) async fn notices(&self, client: &str, until: Instant) -> Result<Vec<Claim>, Failure> {
        loop {
            let mut side = self.sides.take(until).await?;
            match take(&mut side, client).await {
                Ok(claims) => {
                    side.commit().await?;
                    return Ok(claims);
                }
                Err(failure) if again(&failure, side.was_idle, &self.sides) && Instant::now() < until => {}
                Err(failure) => return Err(failure),
            }
        }
    }
}

async fn take(side: &mut Side<'_>, client: &str) -> Result<Vec<Claim>, Failure> {
    let left = "SELECT claim FROM tenure_notices WHERE client = ?";
    let claims: Vec<Vec<u8>> = side.rows(left, (client.as_bytes(),)).await?;
    for claim in &claims {
        side.run("DELETE FROM tenure_notices WHERE client = ? AND claim = ?", (client.as_bytes(), claim)).await?;
    }
    Ok(claims.iter().map(|claim| Claim::found(&String::from_utf8_lossy(claim))).collect())
}
