//! The minder: kills the command's group when we are gone, or when we were not heard of until the lease's end.
//!
//! It is in the group itself, so the group's id cannot have passed to strangers, and it heeds no signal but SIGKILL.

use super::{MIND, control, ourselves};
use nix::sys::signal::SigSet;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_current_process_group};
use std::io::{self, Read};
use std::os::unix::net::UnixStream as Control;
use std::os::unix::process::CommandExt;
use std::process::{ExitCode, Stdio};
use std::time::Duration;
use tenure::{Clock, Moment};
use tokio::net::UnixStream;

/// A deadline that says that all is over and nobody is to be killed.
const DONE: [u8; 8] = [0; 8];
/// Timers do not count the time a machine sleeps, so the clock is asked at least this often.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A minder at work, seen from our side.
#[derive(Debug)]
pub(super) struct Minder {
    pub(super) pid: Pid,
    control: UnixStream,
    told: [u8; 8],
}

impl Minder {
    /// Starts one in a group.
    pub(super) fn start(group: Pid) -> io::Result<Self> {
        let (control, stdin) = control::pair()?;
        // It outlives the command by a moment, and must not keep anybody's pipe open.
        let child = ourselves(MIND)
            .stdin(stdin)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(group.as_raw_nonzero().get())
            .spawn()?;
        Ok(Self { pid: Pid::from_child(&child), control, told: DONE })
    }

    pub(super) async fn ready(&mut self) -> io::Result<()> {
        control::ready(&mut self.control).await
    }

    /// The group may live until then.
    pub(super) fn allow(&mut self, until: Moment) {
        let until = control::to_bytes(until);
        if self.told != until {
            self.told = until;
            self.tell(until);
        }
    }

    /// Sends it away.
    pub(super) fn dismiss(&mut self) {
        self.tell(DONE);
    }

    fn tell(&self, until: [u8; 8]) {
        // It may be gone already. If it cannot be told, it keeps to what it heard last.
        let _ = self.control.try_write(&until);
    }
}

/// `tenure __mind`
pub(super) fn main() -> ExitCode {
    match control::theirs().and_then(mind) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn mind(mut talk: Control) -> io::Result<()> {
    SigSet::all().thread_block()?;
    control::say_ready(&mut talk)?;
    let clock = Clock::system();
    let mut until = None;
    loop {
        let left = until.map(|until: Moment| until.since(clock.now()));
        if is_readable(&talk, left.map_or(LOOK_EVERY, |left| left.min(LOOK_EVERY)))? {
            let mut told = DONE;
            match talk.read_exact(&mut told) {
                Ok(()) if told == DONE => return Ok(()),
                Ok(()) => until = Some(control::from_bytes(told)),
                // Whoever talked to us is dead.
                Err(_) => break,
            }
        } else if left.is_some_and(|left| left.is_zero()) {
            break;
        }
    }
    Ok(kill_current_process_group(Signal::KILL)?)
}

fn is_readable(control: &Control, within: Duration) -> io::Result<bool> {
    let within = Timespec::try_from(within).map_err(io::Error::other)?;
    let mut fds = [PollFd::new(control, PollFlags::IN)];
    Ok(poll(&mut fds, Some(&within))? > 0)
}
