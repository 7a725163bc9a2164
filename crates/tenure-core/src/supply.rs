//! How many permits a semaphore has: looked at and changed the same way, whether they have names or not.

use crate::inner::Inner;
use crate::{Error, ErrorKind, StoreErrorKind};
use tenure_kernel::{Key, Kind, Operation, Outcome, Supply, Supplying};

/// The most permits that a semaphore can have.
pub(crate) const MOST: u32 = i32::MAX as u32;

/// A number of permits that a semaphore can have.
pub(crate) fn checked(what: &str, permits: u32, least: u32) -> Result<u32, Error> {
    if (least..=MOST).contains(&permits) {
        return Ok(permits);
    }
    Err(Error::invalid(format!("choose {what} from {least} to {MOST}: {what}={permits}")))
}

/// Looks at a semaphore's permits, or changes them.
pub(crate) async fn supply(client: &Inner, (kind, key): (Kind, &Key), supplying: Supplying) -> Result<Supply, Error> {
    client.shared.begin()?;
    let operation = Operation::Supply(supplying);
    let answer = match supplying {
        Supplying::Look | Supplying::Set(_) => client.shared.ask(kind, key, &operation, client.answer_within).await,
        // Not asked twice: it would be done twice, or the second answer would be another.
        _ => client.shared.apply(kind, key, &operation, client.answer_within).await,
    };
    match answer {
        Ok(Outcome::Supply(supply)) => Ok(supply),
        Ok(other) => Err(turned_down(key, &other)),
        Err(error) if error.kind == StoreErrorKind::Unanswered && supplying != Supplying::Look => Err(Error::new(
            ErrorKind::Unknown,
            format!("the permits may or may not have been changed, look and try again: {error}"),
        )
        .about(key)),
        Err(error) => Err(Error::from_store(Some(key), error)),
    }
}

/// An answer that is not the one that was asked for.
pub(crate) fn turned_down(key: &Key, outcome: &Outcome) -> Error {
    match outcome {
        Outcome::Conflict(kind) => Error::new(
            ErrorKind::Conflict,
            format!("the key is in use for something else, choose another: in use as={kind}"),
        ),
        other => Error::new(ErrorKind::Unexpected, format!("the store gave an answer that makes no sense: {other:?}")),
    }
    .about(key)
}
