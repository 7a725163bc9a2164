//! `tenure inspect`: who holds a lock. That it is free is an answer too.

use super::{check_key, check_no_latch, leave, visitor};
use crate::cli::Common;
use crate::exit::Failure;
use crate::output::{Seen, Talk};

pub(crate) async fn run(common: &Common, talk: Talk, key: &str) -> Result<(), Failure> {
    check_key(key)?;
    let client = visitor(common, talk, None).await?;
    let held = client.lock(key)?.inspect().await?;
    if held.is_none() {
        check_no_latch(&client, key).await?;
    }
    leave(&client).await;
    talk.show(&held.map_or_else(|| Seen::free(key), Seen::from), Seen::paragraph)
}
