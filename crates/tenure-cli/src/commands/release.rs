//! `tenure release --force`: takes a lock away from its holder, and says from whom.

use super::{check_key, leave, visitor};
use crate::cli::Common;
use crate::exit::{Failure, Reason};
use crate::output::{Seen, Talk, and_more, holder, plain};

pub(crate) async fn run(common: &Common, talk: Talk, key: &str) -> Result<(), Failure> {
    check_key(key)?;
    let client = visitor(common, talk, None).await?;
    let forced = client.lock(key)?.force_release().await?;
    leave(&client).await;
    let Some(forced) = forced else {
        return Err(Failure::new(Reason::Nothing, format!("nobody holds the lock: key=`{key}`")));
    };
    talk.show(&Seen::from(forced), |seen| {
        let holders: Vec<_> = seen.holders.iter().map(holder).collect();
        format!("{} was taken from {}{}", plain(key), holders.join(" and "), and_more(seen.more))
    })
}
