//! `tenure inspect`: who holds a lock, and what each of several servers says of it. That it is free is an answer too.

use super::{check_key, check_no_latch, leave, visitor};
use crate::cli::Common;
use crate::exit::Failure;
use crate::output::{Seen, Talk};

pub(crate) async fn run(common: &Common, talk: Talk, key: &str) -> Result<(), Failure> {
    check_key(key)?;
    let client = visitor(common, talk, None).await?;
    let lock = client.lock(key)?;
    let seen = match lock.inspect().await? {
        Some(held) => held.into(),
        None => {
            check_no_latch(&client, key).await?;
            Seen::free(key).with_votes(lock.votes().await?)
        }
    };
    leave(&client).await;
    talk.show(&seen, Seen::paragraph)
}
