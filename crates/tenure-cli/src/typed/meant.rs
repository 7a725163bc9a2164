//! What a mistyped line may have been meant to be.

use super::line::Line;
use crate::child::look_up;
use crate::cli::{Cli, Command, Run};
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use std::ffi::OsString;

/// As much of a line as makes sense.
#[derive(Debug, Default)]
pub(super) struct Meant {
    pub(super) command: Option<String>,
    pub(super) key: Option<String>,
    /// What else stands where keys do.
    pub(super) more: Vec<String>,
}

impl Meant {
    pub(super) fn by(line: &Line) -> Self {
        let matches = Cli::command().ignore_errors(true).try_get_matches_from(line.words()).ok();
        matches.as_ref().and_then(clap::ArgMatches::subcommand).map_or_else(Self::default, |(command, args)| {
            // Some commands have commands of their own.
            let (command, args) = match args.subcommand() {
                Some((own, args)) => (format!("{command} {own}"), args),
                None => (command.to_owned(), args),
            };
            let mut keys = args.try_get_many::<String>("keys").ok().flatten().into_iter().flatten().cloned();
            let key = args.try_get_one("key").ok().flatten().cloned().or_else(|| keys.next());
            Self { command: Some(command), key, more: keys.collect() }
        })
    }

    /// Of what stands where keys do, that which is the command, most likely: what is one, or else the second word.
    pub(super) fn to_run(&self) -> Option<&str> {
        let path = std::env::var_os("PATH");
        let is_command = |word: &&String| look_up(word.as_ref(), path.as_deref()).is_ok();
        self.more.iter().find(is_command).or(self.more.first()).map(String::as_str)
    }

    /// The command, as it is typed.
    pub(super) fn tenure(&self) -> String {
        self.command.as_ref().map_or_else(|| "tenure".to_owned(), |command| format!("tenure {command}"))
    }
}

/// A `tenure run`, if the line is one with a `--` before the word that makes no sense.
pub(super) fn with_dashes(line: &Line, stray: &str) -> Option<Run> {
    let words = line.words();
    let places = (1..words.len()).filter(|at| words[*at] == *stray);
    let mut lines = places.map(|at| [&words[..at], &["--".into()], &words[at..]].concat());
    lines.find_map(|words| match Cli::try_parse_from(words).ok()?.command {
        Command::Run(run) => Some(*run),
        _ => None,
    })
}

/// What becomes of an option's value that looks like an option itself, such as `-5s`.
pub(super) enum Joined {
    /// With a `=` between these two, all is well.
    Fine(OsString, OsString),
    /// It is no value either.
    Wrong(clap::Error),
}

/// What comes of it if the word that makes no sense is the value of the option before it.
pub(super) fn joined(line: &Line, stray: &str) -> Option<Joined> {
    // An option that is mistyped is more likely than a value with two dashes.
    if stray.starts_with("--") {
        return None;
    }
    let words = line.words();
    let begins = |at: usize, with: &str| words[at].to_string_lossy().starts_with(with);
    (2..words.len()).filter(|at| begins(*at, stray) && begins(at - 1, "--")).find_map(|at| {
        let (option, value) = (&words[at - 1], &words[at]);
        let one = [option.as_os_str(), "=".as_ref(), value].into_iter().collect::<OsString>();
        match Cli::try_parse_from([&words[..at - 1], &[one], &words[at + 1..]].concat()) {
            Ok(_) => Some(Joined::Fine(option.clone(), value.clone())),
            Err(error) if matches!(error.kind(), ErrorKind::InvalidValue | ErrorKind::ValueValidation) => {
                Some(Joined::Wrong(error))
            }
            Err(_) => None,
        }
    })
}

/// The command that comes later in the line, and has the option that stands before it.
pub(super) fn owner(line: &Line, option: &str) -> Option<String> {
    let (long, cli) = (option.strip_prefix("--")?, Cli::command());
    let mut commands = line.words().iter().filter_map(|word| cli.find_subcommand(word));
    commands
        .find(|command| command.get_arguments().any(|arg| arg.get_long() == Some(long)))
        .map(|command| command.get_name().to_owned())
}
