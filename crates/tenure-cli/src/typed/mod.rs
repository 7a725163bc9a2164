//! Reads what was typed. What clap finds wrong with it is said in one sentence, like all that we refuse ourselves.

mod line;
mod meant;
mod said;
mod sentence;
mod stray;

use crate::cli::Cli;
use crate::exit::Failure;
use clap::Parser;
use line::Line;
use std::env::args_os;

/// The command line. Whoever asked for help, or for the version, has it from clap, and we end here.
pub(crate) fn read() -> Result<Cli, Failure> {
    let line = Line::new(args_os());
    Cli::try_parse_from(line.words()).map_err(|error| {
        if !error.use_stderr() {
            error.exit();
        }
        Failure::invalid(sentence::of(&line, &error))
    })
}
