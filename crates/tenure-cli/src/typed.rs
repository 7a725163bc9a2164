//! Reads what was typed, with a word of our own where clap's would lead astray.

use crate::cli::{Cli, Command, Run};
use crate::exit::Failure;
use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::ffi::OsString;

/// The command line. Whoever asked for help, or mistyped, has it from clap, and we end here.
pub(crate) fn read() -> Result<Cli, Failure> {
    let words: Vec<OsString> = std::env::args_os().collect();
    Cli::try_parse_from(&words).map_err(|error| match forgot_dashes(&words, &error) {
        // Not the whole line: a URL in it may have a password.
        Some(Run { key, command, .. }) => Failure::invalid(format!(
            "write `--` between the key and the command: tenure run {key} -- {}{}",
            command[0].display(),
            if command.len() > 1 { " …" } else { "" }
        )),
        None => error.exit(),
    })
}

/// What was meant, if it makes sense with a `--` before the word that does not.
fn forgot_dashes(words: &[OsString], error: &clap::Error) -> Option<Run> {
    let Some(ContextValue::String(stray)) = error.get(ContextKind::InvalidArg) else { return None };
    if error.kind() != ErrorKind::UnknownArgument || stray.starts_with('-') {
        return None;
    }
    let places = (1..words.len()).filter(|at| words[*at] == **stray);
    places.map(|at| [&words[..at], &["--".into()], &words[at..]].concat()).find_map(|words| match Cli::try_parse_from(
        words,
    )
    .ok()?
    .command
    {
        Command::Run(run) => Some(*run),
        _ => None,
    })
}
