//! What went wrong with the server, and what it means to a lock.

use mysql_async::{DriverError, Error, IoError};
use tenure_core::kernel::Unreadable;
use tenure_core::{StoreError, StoreErrorKind};

/// Why something was not done. Unless it was being committed, nothing was changed: a transaction whose connection is gone
/// is rolled back.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The server or the driver says no.
    Driver(Error),
    /// It was being committed, and may have been.
    Commit(Box<Failure>),
    /// There was no time left.
    Late,
    /// We say no.
    Said(StoreError),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Driver(error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Said(error)
    }
}

impl From<Unreadable> for Failure {
    fn from(error: Unreadable) -> Self {
        let message = format!("the key is in use by a later version, upgrade this one: {error}");
        Self::Said(StoreError::new(StoreErrorKind::Conflict, message))
    }
}

impl Failure {
    /// The server's own number for it.
    pub(crate) fn code(&self) -> Option<u16> {
        match self {
            Self::Driver(Error::Server(error)) => Some(error.code),
            _ => None,
        }
    }

    /// Whether somebody else has a lock on the row: a wait that timed out, or one that was not to be.
    pub(crate) fn is_taken(&self) -> bool {
        matches!(self.code(), Some(1205 | 3572))
    }

    /// Whether the same may go better at once: others were in the way for a moment.
    pub(crate) fn is_passing(&self) -> bool {
        self.is_taken() || matches!(self.code(), Some(1020 | 1213))
    }

    /// Whether the connection was found to be gone, before anything was committed.
    pub(crate) fn is_gone(&self) -> bool {
        match self {
            Self::Driver(Error::Io(_) | Error::Driver(DriverError::ConnectionClosed)) => true,
            failure => matches!(failure.code(), Some(1053 | 1317 | 1927 | 4031)),
        }
    }

    /// Whether a table is missing.
    pub(crate) fn is_missing(&self) -> bool {
        self.code() == Some(1146)
    }

    /// Whether the server said that it did not do it, and means so of a commit too.
    fn is_refusal(&self) -> bool {
        self.is_passing() || self.is_missing() || self.is_denied() || self.is_read_only()
    }

    /// Whether the server is not one that is written to.
    pub(crate) fn is_read_only(&self) -> bool {
        matches!(self.code(), Some(1290 | 1792 | 1836))
    }

    pub(crate) fn is_denied(&self) -> bool {
        matches!(self.code(), Some(1044 | 1045 | 1095 | 1142 | 1143 | 1227 | 1370 | 1698))
    }

    /// Whether the connection can be used on. What the server refuses is no fault of the connection's.
    pub(crate) fn spares_connection(&self) -> bool {
        match self {
            Self::Said(_) => true,
            failure => failure.code().is_some() && !failure.is_gone(),
        }
    }

    /// What it means to a lock.
    pub(crate) fn into_store(self) -> StoreError {
        let (kind, message) = match self {
            Self::Said(error) => return error,
            Self::Commit(inner) if !inner.is_refusal() => (
                StoreErrorKind::Unanswered,
                format!("no word whether it was committed: {}", inner.into_store().message),
            ),
            // A commit that the server refused was not one.
            Self::Commit(inner) => return inner.into_store(),
            Self::Late => (StoreErrorKind::Unreachable, "the server did not answer in time".to_owned()),
            Self::Driver(Error::Server(error)) => return of_server(error.code, &error.message),
            Self::Driver(Error::Io(error)) if is_distrust(&error) => (
                StoreErrorKind::Denied,
                format!("the server cannot be trusted, give its authority as `tls_ca`: {error}"),
            ),
            Self::Driver(Error::Io(error)) => {
                let said = match &error {
                    IoError::Io(error) => error.to_string(),
                    #[cfg(feature = "tls")]
                    IoError::Tls(error) => error.to_string(),
                };
                let message =
                    format!("the server cannot be reached, check that it runs and that the url leads to it: {said}");
                (StoreErrorKind::Unreachable, message)
            }
            Self::Driver(Error::Driver(DriverError::ConnectionClosed)) => {
                (StoreErrorKind::Unreachable, "the server closed the connection".to_owned())
            }
            Self::Driver(Error::Driver(DriverError::NoClientSslFlagFromServer)) => (
                StoreErrorKind::Denied,
                "the server has no TLS: switch it on there, or write `mysql://` if the network can be trusted"
                    .to_owned(),
            ),
            Self::Driver(error) => {
                (StoreErrorKind::Unexpected, format!("an error that is not ours to expect: {error}"))
            }
        };
        StoreError::new(kind, message)
    }
}

/// Whether it is the server's certificate that is wrong. What TLS has to say while hands are shaken comes as an error of
/// reading or writing.
fn is_distrust(error: &IoError) -> bool {
    match error {
        IoError::Io(error) => {
            error.kind() == std::io::ErrorKind::InvalidData && error.to_string().contains("certificate")
        }
        #[cfg(feature = "tls")]
        IoError::Tls(_) => true,
    }
}

/// What the server said, by its number.
fn of_server(code: u16, said: &str) -> StoreError {
    let (kind, rule) = match code {
        1040 | 1203 | 1226 => (
            StoreErrorKind::Unreachable,
            "the server has as many connections as it allows, raise its `max_connections` or lower `connections` in the url",
        ),
        1044 | 1045 | 1129 | 1130 | 1142 | 1143 | 1227 | 1251 | 1370 | 1698 | 1820 | 1862 | 3118 | 4151 => (
            StoreErrorKind::Denied,
            "the server does not let us, check user, password and rights (select, insert, update and delete on tenure_*), and \
             write `mysqls://` if it demands TLS",
        ),
        3159 => (StoreErrorKind::Denied, "the server demands TLS, write `mysqls://`"),
        1095 => (
            StoreErrorKind::Denied,
            "only the holder's own user, or one with the right CONNECTION ADMIN, may end its connection",
        ),
        1049 => (StoreErrorKind::Denied, "there is no such database, make it first or name another one in the url"),
        1146 => (StoreErrorKind::Unreachable, "the tables were removed, and are made anew at the next attempt"),
        1205 | 1213 | 1020 | 3572 => (StoreErrorKind::Unreachable, "others were in the way all the time, try again"),
        1290 | 1792 | 1836 => {
            (StoreErrorKind::Unreachable, "the server is read-only, name the one that is written to in the url")
        }
        1158..=1161 | 1053 | 1317 | 1927 | 4031 => (StoreErrorKind::Unreachable, "the server ended the connection"),
        1037 | 1038 | 1041 | 1461 => {
            (StoreErrorKind::Unreachable, "the server has no room for more now, see its limits")
        }
        1021 | 1114 => (StoreErrorKind::Unreachable, "the server's disk is full, free some space there"),
        1665 => (
            StoreErrorKind::Unsupported,
            "the server logs changes as statements, which our transactions cannot be, set its `binlog_format` to MIXED or ROW",
        ),
        1064 | 1193 | 1235 => (
            StoreErrorKind::Unsupported,
            "the server does not know a statement of ours, use MariaDB 10.6, MySQL 8.0 or later",
        ),
        _ => (StoreErrorKind::Unexpected, "the server gave an error that is not ours to expect"),
    };
    StoreError::new(kind, format!("{rule}: {said} ({code})"))
}
