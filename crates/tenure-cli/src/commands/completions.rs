//! `tenure completions`: what a shell needs to complete our command lines.

use crate::cli::Cli;
use crate::exit::Failure;
use crate::output;
use clap::CommandFactory;
use clap_complete::Shell;

pub(crate) fn run(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "tenure", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}
