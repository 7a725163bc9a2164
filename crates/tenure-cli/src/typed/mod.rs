//! Reads what was typed. What clap finds wrong with it is said in one sentence, like all that we refuse ourselves.

mod line;
mod meant;
mod said;
mod sentence;
mod stray;

use crate::cli::{Cli, Command};
use crate::exit::Failure;
use clap::Parser;
use line::Line;
use std::env::args_os;

/// The command line. Whoever asked for help, or for the version, has it from clap, and we end here.
pub(crate) fn read() -> Result<Cli, Failure> {
    let line = Line::new(args_os());
    let cli = Cli::try_parse_from(line.words()).map_err(|error| {
        if !error.use_stderr() {
            error.exit();
        }
        Failure::invalid(sentence::of(&line, &error))
    })?;
    match &cli.command {
        // It would be a key among others, and be shown to everybody with the password in it.
        Command::Run(run) if run.keys.len() > 1 && run.keys.iter().any(|key| line.is_of_url(key)) => {
            Err(Failure::invalid(
                "write `--url` before a URL and quote one with spaces: tenure --url 'URL' run KEY -- CMD …",
            ))
        }
        _ => Ok(cli),
    }
}
