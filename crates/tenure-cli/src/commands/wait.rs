//! `tenure wait`: until a lock is free, without taking it.

use super::{check_key, check_no_latch, leave, visitor};
use crate::cli::Common;
use crate::exit::Failure;
use crate::output::{Seen, Spinner, Talk, waiting};
use std::time::{Duration, Instant};

/// How often to look. A look is one small request, and a lease that ends is no event that a store tells of.
const LOOK_EVERY: Duration = Duration::from_millis(250);

pub(crate) async fn run(common: &Common, talk: Talk, key: &str, wait: Option<Duration>) -> Result<(), Failure> {
    check_key(key)?;
    let began = Instant::now();
    let client = visitor(common, talk, wait).await?;
    let lock = client.lock(key)?;
    let mut spinner: Option<Spinner> = None;
    let outcome = loop {
        let Some(held) = lock.inspect().await? else { break check_no_latch(&client, key).await };
        let lease = held.holder().remaining.unwrap_or(LOOK_EVERY);
        let seen = Seen::from(held);
        let waited = began.elapsed();
        if wait.is_some_and(|wait| waited >= wait) {
            break Err(super::run::busy(&seen, waited));
        }
        spinner.get_or_insert_with(|| Spinner::new(talk, "")).say(&waiting(&seen, None));
        let left = wait.map_or(LOOK_EVERY, |wait| wait.saturating_sub(waited));
        tokio::time::sleep(LOOK_EVERY.min(lease).min(left)).await;
    };
    drop(spinner);
    leave(&client).await;
    outcome
}
