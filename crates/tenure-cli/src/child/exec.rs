//! Becoming the command: as `tenure __exec` once all is ready, or at once if there is no lock to hold.

use super::{cannot_exec, control};
use crate::exit::Failure;
use rustix::io::Errno;
use std::convert::Infallible;
use std::env::ArgsOs;
use std::ffi::OsString;
use std::io::{self, Write};
use std::iter::Skip;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use tenure::Clock;

pub(super) fn main(words: Skip<ArgsOs>) -> ExitCode {
    // Whoever started us learns all they need from the socket.
    match become_command(words) {
        Ok(None) | Err(_) => ExitCode::FAILURE,
        Ok(Some(never)) => match never {},
    }
}

/// Gives way to the command, which finds the store's URL in its environment. Why it cannot be executed, if we return.
pub(crate) fn give_way(words: &[OsString], url: Option<&str>) -> Failure {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).envs(url.map(|url| ("TENURE_URL", url)));
    cannot_exec(&words[0], &command.exec())
}

fn become_command(mut words: Skip<ArgsOs>) -> io::Result<Option<Infallible>> {
    let mut control = control::theirs()?;
    // Before we say that we are ready: if our parent has died already, nobody lets us go.
    die_with_parent()?;
    control::say_ready(&mut control)?;
    let Some((until, stdin)) = control::wait_to_go(&control)? else { return Ok(None) };
    rustix::stdio::dup2_stdin(&stdin)?;
    drop(stdin);
    let program = words.next().unwrap_or_default();
    let mut command = Command::new(program);
    command.args(words);
    // We may have been let go in time, and yet not run until the lease was over.
    let error = if Clock::system().now() < until { command.exec() } else { Errno::TIMEDOUT.into() };
    // Still here: the socket would have been closed otherwise.
    control.write_all(&error.raw_os_error().unwrap_or_default().to_be_bytes())?;
    Err(error)
}

/// The kernel kills us, and what we become, when our parent dies.
#[cfg(target_os = "linux")]
fn die_with_parent() -> io::Result<()> {
    Ok(rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?)
}

/// Elsewhere the minder has to do alone.
#[cfg(not(target_os = "linux"))]
fn die_with_parent() -> io::Result<()> {
    Ok(())
}
