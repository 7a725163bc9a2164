//! What `--on-lost` runs.

use super::Signals;
use crate::output::Talk;
use rustix::process::{Pid, Signal, WaitOptions, waitpid};
use std::io;
use std::process::{Command, Stdio};

/// Runs it to its end.
pub(crate) async fn on_lost(talk: Talk, line: &str, env: &[(&str, String)], why: &str, signals: &mut Signals) {
    if let Some(pid) = start(talk, line, env, why) {
        see_out(pid, signals).await;
    }
}

/// Starts it, in a shell, as people expect of a single word with a command in it.
pub(super) fn start(talk: Talk, line: &str, env: &[(&str, String)], why: &str) -> Option<Pid> {
    let child = Command::new("sh")
        .args(["-c", line])
        .envs(env.iter().map(|(name, value)| (name, value)))
        .env("TENURE_LOST", why)
        .stdin(Stdio::null())
        // Stdout is the command's.
        .stdout(io::stderr())
        .spawn();
    match child {
        Ok(child) => Some(Pid::from_child(&child)),
        Err(error) => {
            talk.say(&format!("could not run what --on-lost asks for: {error}"));
            None
        }
    }
}

/// Waits until it has ended, or until somebody is tired of it.
pub(super) async fn see_out(pid: Pid, signals: &mut Signals) {
    while matches!(waitpid(Some(pid), WaitOptions::NOHANG), Ok(None)) {
        if matches!(signals.next().await, Signal::HUP | Signal::INT | Signal::QUIT | Signal::TERM) {
            return;
        }
    }
}
