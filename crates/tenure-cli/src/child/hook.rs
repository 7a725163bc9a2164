//! What `--on-lost` runs.

use rustix::process::Pid;
use std::io;
use std::process::{Command, Stdio};

/// Starts it, in a shell, as people expect of a single word with a command in it.
pub(super) fn start(line: &str, env: &[(&str, String)], why: &str) -> io::Result<Pid> {
    let child = Command::new("sh")
        .args(["-c", line])
        .envs(env.iter().map(|(name, value)| (name, value)))
        .env("TENURE_LOST", why)
        .stdin(Stdio::null())
        // Stdout is the command's.
        .stdout(io::stderr())
        .spawn()?;
    Ok(Pid::from_child(&child))
}
