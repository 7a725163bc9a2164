//! One page of the manual: what clap knows of a command, under the headings that manuals have.

use crate::cli::EXIT_CODES;
use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use std::io;

/// What is read from the environment, and what is left there for others.
const ENVIRONMENT: [(&str, &str); 7] = [
    (
        "TENURE_URL",
        "The store that keeps the locks, unless --url names one; set for the command that tenure run --url starts. Empty \
         is as good as not set.",
    ),
    (
        "TENURE_KEY, TENURE_TOKEN",
        "The lock and its fencing token, set for the command that tenure run starts; a line for each if there are several.",
    ),
    (
        "TENURE_OWNER",
        "Who holds the lock, set for the command that tenure run starts. A tenure run that finds it goes in again \
         instead of waiting for those who started it; leave it as it is.",
    ),
    ("TENURE_LOST", "Why the lock was lost, set for what --on-lost runs."),
    ("NO_COLOR", "Unless it is empty, nothing is printed in colour."),
    ("XDG_STATE_HOME", "Where the file with the locks lies if no store is named, unless it is a relative path."),
    ("HOME", "Where it lies, below .local/state, if XDG_STATE_HOME is not set."),
];

/// What lies on the disk.
const FILES: [(&str, &str); 2] = [
    (
        "~/.local/state/tenure/locks.db",
        "The locks, if no store is named: for the processes of this user on this machine. It may be removed when no \
         lock is held, together with what is named like it.",
    ),
    ("locks.db-wake", "A directory with a socket for each client, by which those who wait are woken."),
];

/// A page for a command.
pub(super) fn write(command: &Command) -> io::Result<Vec<u8>> {
    let man = Man::new(command.clone());
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    let is_main = command.get_name() == "tenure";
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    let mut roff = Roff::new();
    let (examples, notes) = after_help(command);
    if is_main || command.get_name() == "run" {
        section(&mut roff, "EXIT STATUS", |roff| as_typed(roff, EXIT_CODES.lines().skip(1)));
        section(&mut roff, "ENVIRONMENT", |roff| terms(roff, &ENVIRONMENT));
        section(&mut roff, "FILES", |roff| terms(roff, &FILES));
    }
    if !notes.is_empty() {
        section(&mut roff, "NOTES", |roff| paragraphs(roff, &notes));
    }
    if !examples.is_empty() {
        section(&mut roff, "EXAMPLES", |roff| as_typed(roff, examples.lines()));
    }
    if !is_main {
        section(&mut roff, "SEE ALSO", |roff| {
            roff.text([bold("tenure"), roman("(1)")]);
        });
    }
    roff.to_writer(&mut page)?;
    man.render_version_section(&mut page)?;
    Ok(page)
}

/// What `--help` ends with: its examples, and the rest without the exit codes, which have a heading of their own.
fn after_help(command: &Command) -> (String, Vec<String>) {
    let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let (mut examples, mut notes) = (String::new(), Vec::new());
    for block in text.split("\n\n").filter(|block| !block.is_empty() && *block != EXIT_CODES) {
        match block.strip_prefix("Examples:\n") {
            Some(lines) => lines.clone_into(&mut examples),
            None => notes.push(block.to_owned()),
        }
    }
    (examples, notes)
}

fn section(roff: &mut Roff, heading: &str, write: impl FnOnce(&mut Roff)) {
    roff.control("SH", [heading]);
    write(roff);
}

/// Lines that are not to be filled.
fn as_typed<'a>(roff: &mut Roff, lines: impl Iterator<Item = &'a str>) {
    roff.control("nf", []);
    for line in lines {
        roff.text([roman(line.strip_prefix("  ").unwrap_or(line))]);
    }
    roff.control("fi", []);
}

fn paragraphs(roff: &mut Roff, paragraphs: &[String]) {
    for paragraph in paragraphs {
        roff.control("PP", []);
        roff.text([roman(paragraph.as_str())]);
    }
}

fn terms(roff: &mut Roff, terms: &[(&str, &str)]) {
    for (term, meaning) in terms {
        roff.control("TP", []);
        roff.text([bold(*term)]);
        roff.text([roman(*meaning)]);
    }
}
