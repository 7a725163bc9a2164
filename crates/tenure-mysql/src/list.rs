//! All held locks, for whoever wants to see them.

use crate::desk::Desk;
use crate::error::Failure;
use crate::table;
use tenure_core::{Key, Outcome, Pattern, Sight};
use tokio::time::Instant;

/// How many are read at a time.
const PAGE: u64 = 500;

impl Desk {
    /// All held locks whose keys match.
    pub(crate) async fn list(&self, pattern: &Pattern, until: Instant) -> Result<Vec<(Key, Sight)>, Failure> {
        let (mut held, mut next) = (Vec::new(), Some(Vec::new()));
        while let Some(after) = next {
            let (seen, last) = table::page(&self.sides, &after, PAGE, until).await?;
            let seen = seen.into_iter().filter(|(key, _)| pattern.matches(key.as_str()));
            held.extend(seen.filter_map(|(key, outcome)| match outcome {
                Outcome::Seen(Some(sight)) => Some((key, sight)),
                _ => None,
            }));
            next = last;
        }
        Ok(held)
    }
}
