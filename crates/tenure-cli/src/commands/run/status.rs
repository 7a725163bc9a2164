//! `--status-fd`: one line of JSON for callers who must tell our exit codes from the command's.

use super::End;
use crate::child::How;
use crate::exit::{Failure, Reason};
use crate::output::millis;
#[cfg(target_os = "linux")]
use rustix::{
    io::Errno,
    process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open},
};
use serde::Serialize;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::time::Duration;
use tenure::MultiGuard;

/// How it ended.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    /// `exited` or `killed` if the command ran to its end under the lock, otherwise what came in between.
    outcome: &'static str,
    /// Our exit code; none if we leave before it is known.
    code: Option<u8>,
    /// None if there are several.
    key: Option<String>,
    /// None if the lock was not taken, or if there are several.
    token: Option<u64>,
    /// Every lock.
    locks: Vec<Taken>,
    waited_ms: Option<u64>,
    held_ms: Option<u64>,
    /// The command's own exit code; none if a signal killed it, or if it never started.
    command_code: Option<i32>,
    command_signal: Option<i32>,
    error: Option<String>,
}

/// One of the locks.
#[derive(Debug, Serialize)]
struct Taken {
    key: String,
    /// None if it was not taken.
    token: Option<u64>,
}

impl Report {
    pub(super) fn new(keys: &[String]) -> Self {
        Self {
            outcome: "",
            code: None,
            key: if let [key] = keys { Some(key.clone()) } else { None },
            token: None,
            locks: keys.iter().map(|key| Taken { key: key.clone(), token: None }).collect(),
            waited_ms: None,
            held_ms: None,
            command_code: None,
            command_signal: None,
            error: None,
        }
    }

    /// The locks by their whole names.
    pub(super) fn named(&mut self, keys: &[String]) {
        *self = Self::new(keys);
    }

    /// The command takes our place, without the lock.
    pub(super) fn unlocked(&mut self) {
        self.outcome = "unlocked";
    }

    pub(super) fn held(&mut self, guard: &MultiGuard, waited: Duration) {
        self.locks = guard.tokens().map(|(key, token)| Taken { key: key.to_string(), token: Some(token) }).collect();
        self.token = if let [lock] = &*self.locks { lock.token } else { None };
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

    /// Another has the lock, which is no failure to this caller.
    pub(super) fn passed(&mut self) {
        self.code = Some(0);
    }

    pub(super) fn finish(&mut self, outcome: &Result<End, Failure>) {
        match outcome {
            Ok(end) => {
                self.outcome = if matches!(end.how, How::Exited(_)) { "exited" } else { "killed" };
                self.code = Some(end.code());
            }
            Err(failure) => {
                self.outcome = failure.reason.word();
                self.code = Some(failure.reason.code());
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
            Some(fd) => match duplicate(fd) {
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

/// A descriptor of our own for what somebody else opened: a bare number may be anything, and is not ours to close.
fn duplicate(fd: u32) -> io::Result<File> {
    // By its name it would be opened anew, and might be written to although it was opened for reading.
    if access_mode(fd) == Some(READ_ONLY) {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is open for reading only"));
    }
    let number = i32::try_from(fd).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    #[cfg(target_os = "linux")]
    match pidfd_open(getpid(), PidfdFlags::empty()).and_then(|us| pidfd_getfd(us, number, PidfdGetfdFlags::empty())) {
        Ok(copy) => return Ok(File::from(copy)),
        Err(Errno::BADF) => return Err(Errno::BADF.into()),
        // Some containers forbid it.
        Err(_) => {}
    }
    OpenOptions::new().append(true).open(format!("/dev/fd/{number}"))
}

const READ_ONLY: u32 = 0;

/// How a descriptor was opened: for reading (0), writing (1) or both (2). None where nobody tells.
fn access_mode(fd: u32) -> Option<u32> {
    let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{fd}")).ok()?;
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"))?;
    Some(u32::from_str_radix(flags.trim(), 8).ok()? & 3)
}
