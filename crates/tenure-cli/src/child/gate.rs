//! The command before it starts: its process is there, and waits to be let go.

use super::{EXEC, control, minder::Minder, ourselves};
use rustix::process::Pid;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use tenure::Moment;
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;

/// A command that waits at the gate.
#[derive(Debug)]
pub(crate) struct Gate {
    /// The command's process, and the group that it leads.
    pub(super) command: Pid,
    pub(super) minder: Minder,
    control: UnixStream,
}

impl Gate {
    /// Starts all processes, and returns when they are ready. Dropped, it lets none of them go on.
    pub(crate) async fn reach(words: &[OsString], env: &[(&str, String)]) -> io::Result<Self> {
        let (mut control, stdin) = control::pair()?;
        let environment = env.iter().map(|(name, value)| (name, value));
        // No std or tokio handle is kept: they would reap, and stops are to be seen too.
        let child = ourselves(EXEC).args(words).envs(environment).stdin(stdin).process_group(0).spawn()?;
        let command = Pid::from_child(&child);
        let mut minder = Minder::start(command)?;
        control::ready(&mut control).await?;
        minder.ready().await?;
        Ok(Self { command, minder, control })
    }

    /// Lets the command go, with our own standard input, unless it is that late already.
    ///
    /// The minder hears of it first: were we stopped between the two, nobody else would end the command.
    pub(crate) fn open(&mut self, until: Moment) -> io::Result<()> {
        self.minder.allow(until);
        control::go(&self.control, until, io::stdin())
    }

    /// Why the process, which has ended, never became the command; none if it did.
    pub(crate) async fn exec_error(&mut self) -> Option<io::Error> {
        self.control.read_i32().await.ok().map(io::Error::from_raw_os_error)
    }
}
