//! How the program ends: its exit codes, and the one sentence that goes with a failure.

use std::process::ExitCode;
use tenure::ErrorKind;

/// Why the program did not do what it was asked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    /// There was nothing to do, or a check failed.
    Nothing,
    /// The request makes no sense.
    Invalid,
    /// The store cannot be reached, does not let us in, or does not do its part.
    Unavailable,
    /// The lock was lost while the command ran.
    Lost,
    /// The lock was not free in time.
    NotAcquired,
    /// The command cannot be executed.
    NotExecutable,
    /// The command was not found.
    NotFound,
    /// A signal ended us before the command was started.
    Interrupted(i32),
}

impl Reason {
    /// The exit code.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Nothing => 1,
            Self::Invalid => 2,
            Self::Unavailable => 69,
            Self::Lost => 73,
            Self::NotAcquired => 75,
            Self::NotExecutable => 126,
            Self::NotFound => 127,
            Self::Interrupted(signal) => of_signal(signal),
        }
    }

    /// The word for it in `--status-fd`.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Invalid => "invalid",
            Self::Unavailable => "unavailable",
            Self::Lost => "lost",
            Self::NotAcquired => "not-acquired",
            Self::NotExecutable => "not-executable",
            Self::NotFound => "not-found",
            Self::Interrupted(_) => "interrupted",
        }
    }
}

/// The exit code of somebody whom a signal killed, as shells count.
pub(crate) fn of_signal(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
}

/// A failure and the sentence that tells it.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) reason: Reason,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(Reason::Invalid, message)
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        self.reason.code().into()
    }
}

impl From<tenure::Error> for Failure {
    fn from(error: tenure::Error) -> Self {
        let reason = match error.kind() {
            ErrorKind::Timeout => Reason::NotAcquired,
            ErrorKind::Lost => Reason::Lost,
            // What only another call can mend.
            ErrorKind::Invalid | ErrorKind::Unsupported | ErrorKind::Conflict => Reason::Invalid,
            // What only somebody at the store can mend, or time.
            _ => Reason::Unavailable,
        };
        Self::new(reason, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_count_from_128() {
        assert_eq!(Reason::Interrupted(2).code(), 130);
        assert_eq!(of_signal(15), 143);
        assert_eq!(of_signal(1000), 255);
    }

    #[test]
    fn an_input_error_is_the_callers() {
        assert_eq!(Failure::from(tenure::Error::invalid("no")).reason.code(), 2);
    }
}
