//! `tenure man`: the manual, from the same text as `--help`.

mod page;

use crate::cli::Cli;
use crate::exit::{Failure, Reason};
use crate::output;
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use std::path::Path;
use std::{fs, io};

pub(crate) fn run(dir: Option<&Path>) -> Result<(), Failure> {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    match dir {
        None => {
            let page = page::write(&command).map_err(|error| failed(Path::new("-"), &error))?;
            output::print(&String::from_utf8_lossy(&page))
        }
        Some(dir) => write_all(&command, dir).map_err(|error| failed(dir, &error)),
    }
}

/// Writes a page for every command into a directory, which is made if there is none.
fn write_all(command: &Command, dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    fs::write(dir.join(Man::new(command.clone()).get_filename()), page::write(command)?)?;
    // Some commands have commands of their own, each of which has `help` as well.
    let mut own = command.get_subcommands().filter(|own| own.get_name() != "help");
    own.try_for_each(|own| write_all(own, dir))
}

fn failed(place: &Path, error: &io::Error) -> Failure {
    Failure::new(
        Reason::Nothing,
        format!("could not write the manual, check the directory: {}: {error}", place.display()),
    )
}
