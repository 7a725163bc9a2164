//! Output that goes to a file, and what matters of it to the terminal at once.

use std::env;
use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, PipeReader, Write};
use std::process::{Command, ExitStatus};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::output;
use crate::run::{self, Result};
use crate::view::View;

/// How long the output may stay open after the command has ended.
const STRAGGLERS: Duration = Duration::from_secs(10);

/// Runs the command, copying all it prints to the end of `log` and what matters to the terminal.
pub(crate) fn run(mut command: Command, log: &File) -> Result<ExitStatus> {
    let line = run::line(&command);
    let failed = |error: io::Error| format!("could not run `{line}`: {error}");

    // Cargo sees a pipe where the person may be at a terminal.
    if io::stdout().is_terminal() && env::var_os("NO_COLOR").is_none() {
        command.env("CARGO_TERM_COLOR", "always");
    }
    // One pipe for both streams keeps the lines in the order they were printed.
    let (reader, writer) = io::pipe().map_err(failed)?;
    command.stdout(writer.try_clone().map_err(failed)?);
    command.stderr(writer);
    let log = log.try_clone().map_err(failed)?;

    let mut child = command.spawn().map_err(failed)?;
    // It holds our writing ends: the reader would never see the end of the output.
    drop(command);

    let (copied, done) = mpsc::channel();
    thread::spawn(move || copied.send(copy(reader, log)));
    let status = child.wait().map_err(failed)?;
    // A server that a test forgot to stop would keep the pipe open for ever.
    match done.recv_timeout(STRAGGLERS) {
        Ok(outcome) => outcome.map_err(failed)?,
        Err(_) => {
            return Err(format!(
                "the tests ended but a process they started is still running; stop it in the test that starts it: {line}"
            ));
        }
    }
    Ok(status)
}

fn copy(from: PipeReader, mut log: File) -> io::Result<()> {
    let mut from = BufReader::new(from);
    let mut terminal = io::stdout();
    let mut view = View::default();
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line)? > 0 {
        log.write_all(&line)?;
        let text = output::plain(&String::from_utf8_lossy(&line));
        if view.shows(text.trim_end_matches('\n')) {
            terminal.write_all(&line)?;
            terminal.flush()?;
        }
        line.clear();
    }
    Ok(())
}
