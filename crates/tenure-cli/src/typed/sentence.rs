//! The sentence for each thing that clap finds wrong.
//!
//! Nothing of the line gets into one but by [`Line::shown`] and [`Line::typed`]: there may be a password in it.

use super::line::Line;
use super::meant::Meant;
use super::said::{about, all, name, one, option, or};
use super::stray;
use clap::ValueEnum;
use clap::error::{ContextKind, ErrorKind};
use clap_complete::Shell;
use std::error::Error;
use tenure::{Length, Retry};

/// What is wrong, and what to do.
pub(super) fn of(line: &Line, error: &clap::Error) -> String {
    match error.kind() {
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            format!("name a command: {}", stray::commands(line))
        }
        ErrorKind::MissingRequiredArgument => missing(line, &all(error, ContextKind::InvalidArg)),
        ErrorKind::InvalidSubcommand => stray::command(line, error),
        ErrorKind::UnknownArgument => stray::argument(line, error),
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => bad_value(line, error),
        ErrorKind::TooManyValues => option("this option takes no value, leave it out", error),
        ErrorKind::ArgumentConflict => conflict(error),
        ErrorKind::InvalidUtf8 => not_text(line),
        // Nothing that our arguments lead to today. Clap's own text might show a password.
        kind => format!("{}, see `tenure --help`", kind.as_str().unwrap_or("the line cannot be read")),
    }
}

fn missing(line: &Line, what: &[&str]) -> String {
    let meant = Meant::by(line);
    let (tenure, key) = (meant.tenure(), line.typed(meant.key.as_deref().unwrap_or_default(), "KEY"));
    match (what, meant.command.as_deref()) {
        (["<KEY>...", "<CMD>..."], _) => format!("name the lock and the command to run: {tenure} KEY -- CMD …"),
        (["<CMD>..."], _) if !meant.more.is_empty() && !line.has_dashes() => {
            stray::dashes(line, meant.to_run().unwrap_or_default())
        }
        (["<CMD>..."], _) => format!("name the command to run after `--`: {tenure} {key} -- CMD …"),
        (["<KEY>..."], Some("run")) => format!("name the lock before `--`: {tenure} KEY -- CMD …"),
        ([.., "<COUNT>"], _) => format!("name the latch, and how often it is to be counted down: {tenure} {key} COUNT"),
        ([.., "<PERMITS>"], _) => {
            format!("name the semaphore, and how many permits there are to be: {tenure} {key} PERMITS")
        }
        (["<KEY>"], Some(command)) if command.starts_with("latch") => format!("name the latch: {tenure} KEY"),
        (["<KEY>"], Some(command)) if command.starts_with("semaphore") => {
            format!("name the semaphore: {tenure} KEY")
        }
        (["<KEY>"], Some("release")) => format!("name the lock: {tenure} --force KEY"),
        (["<KEY>"], _) => format!("name the lock: {tenure} KEY"),
        (["--force"], _) => format!("add --force to take the lock from whoever holds it: {tenure} --force {key}"),
        (["--force", "<KEY>"], _) => {
            format!("name the lock, and add --force to take it from whoever holds it: {tenure} --force KEY")
        }
        (["<SHELL>"], _) => {
            let shells: Vec<_> = Shell::value_variants().iter().map(ToString::to_string).collect();
            format!("name the shell, which is {}: {tenure} SHELL", or(&shells))
        }
        _ => format!("something is missing, see `{tenure} --help`: {}", what.join(" ")),
    }
}

fn bad_value(line: &Line, error: &clap::Error) -> String {
    let (argument, value) = (one(error, ContextKind::InvalidArg), one(error, ContextKind::InvalidValue));
    let name = name(argument).trim_matches(['-', '<', '>']).to_lowercase();
    let choices = all(error, ContextKind::ValidValue);
    let say = |rule: &str| match line.shown(value) {
        None if argument.starts_with('-') => option(rule, error),
        shown => about(rule, &name, shown),
    };
    match error.source() {
        // Our own words, from the one that reads such values.
        Some(rule) => say(&rule.to_string()),
        None if !value.is_empty() => say(&format!("unknown {name}, choose {}", or(&choices))),
        None => {
            let what = match argument.split_once(' ') {
                _ if !choices.is_empty() => format!("write {}", or(&choices)),
                Some((_, "<D>")) => Length::FORM.to_owned(),
                Some((_, "<RETRY>")) => Retry::FORM.to_owned(),
                Some((_, "<FILE>")) => "write the name of a file".to_owned(),
                Some((_, "<N>")) => "write a number".to_owned(),
                Some((_, "<URL>")) => "write the store's URL".to_owned(),
                _ => "write its value".to_owned(),
            };
            option(&format!("{what} after this option"), error)
        }
    }
}

fn conflict(error: &clap::Error) -> String {
    let (this, others) = (one(error, ContextKind::InvalidArg), all(error, ContextKind::PriorArg));
    if others == [this] {
        return option("the line has an option twice, give it once", error);
    }
    let others: Vec<_> = others.into_iter().map(name).collect();
    format!("give {} or {}, but not both", name(this), or(&others))
}

/// Clap does not say which argument it is.
fn not_text(line: &Line) -> String {
    let is_run = Meant::by(line).command.as_deref() == Some("run");
    // A command may have any bytes in it.
    let mut ours = line.words().iter().take_while(|word| !is_run || *word != "--");
    let Some(word) = ours.find(|word| word.to_str().is_none()) else {
        return "write TENURE_URL in UTF-8, and percent-encode what is not".to_owned();
    };
    match line.shown(word) {
        None => "write the URL in UTF-8, and percent-encode what is not".to_owned(),
        shown => about("write this argument in UTF-8", "argument", shown),
    }
}
