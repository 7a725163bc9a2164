//! `tenure ls`: the locks that are held.

use super::{leave, visitor};
use crate::cli::Common;
use crate::exit::Failure;
use crate::output::{Seen, Spinner, Talk, table};
use std::time::Duration;

/// A listing that takes longer than this shows that it is under way.
const LONG: Duration = Duration::from_millis(500);

pub(crate) async fn run(common: &Common, talk: Talk, pattern: &str) -> Result<(), Failure> {
    let client = visitor(common, talk, None).await?;
    let mut listing = Box::pin(client.list(pattern));
    let found = match tokio::time::timeout(LONG, &mut listing).await {
        Ok(found) => found,
        Err(_) => {
            let _spinner = Spinner::new(talk, "looking through the store for locks");
            listing.await
        }
    }?;
    let found: Vec<Seen> = found.into_iter().map(Seen::from).collect();
    leave(&client).await;
    if found.is_empty() {
        talk.say(&format!("no lock is held that matches `{pattern}`"));
    }
    talk.show(&found, |found| table(found))
}
