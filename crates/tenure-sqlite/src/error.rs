//! What went wrong with the file, and what it means to a lock.

use rusqlite::ErrorCode;
use rustix::io::Errno;
use std::io;
use std::path::Path;
use tenure_core::kernel::Unreadable;
use tenure_core::{StoreError, StoreErrorKind};

/// Why a piece of work was not done. Unless it was being committed, nothing was changed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// SQLite says no.
    Sqlite(rusqlite::Error),
    /// SQLite failed while it made the changes last: they may be in the file or not.
    Commit(rusqlite::Error),
    /// The operating system says no.
    Io(io::Error),
    /// We do.
    Said(StoreError),
    /// It must be done again, and be on the disk before anybody is told.
    MustLast,
    /// What lies beside the file is not what others have open.
    Torn,
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
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
    fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Sqlite(error) | Self::Commit(error) => error.sqlite_error_code(),
            Self::Io(_) | Self::Said(_) | Self::MustLast | Self::Torn => None,
        }
    }

    /// Whether another process is in the way, and was for longer than we may wait.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(self.code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
    }

    /// Whether the log was removed under those who use the file: it is then shorter than its index says, or the index is
    /// one that others cannot see.
    pub(crate) fn is_torn(&self) -> bool {
        matches!(self, Self::Torn) || self.extended() == rusqlite::ffi::SQLITE_IOERR_SHORT_READ
    }

    /// Whether the file is to be opened anew before it is used again. To be in each other's way is everyday, a full disk
    /// will be emptied, and what we say ourselves is no fault of the file's.
    pub(crate) fn is_fatal(&self) -> bool {
        !self.is_busy() && self.code() != Some(ErrorCode::DiskFull) && !matches!(self, Self::Said(_) | Self::MustLast)
    }

    /// What it means to a lock.
    pub(crate) fn about(self, path: &Path) -> StoreError {
        let said = match &self {
            Self::Said(error) => return error.clone(),
            Self::Io(error) => return from_io(error, path),
            Self::Sqlite(error) | Self::Commit(error) => said(error),
            Self::MustLast => "something that outlives a power loss".to_owned(),
            Self::Torn => String::new(),
        };
        let (whole, path) = (path, path.display());
        let (kind, message) = match self.code() {
            _ if self.is_torn() => (
                StoreErrorKind::Unreachable,
                format!(
                    "the log beside the file was removed, and others still use the old one: stop them if they are stuck: \
                     path=`{path}`"
                ),
            ),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => (
                StoreErrorKind::Unreachable,
                format!(
                    "another process keeps the file locked, see with `fuser` which, and whether it is stuck: path=`{path}`"
                ),
            ),
            Some(ErrorCode::DiskFull) => full(&path),
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::AuthorizationForStatementDenied) => {
                denied(&said, &path)
            }
            Some(ErrorCode::NotADatabase) => return no_database(whole),
            Some(ErrorCode::DatabaseCorrupt) => (
                StoreErrorKind::Unexpected,
                format!(
                    "the file is damaged, move it away together with those named like it, and a new one is made: {said} \
                     path=`{path}`"
                ),
            ),
            // To be made when there is no room even for the index of the log.
            Some(ErrorCode::SystemIoFailure) if self.extended() == rusqlite::ffi::SQLITE_IOERR_SHMSIZE => full(&path),
            _ if matches!(self, Self::Commit(_)) => (
                StoreErrorKind::Unanswered,
                format!("the file may have been written or not, check the disk: {said} path=`{path}`"),
            ),
            Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen | ErrorCode::FileLockingProtocolFailed) => (
                StoreErrorKind::Unreachable,
                format!("the file cannot be used, check its disk and the limit of open files: {said} path=`{path}`"),
            ),
            _ => (StoreErrorKind::Unexpected, format!("sqlite gave an error that is not ours to expect: {said}")),
        };
        StoreError::new(kind, message)
    }

    fn extended(&self) -> i32 {
        match self {
            Self::Sqlite(error) | Self::Commit(error) => error.sqlite_error().map_or(0, |error| error.extended_code),
            Self::Io(_) | Self::Said(_) | Self::MustLast | Self::Torn => 0,
        }
    }
}

/// A file of something else.
pub(crate) fn no_database(path: &Path) -> StoreError {
    let rule = "the file is no database, choose another path or move the file away";
    StoreError::new(StoreErrorKind::Unexpected, format!("{rule}: path=`{}`", path.display()))
}

/// What the operating system says of a file or its directory.
fn from_io(error: &io::Error, path: &Path) -> StoreError {
    let shown = path.display();
    let directory = path.parent().unwrap_or(path).display();
    let (kind, message) = match error.kind() {
        io::ErrorKind::NotFound => (
            StoreErrorKind::Unreachable,
            format!("the file's directory does not exist, make it first: directory=`{directory}`"),
        ),
        io::ErrorKind::NotADirectory => {
            (StoreErrorKind::Unreachable, format!("the path leads through a file, choose another: path=`{shown}`"))
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => denied(&error.to_string(), &shown),
        _ if is_crowded(error) => {
            let rule = "too many files are open, raise the limit of open files (`ulimit -n`)";
            (StoreErrorKind::Unreachable, format!("{rule}: {error} path=`{shown}`"))
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => full(&shown),
        _ => (StoreErrorKind::Unreachable, format!("the file cannot be used: {error} path=`{shown}`")),
    };
    StoreError::new(kind, message)
}

/// Whether this process, or the whole machine, has as many files open as it may.
pub(crate) fn is_crowded(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE))
}

fn denied(said: &str, path: &impl std::fmt::Display) -> (StoreErrorKind, String) {
    let rule = "the file cannot be written, it and its directory must be writable for this user";
    (StoreErrorKind::Denied, format!("{rule}: {said} path=`{path}`"))
}

fn full(path: &impl std::fmt::Display) -> (StoreErrorKind, String) {
    (StoreErrorKind::Unreachable, format!("the disk is full, free some space: path=`{path}`"))
}

fn said(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqliteFailure(code, Some(said)) => format!("{said} ({})", code.extended_code),
        other => other.to_string(),
    }
}
