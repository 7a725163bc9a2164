//! `tenure semaphore`: how many permits there are.

use super::{check_key, leave, visitor};
use crate::cli::{Common, SemaphoreCommand};
use crate::exit::Failure;
use crate::output::{Seen, Talk};
use serde::Serialize;
use tenure::Semaphore;

/// A semaphore as it is shown: `{"key","available","permits","taken":{…}}`, the last as `tenure inspect` has it.
#[derive(Serialize)]
struct Shown {
    key: String,
    available: i64,
    /// None if nobody has said how many there are, or if that was another library.
    permits: Option<i64>,
    taken: Seen,
}

impl Shown {
    fn paragraph(&self) -> String {
        let of = match self.permits {
            Some(permits) => format!("{} of {permits} permits", self.available),
            None if self.available == 0 && self.taken.holders.is_empty() => {
                return format!(
                    "{key} has no permits, and nobody has said how many there are: tenure semaphore set {key} PERMITS",
                    key = self.key
                );
            }
            None => format!("{} permits", self.available),
        };
        let mut lines = vec![format!("{} has {of} to be had", self.key)];
        if !self.taken.holders.is_empty() {
            lines.push(self.taken.paragraph());
        }
        lines.join("\n")
    }
}

pub(crate) async fn run(common: &Common, talk: Talk, command: SemaphoreCommand) -> Result<(), Failure> {
    let (SemaphoreCommand::Get { key } | SemaphoreCommand::Set { key, .. }) = &command;
    check_key(key)?;
    let client = visitor(common, talk, None).await?;
    let semaphore = client.semaphore(key)?;
    let outcome = act(&semaphore, &command).await;
    leave(&client).await;
    match outcome? {
        Some(shown) => talk.show(&shown, Shown::paragraph),
        None => Ok(()),
    }
}

async fn act(semaphore: &Semaphore, command: &SemaphoreCommand) -> Result<Option<Shown>, Failure> {
    match command {
        SemaphoreCommand::Set { permits, .. } => {
            semaphore.set_permits(*permits).await?;
            Ok(None)
        }
        SemaphoreCommand::Get { key } => {
            let (available, permits) = (semaphore.available().await?, semaphore.permits().await?);
            let taken = semaphore.inspect().await?.map_or_else(|| Seen::free(key), Seen::from);
            Ok(Some(Shown { key: key.clone(), available, permits, taken }))
        }
    }
}
