//! Lengths of time, as texts and as expressions.

#![deny(warnings)]

use std::time::Duration;
use tenure::{Client, Error, Memory};

const SHORT: Duration = Duration::from_millis(500);

#[tenure::locked(
    prefix = "lengths:",
    key = "texts",
    lease = "1h 30m",
    wait = "1day",
    max_hold = "2h",
    at_least = "0s",
    warn_after = "1500us",
    warn_waiting_after = "30s",
    renew = true
)]
async fn texts() -> Result<(), Error> {
    Ok(())
}

#[tenure::locked(
    key = "expressions",
    lease = SHORT * 2,
    wait = patience,
    max_hold = Duration::from_secs(60),
    at_least = SHORT / 100,
    warn_after = warn(patience),
    warn_waiting_after = SHORT / 2,
    renew = false,
)]
async fn expressions(patience: Duration) -> Result<(), Error> {
    Ok(())
}

fn warn(patience: Duration) -> Duration {
    patience / 2
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    tenure::set_client(Client::new(Memory::new())?)?;
    texts().await?;
    expressions(SHORT).await
}
