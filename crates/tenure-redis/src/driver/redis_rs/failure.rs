//! What redis-rs' errors mean, in this crate's words.

use super::super::Failure;
use crate::error::meaning;
use redis::{ErrorKind, RedisError, ServerErrorKind};
use tenure_core::{StoreError, StoreErrorKind};

/// Why a request has no answer.
pub(super) fn failure(error: &RedisError) -> Failure {
    match error.kind() {
        ErrorKind::Server(ServerErrorKind::NoScript) => Failure::NoScript,
        ErrorKind::Server(ServerErrorKind::ReadOnly | ServerErrorKind::MasterDown) => Failure::Replica(told(error)),
        _ if error.is_timeout() => Failure::Late,
        // Whatever it is that a socket says, nothing more comes from it.
        ErrorKind::Io => Failure::Dead(told(error)),
        _ if error.is_unrecoverable_error() => Failure::Dead(told(error)),
        _ => Failure::Refused(told(error)),
    }
}

/// What an error means to a lock. The server's words carry no secrets; what we connect with is never quoted.
pub(super) fn told(error: &RedisError) -> StoreError {
    let said = said(error);
    if let Some(meant) = meaning(error.code().unwrap_or_default(), &said) {
        return meant;
    }
    let (kind, message) = match error.kind() {
        ErrorKind::AuthenticationFailed => (
            StoreErrorKind::Denied,
            format!("redis does not let us: check the user, the password and the user's rights: {said}"),
        ),
        ErrorKind::Io if error.is_connection_refusal() => (StoreErrorKind::Unreachable, said),
        ErrorKind::Io => (StoreErrorKind::Unanswered, format!("redis did not answer: {said}")),
        _ if error.is_unrecoverable_error() => (StoreErrorKind::Unanswered, format!("redis did not answer: {said}")),
        _ => (StoreErrorKind::Unexpected, format!("redis answered with an error that is not ours to expect: {said}")),
    };
    StoreError::new(kind, message)
}

fn said(error: &RedisError) -> String {
    match (error.code(), error.detail()) {
        (Some(code), Some(detail)) => format!("{code} {detail}"),
        (Some(code), None) => code.to_owned(),
        (None, _) => error.to_string(),
    }
}
