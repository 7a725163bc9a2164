//! What a Redis error means to a lock.

use redis::{Client, ConnectionAddr, ErrorKind, RedisError, ServerErrorKind};
use tenure_core::{StoreError, StoreErrorKind};

/// Folds an error of the driver's into ours. Server messages carry no secrets; connection data is never quoted.
pub(crate) fn from_driver(error: &RedisError) -> StoreError {
    let code = error.code().unwrap_or_default();
    let said = said(error);
    let (kind, message) = match (code, error.kind()) {
        ("NOAUTH" | "WRONGPASS" | "NOPERM", _) | (_, ErrorKind::AuthenticationFailed) => (
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
        ("TOOOLD", _) => (
            StoreErrorKind::Unsupported,
            "this redis is too old for leases that only grow: use 7.0 or later".to_owned(),
        ),
        ("WRONGTYPE" | "NOTALOCK", _) => (
            StoreErrorKind::Conflict,
            "the key is in use for something that is no lock of this kind: choose another key".to_owned(),
        ),
        ("READONLY", _) => (
            StoreErrorKind::Unreachable,
            "redis is a read-only replica: point the url at the primary, or wait for the fail-over to end".to_owned(),
        ),
        ("LOADING" | "MASTERDOWN" | "CLUSTERDOWN" | "TRYAGAIN" | "BUSY" | "MISCONF" | "OOM" | "NOREPLICAS", _) => {
            (StoreErrorKind::Unreachable, format!("redis cannot serve locks now: {said}"))
        }
        _ if said.contains("max number of clients") => {
            (StoreErrorKind::Unreachable, format!("redis has no room for another connection, raise maxclients: {said}"))
        }
        (_, ErrorKind::Server(ServerErrorKind::NoPerm)) => {
            (StoreErrorKind::Denied, format!("redis does not let us: check the user's rights: {said}"))
        }
        (_, ErrorKind::Io) if error.is_connection_refusal() => {
            (StoreErrorKind::Unreachable, format!("redis cannot be reached: {said}"))
        }
        (_, ErrorKind::Io) => (StoreErrorKind::Unanswered, format!("redis did not answer: {said}")),
        _ if error.is_unrecoverable_error() || error.is_timeout() => {
            (StoreErrorKind::Unanswered, format!("redis did not answer: {said}"))
        }
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

/// A server that cannot be reached: where, and what to do.
pub(crate) fn unreachable(client: &Client, why: &str) -> StoreError {
    StoreError::new(
        StoreErrorKind::Unreachable,
        format!(
            "redis cannot be reached, check that it runs and that the url is right: {why} address=`{}`",
            address(client)
        ),
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

/// Where the server is, without user or password.
pub(crate) fn address(client: &Client) -> String {
    match client.get_connection_info().addr() {
        ConnectionAddr::Tcp(host, port) => format!("{host}:{port}"),
        ConnectionAddr::TcpTls { host, port, .. } => format!("{host}:{port} (tls)"),
        ConnectionAddr::Unix(path) => path.display().to_string(),
        _ => "elsewhere".to_owned(),
    }
}
