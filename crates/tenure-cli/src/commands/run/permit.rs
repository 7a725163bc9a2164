//! Taking a permit of a semaphore, where so many run at a time.

use super::acquire::{busy, tell};
use super::terms::Terms;
use crate::exit::Failure;
use crate::output::{Seen, Talk};
use std::time::Instant;
use tenure::{Client, Guard, Options, Place, Semaphore};

/// Takes one of so many permits.
pub(super) async fn take(
    talk: Talk,
    terms: &Terms,
    client: &Client,
    permits: u32,
    options: Options,
    place: &Place,
) -> Result<Guard, Failure> {
    let [key] = terms.keys.as_slice() else {
        return Err(Failure::invalid(format!(
            "a semaphore is taken by itself, name one key: keys=`{}`",
            terms.keys.join("`, `")
        )));
    };
    let began = Instant::now();
    let semaphore = client.semaphore(key)?.of(permits)?;
    // Where another library set it up, there is no telling.
    // One of none is closed, and is waited for.
    let another = |there: &i64| *there > 0 && *there != i64::from(permits);
    if let Some(there) = semaphore.permits().await?.filter(another) {
        return Err(Failure::invalid(format!(
            "the semaphore has another number of permits, use that one or change it with `tenure semaphore set`: \
             key=`{key}` permits={there} asked for={permits}"
        )));
    }
    if terms.once {
        return match semaphore.try_acquire().await? {
            Some(guard) => Ok(guard),
            None => Err(busy(&seen(&semaphore).await, began.elapsed())),
        };
    }
    tokio::select! {
        biased;
        taken = semaphore.acquire_with(1, options) => Ok(taken?),
        never = tell(talk, async || seen(&semaphore).await, place, key) => match never {},
    }
}

/// Who has permits. Good to know, never worth failing for.
async fn seen(semaphore: &Semaphore) -> Seen {
    let held = semaphore.inspect().await.ok().flatten();
    held.map_or_else(|| Seen::free(semaphore.key().as_str()), Seen::from)
}
