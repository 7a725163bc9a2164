//! What people and programs get to see: results on stdout, talk on stderr.

mod human;
mod progress;
mod view;

pub(crate) use human::{and_more, holder, plain, table, waiting};
pub(crate) use progress::{Spinner, bar};
pub(crate) use view::{Seen, millis};

use crate::cli::{Common, Format};
use crate::exit::Failure;
use clap::builder::styling::{AnsiColor, Style};
use rustix::process::getpgrp;
use rustix::termios::tcgetpgrp;
use serde::Serialize;
use std::io::{ErrorKind, IsTerminal, Write};

/// Everything that is said goes through here.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Talk {
    format: Format,
    quiet: bool,
}

impl Talk {
    pub(crate) fn new(common: &Common) -> Self {
        Self { format: common.format, quiet: common.quiet }
    }

    /// Whether a person looks on who wants to be told.
    pub(crate) fn is_watched(self) -> bool {
        !self.quiet && std::io::stderr().is_terminal() && in_foreground()
    }

    /// Something good to know.
    pub(crate) fn say(self, line: &str) {
        if !self.quiet {
            talk(&format!("tenure: {}\n", plain(line)));
        }
    }

    /// Results, as one line of JSON or as text.
    pub(crate) fn show<T: Serialize>(self, result: &T, human: impl FnOnce(&T) -> String) -> Result<(), Failure> {
        let text = match self.format {
            Format::Human => human(result),
            Format::Json => serde_json::to_string(result).map_err(|error| unwritable(&error))?,
        };
        if text.is_empty() { Ok(()) } else { print(&format!("{text}\n")) }
    }
}

/// Whether the terminal is ours; in the background we would draw over what somebody types.
fn in_foreground() -> bool {
    tcgetpgrp(std::io::stderr()).map_or(true, |group| group == getpgrp())
}

/// Says what went wrong.
pub(crate) fn fail(failure: &Failure) {
    let red = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
    talk(&format!("{red}error:{red:#} {}\n", plain(&failure.message)));
}

/// In one piece, because others print on the same terminal.
fn talk(line: &str) {
    // Nobody is left to be told if this fails.
    let _ = anstream::stderr().write_all(line.as_bytes());
}

/// Prints to stdout as it is.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = anstream::stdout();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        // Who closes the pipe has read enough, as in `tenure ls | head -1`.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(unwritable(&error)),
        _ => Ok(()),
    }
}

fn unwritable(error: &dyn std::fmt::Display) -> Failure {
    Failure::new(crate::exit::Reason::Nothing, format!("could not write the result: {error}"))
}
