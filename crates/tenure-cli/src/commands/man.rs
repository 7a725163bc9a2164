//! `tenure man`: the manual, from the same text as `--help`.

use crate::cli::Cli;
use crate::exit::{Failure, Reason};
use crate::output;
use clap::CommandFactory;
use std::io;
use std::path::Path;

pub(crate) fn run(dir: Option<&Path>) -> Result<(), Failure> {
    let command = Cli::command();
    let Some(dir) = dir else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page).map_err(|error| failed(Path::new("-"), &error))?;
        return output::print(&String::from_utf8_lossy(&page));
    };
    clap_mangen::generate_to(command, dir).map_err(|error| failed(dir, &error))
}

fn failed(place: &Path, error: &io::Error) -> Failure {
    Failure::new(
        Reason::Nothing,
        format!("could not write the manual, check the directory: {}: {error}", place.display()),
    )
}
