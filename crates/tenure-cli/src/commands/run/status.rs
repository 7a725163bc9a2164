//! `--status-fd`: one line of JSON for callers who must tell our exit codes from the command's.

use super::End;
use crate::child::How;
use crate::exit::{Failure, Reason};
use crate::output::millis;
use serde::Serialize;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::time::Duration;
use tenure::Guard;

/// How it ended.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    /// `exited` or `killed` if the command ran to its end under the lock, otherwise what came in between.
    outcome: &'static str,
    /// Our exit code.
    code: u8,
    key: String,
    /// None if the lock was not taken.
    token: Option<u64>,
    waited_ms: Option<u64>,
    held_ms: Option<u64>,
    /// The command's own exit code; none if a signal killed it, or if it never started.
    command_code: Option<i32>,
    command_signal: Option<i32>,
    error: Option<String>,
}

impl Report {
    pub(super) fn new(key: &str) -> Self {
        Self {
            outcome: "",
            code: 0,
            key: key.to_owned(),
            token: None,
            waited_ms: None,
            held_ms: None,
            command_code: None,
            command_signal: None,
            error: None,
        }
    }

    pub(super) fn held(&mut self, guard: &Guard, waited: Duration) {
        self.token = Some(guard.token());
        self.waited_ms = Some(millis(waited));
    }

    pub(super) fn held_for(&mut self, held: Duration) {
        self.held_ms = Some(millis(held));
    }

    pub(super) fn ended(&mut self, how: How) {
        match how {
            How::Exited(code) => self.command_code = Some(code),
            How::Killed(signal) => self.command_signal = Some(signal),
        }
    }

    pub(super) fn finish(&mut self, outcome: &Result<End, Failure>) {
        match outcome {
            Ok(end) => {
                self.outcome = if matches!(end.how, How::Exited(_)) { "exited" } else { "killed" };
                self.code = end.code();
            }
            Err(failure) => {
                self.outcome = failure.reason.word();
                self.code = failure.reason.code();
                self.error = Some(failure.message.clone()).filter(|message| !message.is_empty());
            }
        }
    }
}

/// Where it is written.
pub(super) enum Status {
    Nowhere,
    Stdout,
    Stderr,
    File(File),
}

impl Status {
    pub(super) fn open(fd: Option<u32>) -> Result<Self, Failure> {
        match fd {
            None => Ok(Self::Nowhere),
            Some(1) => Ok(Self::Stdout),
            Some(2) => Ok(Self::Stderr),
            // Through its name, because a bare number may be anything, and what was opened by it would be closed by us.
            Some(fd) => match OpenOptions::new().append(true).open(format!("/dev/fd/{fd}")) {
                Ok(file) => Ok(Self::File(file)),
                Err(error) => Err(Failure::invalid(format!(
                    "cannot write to this file descriptor, open it for --status-fd, as in `{fd}>status.json`: {error}"
                ))),
            },
        }
    }

    pub(super) fn write(self, report: &Report) -> Result<(), Failure> {
        let mut line = serde_json::to_vec(report).unwrap_or_default();
        line.push(b'\n');
        let written = match self {
            Self::Nowhere => Ok(()),
            Self::Stdout => io::stdout().write_all(&line),
            Self::Stderr => io::stderr().write_all(&line),
            Self::File(mut file) => file.write_all(&line),
        };
        written.map_err(|error| Failure::new(Reason::Nothing, format!("could not write the status: {error}")))
    }
}
