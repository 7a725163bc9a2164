//! The sentences for words that clap does not know what to do with.

use super::line::Line;
use super::meant::{self, Joined, Meant};
use super::said::{about, all, one, or};
use super::sentence;
use crate::cli::Cli;
use clap::CommandFactory;
use clap::error::ContextKind;

/// A command that there is not.
pub(super) fn command(line: &Line, error: &clap::Error) -> String {
    let Some(stray) = line.shown(one(error, ContextKind::InvalidSubcommand)) else {
        return "unknown command, write `--url` before a URL and quote one with spaces: tenure --url 'URL' COMMAND …"
            .to_owned();
    };
    let rule = match all(error, ContextKind::SuggestedSubcommand).as_slice() {
        [] => format!("unknown command, choose {}", commands(line)),
        // The best comes last.
        [.., similar] => format!("unknown command, perhaps `{similar}` was meant"),
    };
    about(&rule, "command", Some(stray))
}

/// A word for which there is no use.
pub(super) fn argument(line: &Line, error: &clap::Error) -> String {
    let (stray, meant) = (one(error, ContextKind::InvalidArg), Meant::by(line));
    match meant.command.as_deref() {
        // An option after a second word is the command's, most likely.
        Some("run") if !meant.more.is_empty() && !line.has_dashes() => dashes(line, meant.to_run().unwrap_or_default()),
        _ if stray.starts_with('-') && stray != "-" && !is_behind_dashes(line, stray) => {
            option(line, error, stray, &meant)
        }
        Some("run") => dashes(line, stray),
        Some(_) => {
            let rule = "there is an argument too many, leave it out or quote what belongs together";
            about(rule, "argument", line.shown(stray))
        }
        // Before a command, clap takes all else for an unknown one.
        None => format!("leave out the `--` before the command: tenure {} …", line.typed(stray, "COMMAND")),
    }
}

/// Whether it stands where options are none.
fn is_behind_dashes(line: &Line, stray: &str) -> bool {
    // Of `-5s`, clap names the `-5` only.
    let mut before = line.words().iter().take_while(|word| !word.to_string_lossy().starts_with(stray));
    before.any(|word| word == "--")
}

fn option(line: &Line, error: &clap::Error, stray: &str, meant: &Meant) -> String {
    let say = |rule: &str| about(rule, "option", line.shown(stray));
    if let Some(command) = meant::owner(line, stray).filter(|_| meant.command.is_none()) {
        return say(&format!("write this option after `{command}`"));
    }
    let similar = one(error, ContextKind::SuggestedArg);
    if !similar.is_empty() {
        return say(&format!("unknown option, perhaps `{similar}` was meant"));
    }
    match meant::joined(line, stray) {
        Some(Joined::Wrong(error)) => return sentence::of(line, &error),
        Some(Joined::Fine(option, value)) => {
            let (option, value) = (line.typed(option, "OPTION"), line.typed(value, "VALUE"));
            return format!("write a value that begins with `-` after a `=`: {option}={value}");
        }
        None => {}
    }
    let hint = match meant.command.as_deref() {
        Some("run") if meant.key.is_some() => ", or write it after `--` if it is the command's",
        Some("inspect" | "release" | "wait") if meant.key.is_none() => ", or write `--` before a key that begins so",
        _ => "",
    };
    say(&format!("unknown option, see `{} --help`{hint}", meant.tenure()))
}

/// What clap takes for a word too many is the command, most likely.
pub(super) fn dashes(line: &Line, stray: &str) -> String {
    let rule = "write `--` between the key and the command";
    let Some(run) = meant::with_dashes(line, stray) else { return format!("{rule}: tenure run KEY -- CMD …") };
    let keys: Vec<_> = run.keys.iter().map(|key| line.typed(key, "KEY")).collect();
    let (keys, command) = (keys.join(" "), line.typed(&run.command[0], "CMD"));
    format!("{rule}: tenure run {keys} -- {command}{}", if run.command.len() > 1 { " …" } else { "" })
}

/// All commands there are.
pub(super) fn commands(line: &Line) -> String {
    let mut cli = Cli::command();
    // Now it has `help` too.
    cli.build();
    // Some commands have commands of their own.
    let own = Meant::by(line).command.and_then(|command| cli.find_subcommand(command));
    let all = own.filter(|own| own.has_subcommands()).unwrap_or(&cli);
    or(&all.get_subcommands().map(clap::Command::get_name).collect::<Vec<_>>())
}
