//! A server process that does not outlive the test process, however that one ends.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

/// Waits for the end of its standard input, which comes when the process that holds the other
/// end of the pipe dies in whatever way, and then kills the process named by its first argument.
const WATCH: &str = r#"read -r _; kill -9 "$0""#;

/// A child process and the watcher that kills it should this process be killed.
pub(crate) struct GuardedProcess {
    server: Child,
    watcher: Child,
}

impl GuardedProcess {
    /// Starts `command` and its watcher.
    pub(crate) fn spawn(command: &mut Command) -> io::Result<Self> {
        // Process groups of their own: a Ctrl-C in the terminal must reach the test process
        // only, or it would take the watcher down and leave a paused server behind.
        let mut server = command.process_group(0).stdin(Stdio::null()).spawn()?;
        let watcher = Command::new("sh")
            .args(["-c", WATCH, &server.id().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn();
        match watcher {
            Ok(watcher) => Ok(Self { server, watcher }),
            Err(error) => {
                server.kill()?;
                server.wait()?;
                Err(error)
            }
        }
    }

    /// The process id of the server itself.
    pub(crate) fn id(&self) -> u32 {
        self.server.id()
    }

    /// How the process ended, if it did.
    pub(crate) fn exited(&mut self) -> Option<ExitStatus> {
        self.server.try_wait().expect("the state of an own child process can be read")
    }

    /// Sends `signal` to the server.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("an own child that was not reaped can be signalled");
    }

    /// Stops the server as by `SIGSTOP` and returns once no thread of it runs any more.
    pub(crate) fn pause(&self) {
        self.signal(Signal::STOP);
        // NOWAIT leaves the state for the `wait` that reaps the child later.
        let states = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(self.pid()), states).expect("an own child process can be waited for");
    }

    /// Kills the server, stopped or not, and reaps it.
    pub(crate) fn kill(&mut self) {
        // The watcher first: once the server is reaped its process id may name a stranger.
        for child in [&mut self.watcher, &mut self.server] {
            // Both fail only for a child that has already been reaped, which is the goal.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.server)
    }
}

impl Drop for GuardedProcess {
    fn drop(&mut self) {
        self.kill();
    }
}
