//! `tenure latch`: set it, count it down, wait until it is open.

use super::{check_key, leave, visitor};
use crate::cli::{Common, LatchCommand};
use crate::exit::{Failure, Reason};
use crate::output::{Spinner, Talk};
use serde::Serialize;
use tenure::Latch;

/// A latch as it is shown: `{"key","count"}`.
#[derive(Serialize)]
struct Shown<'a> {
    key: &'a str,
    count: u32,
}

impl Shown<'_> {
    fn sentence(&self) -> String {
        match self.count {
            0 => format!("{} is open", self.key),
            1 => format!("{} is shut, to be counted down once", self.key),
            count => format!("{} is shut, to be counted down {count} times", self.key),
        }
    }
}

pub(crate) async fn run(common: &Common, talk: Talk, command: LatchCommand) -> Result<(), Failure> {
    let (key, wait) = match &command {
        LatchCommand::Set { key, .. }
        | LatchCommand::Down { key, .. }
        | LatchCommand::Get { key }
        | LatchCommand::Delete { key } => (key, None),
        LatchCommand::Wait { key, wait } => (key, *wait),
    };
    check_key(key)?;
    let client = visitor(common, talk, wait).await?;
    let latch = client.latch(key)?;
    let outcome = act(talk, &latch, &command).await;
    leave(&client).await;
    if let Some(count) = outcome? {
        talk.show(&Shown { key, count }, Shown::sentence)?;
    }
    Ok(())
}

/// Does it; how often the latch is then to be counted down, where that is the answer.
async fn act(talk: Talk, latch: &Latch, command: &LatchCommand) -> Result<Option<u32>, Failure> {
    match command {
        LatchCommand::Set { count, force: true, .. } => {
            latch.set(*count).await?;
            Ok(None)
        }
        LatchCommand::Set { count, key, .. } => {
            if latch.try_set(*count).await? {
                return Ok(None);
            }
            let left = latch.count().await?;
            Err(Failure::new(
                Reason::Nothing,
                format!("the latch is shut already, count it down or give --force: latch=`{key}` count={left}"),
            ))
        }
        LatchCommand::Down { id: Some(id), .. } => Ok(Some(latch.down_once(id).await?)),
        LatchCommand::Down { .. } => Ok(Some(latch.down().await?)),
        LatchCommand::Get { .. } => Ok(Some(latch.count().await?)),
        LatchCommand::Delete { key } => {
            let told = format!("the latch is open, as one that is not there: latch=`{key}`");
            if latch.delete().await? { Ok(None) } else { Err(Failure::new(Reason::Nothing, told)) }
        }
        LatchCommand::Wait { wait, key } => {
            let _spinner = Spinner::new(talk, &format!("waiting for {key} to open"));
            match wait {
                Some(wait) => Ok(latch.wait_timeout(*wait).await.map(|()| None)?),
                None => Ok(latch.wait().await.map(|()| None)?),
            }
        }
    }
}
