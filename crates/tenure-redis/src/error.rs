//! What goes wrong on Redis, and what it means to a lock.

use tenure_core::{StoreError, StoreErrorKind};

/// What an error that the server sent means to a lock, by its code and all that was said; none if there is no telling.
pub(crate) fn meaning(code: &str, said: &str) -> Option<StoreError> {
    let (kind, message) = match code {
        "NOAUTH" | "WRONGPASS" | "NOPERM" => (
            StoreErrorKind::Denied,
            format!("redis does not let us: check the user, the password and the user's rights: {said}"),
        ),
        // Before it knows who we are, the server does not even read a request of some length.
        _ if said.contains("unauthenticated") => {
            (StoreErrorKind::Denied, format!("redis does not let us: it wants a user and a password: {said}"))
        }
        // What a script's own commands are denied comes without a code of its own.
        _ if said.contains("user executing the script can't") => {
            (StoreErrorKind::Denied, format!("redis does not let our scripts: grant the user what they use: {said}"))
        }
        "TOOOLD" => (
            StoreErrorKind::Unsupported,
            "this redis is too old for leases that only grow: use 7.0 or later".to_owned(),
        ),
        "WRONGTYPE" => (
            StoreErrorKind::Conflict,
            "the key is in use for something other than this kind of lock, choose another key".to_owned(),
        ),
        "NOTALOCK" => return Some(no_lock()),
        "TOOMANY" => (
            StoreErrorKind::Unsupported,
            format!(
                "there can be no more than 2147483647 permits, nor fewer than -2147483648: {}",
                without(code, said)
            ),
        ),
        "TOODEEP" => (
            StoreErrorKind::Unsupported,
            format!(
                "too many claims stand under each other in this lock, pass the guard on instead of taking it once more, or \
                 take another lock inside: {}",
                without(code, said)
            ),
        ),
        "NOTOKEN" => (
            StoreErrorKind::Unexpected,
            format!(
                "what a fenced lock counts its tokens by is no such number, or far ahead of the server's clock, look who \
                 wrote it: delete the key, and tokens go on from the clock: key=`{}`",
                without(code, said)
            ),
        ),
        "NONUMBER" => (
            StoreErrorKind::Unexpected,
            "what stands for the largest token so far is no number, look who wrote it: delete the key `tenure:fence`, \
             and tokens go on from the server's clock"
                .to_owned(),
        ),
        "NOCOUNT" => return Some(no_count()),
        // The server itself gives up at 2^63.
        _ if said.contains("increment or decrement would overflow") => return Some(no_count()),
        "READONLY" => (
            StoreErrorKind::Unreachable,
            "redis is a read-only replica: point the url at the primary, or wait for the fail-over to end".to_owned(),
        ),
        "LOADING" | "MASTERDOWN" | "CLUSTERDOWN" | "TRYAGAIN" | "BUSY" | "MISCONF" | "OOM" | "NOREPLICAS" => {
            (StoreErrorKind::Unreachable, format!("redis cannot serve locks now: {said}"))
        }
        _ if said.contains("max number of clients") => {
            (StoreErrorKind::Unreachable, format!("redis has no room for another connection, raise maxclients: {said}"))
        }
        _ => return None,
    };
    Some(StoreError::new(kind, message))
}

/// What was said besides the code, which is for us alone.
fn without<'a>(code: &str, said: &'a str) -> &'a str {
    said.strip_prefix(code).unwrap_or(said).trim_start()
}

/// A server that cannot be reached: where, and what to do.
pub(crate) fn unreachable(address: &str, why: &str) -> StoreError {
    StoreError::new(
        StoreErrorKind::Unreachable,
        format!("redis cannot be reached, check that it runs and that the url is right: {why} address=`{address}`"),
    )
}

/// No answer in time.
pub(crate) fn unanswered() -> StoreError {
    StoreError::new(StoreErrorKind::Unanswered, "redis did not answer in time")
}

/// An answer that makes no sense.
pub(crate) fn nonsense(answer: &redis::Value) -> StoreError {
    StoreError::new(StoreErrorKind::Unexpected, format!("redis gave an answer that makes no sense: {answer:?}"))
}

/// The watermark is larger than any that comes of counting: somebody set it.
fn no_count() -> StoreError {
    StoreError::new(
        StoreErrorKind::Unexpected,
        "the largest token so far is beyond 2^53, and those after it could not be told apart: delete the key \
         `tenure:fence`, and tokens go on from the server's clock; what has seen larger ones will refuse them",
    )
}

/// The key holds something else.
pub(crate) fn no_lock() -> StoreError {
    StoreError::new(StoreErrorKind::Conflict, "the key is in use for something that is no lock, choose another key")
}
