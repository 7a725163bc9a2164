//! What can be typed: clap and nothing else.

use crate::kind::Sorts;
use crate::{duration, number, retry};
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use tenure::{Retry, Sort};

const ABOUT: &str = "Run a program while holding a lock that every process that uses the same store respects";

const EXAMPLES: &str = "\
Examples:
  tenure run nightly-backup -- ./backup.sh
  tenure run --no-wait report -- ./report.sh
  tenure --url redis://db1 run --wait 30s deploy -- ./deploy.sh
  tenure ls 'deploy*'
  tenure release --force deploy";

pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    there was nothing to do, or a check failed
  2    bad usage or bad input
  69   the store is unavailable, or does not let us in
  73   the lock was lost while the command ran
  75   the lock was not free in time
  126  the command cannot be executed
  127  the command was not found
  Otherwise `tenure run` exits as its command does, with 128+n if signal n killed it.";

const RUN_EXAMPLES: &str = "\
Examples:
  tenure run nightly-backup -- ./backup.sh --all
  tenure run --no-wait report -- ./report.sh        # exit code 75 if held
  tenure run --lease 10s --wait 1m deploy -- make deploy
  tenure --url redis://db1 run --no-wait --busy-ok --at-least 55s minutely -- ./tick.sh   # once a minute, on one host
  tenure run --on-lost 'logger deploy lost its lock' deploy -- ./deploy.sh
  tenure run account:3 account:7 -- ./transfer.sh   # both, or neither; in any order
  tenure run --policy nightly.toml --wait 1m report -- ./report.sh
  tenure run migrate -- sh -c 'psql -v fence=$TENURE_TOKEN -f migrate.sql'

The command's environment has TENURE_KEY, TENURE_TOKEN (the fencing token) and TENURE_OWNER, and TENURE_URL if you named a \
store; for several keys, TENURE_KEY and TENURE_TOKEN have a line for each, in the same order. \
A `tenure run` of the same key inside it goes in again instead of waiting for itself.

The command keeps the terminal, its standard input and its signals; no shell is involved. \
If the lock cannot be renewed, its whole process group gets SIGTERM, and SIGKILL before the lease can have ended: \
exit code 73. If `tenure` itself is killed, the command is killed with it. \
A command that is stopped (Ctrl-Z) is renewed once more, and is killed if it is not continued before its lease ends. \
What it leaves running in the background when it ends well goes on, without the lock.

A policy has any of prefix, which goes before the keys, kind, enabled, lease, renew, renew_every, wait, retry, max_hold, \
at_least, warn_after and warn_waiting_after, each as the option is written: `lease = \"10s\"`, `renew = false`, `wait = \"0s\"` for --no-wait. \
With `enabled = false` the command runs without the lock, as if it had been typed without `tenure run`.

A lock is a lease: it makes double work rare. \
Have what you write to refuse a TENURE_TOKEN smaller than the last it saw.";

const LATCH_EXAMPLES: &str = "\
Examples:
  tenure latch set warmed-up 3
  tenure latch down --id $(hostname) warmed-up   # safe to try again
  tenure latch wait --wait 5m warmed-up && ./open-the-doors.sh";

const SEMAPHORE_EXAMPLES: &str = "\
Examples:
  tenure semaphore set partner-api 5
  tenure semaphore get partner-api";

const SCHEMA_NOTES: &str = "\
Examples:
  tenure --url mysql://db1/shop schema | mariadb --host db1 --user root --password shop

Tenure makes the tables itself where its user may; this is for users who may not. Nothing is sent to the server, and what is \
there already is left as it is. Afterwards a user needs to select, insert, update and delete in these tables, no more.";

const DEMO_NOTES: &str = "\
Without --url and TENURE_URL the lock is kept in memory, and nothing is left behind. \
The exit code is 1 if the sale went wrong, as it does with --without-lock.";

#[derive(Parser, Debug)]
#[command(name = "tenure", version, about = ABOUT, max_term_width = 100)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
#[command(propagate_version = true, subcommand_required = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes.
#[derive(Args, Debug, Clone)]
pub(crate) struct Common {
    /// The store that keeps the locks: sqlite:PATH, redis://…, rediss://…, redis+unix://…,
    /// redlock:redis://…,redis://…,redis://…, mysql://… or mysqls://…
    /// [default: a file in the user's state directory, which no other user and no other machine sees; for `demo`, memory]
    // The value may have a password in it.
    #[arg(long, global = true, help_heading = "Global options", value_name = "URL")]
    #[arg(env = "TENURE_URL", hide_env_values = true)]
    pub(crate) url: Option<String>,
    /// How results are printed
    #[arg(long, global = true, help_heading = "Global options", value_name = "FORMAT", value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
    /// Say nothing but results and errors
    #[arg(short, long, global = true, help_heading = "Global options")]
    pub(crate) quiet: bool,
}

impl Common {
    /// The store that was named. An empty variable is how some say that it is not set.
    pub(crate) fn url(&self) -> Option<&str> {
        self.url.as_deref().filter(|url| !url.is_empty())
    }
}

/// How results are printed.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Human,
    Json,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Run a command while holding a lock
    #[command(after_help = RUN_EXAMPLES)]
    Run(Box<Run>),
    /// List the locks that are held
    Ls {
        /// Which keys: `*` stands for any run of characters, `?` for one
        #[arg(default_value = "*", hide_default_value = true)]
        pattern: String,
    },
    /// Show who holds a lock
    Inspect {
        /// The lock
        key: String,
    },
    /// Take a lock away from its holder
    Release {
        /// Release it whoever holds it; the holder is told, and may be working still
        #[arg(long, required = true)]
        force: bool,
        /// The lock
        key: String,
    },
    /// Wait until a lock is free, without taking it
    Wait {
        /// How long to wait at most; exit code 75 after that; 0s looks once [default: for ever]
        #[arg(long, value_name = "D", value_parser = duration::any)]
        wait: Option<Duration>,
        /// The lock
        key: String,
    },
    /// Set a latch, count it down, or wait until it is open
    #[command(after_help = LATCH_EXAMPLES, subcommand_required = true)]
    Latch {
        #[command(subcommand)]
        command: LatchCommand,
    },
    /// See how many permits a semaphore has, or change it
    #[command(after_help = SEMAPHORE_EXAMPLES, subcommand_required = true)]
    Semaphore {
        #[command(subcommand)]
        command: SemaphoreCommand,
    },
    /// Print the statements that make a store's tables, for an administrator to run
    #[command(after_help = SCHEMA_NOTES)]
    Schema,
    /// Watch a hundred buyers race for fifty items under one lock
    #[command(after_help = DEMO_NOTES)]
    Demo(Demo),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page
    Man {
        /// Write a page for every command into this directory instead, and make it if there is none
        #[arg(long, value_name = "PATH")]
        dir: Option<PathBuf>,
    },
}

/// `tenure latch`
#[derive(Subcommand, Debug)]
pub(crate) enum LatchCommand {
    /// Shut a latch, to be counted down so often; exit code 1 if it is shut already
    Set {
        /// Set it also if it is shut: those who wait go on waiting
        #[arg(long)]
        force: bool,
        /// The latch
        key: String,
        /// How often it is to be counted down
        #[arg(value_parser = number::count)]
        count: u32,
    },
    /// Count a latch down by one, and show what is left
    Down {
        /// Count only once for this id, however often it is tried
        #[arg(long, value_name = "ID")]
        id: Option<String>,
        /// The latch
        key: String,
    },
    /// Wait until a latch is open; one that was never set is
    Wait {
        /// How long to wait at most; exit code 75 after that; 0s looks once [default: for ever]
        #[arg(long, value_name = "D", value_parser = duration::any)]
        wait: Option<Duration>,
        /// The latch
        key: String,
    },
    /// Show how often a latch is still to be counted down
    Get {
        /// The latch
        key: String,
    },
    /// Remove a latch, which opens it; exit code 1 if it is open already
    Delete {
        /// The latch
        key: String,
    },
}

/// `tenure semaphore`
#[derive(Subcommand, Debug)]
pub(crate) enum SemaphoreCommand {
    /// Show how many permits there are, and who has some
    Get {
        /// The semaphore
        key: String,
    },
    /// Let there be so many permits; those that are taken stay taken
    Set {
        /// The semaphore
        key: String,
        /// How many; none, if nobody is to get in
        #[arg(value_parser = number::count)]
        permits: u32,
    },
}

/// `tenure run`
#[derive(Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct Run {
    /// Take from this policy, a TOML file, what is not typed here
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// How long the store keeps the lock without hearing from us; lengths are written as 30s, 5m or 1h30m [default: 30s]
    #[arg(long, value_name = "D", value_parser = duration::some)]
    pub(crate) lease: Option<Duration>,
    /// Let the lease end by itself instead of renewing it
    #[arg(long)]
    pub(crate) no_renew: bool,
    /// How long to wait for the lock, and for the store to come back; 0s is --no-wait [default: for ever, but 5s for the store]
    #[arg(long, value_name = "D", conflicts_with = "no_wait", value_parser = duration::any)]
    pub(crate) wait: Option<Duration>,
    /// Give up at once if somebody else holds the lock
    #[arg(long)]
    pub(crate) no_wait: bool,
    /// If the lock is not free in time, say nothing and exit with 0: on all hosts but one, that is how a job ends that only one
    /// of them is to do
    #[arg(long)]
    pub(crate) busy_ok: bool,
    /// Ask again by this policy instead of being woken: `fixed(100ms)`, `linear(100ms, tries=10)`, which adds up to 50ms to
    /// each pause, or `exponential(60ms, max=2s, tries=100)`
    #[arg(long, value_name = "RETRY", conflicts_with = "no_wait", value_parser = retry::any)]
    pub(crate) retry: Option<Retry>,
    /// What kind of lock: `simple` is cheaper, and does not let its holder in again; `fair` is first come, first served;
    /// `read` is for many at once, `write` for one alone; `semaphore:3` is for three at a time; `fenced` shares its tokens
    /// with Redisson [default: reentrant]
    #[arg(long, value_name = "KIND", value_parser = Sorts, hide_possible_values = true)]
    pub(crate) kind: Option<Sort>,
    /// The longest the lock is held; a command that is not done gets SIGTERM `--kill-after` before that, and SIGKILL then
    #[arg(long, value_name = "D", value_parser = duration::some)]
    pub(crate) max_hold: Option<Duration>,
    /// Keep the lock taken for at least this long, even if the command is done sooner; a command that fails frees it at once.
    /// 0s is as if left out
    #[arg(long, value_name = "D", value_parser = duration::any)]
    pub(crate) at_least: Option<Duration>,
    /// Keep the lock taken for `--at-least`, or a policy's `at_least`, also if the command fails
    #[arg(long)]
    pub(crate) at_least_always: bool,
    /// What others see as the holder's name [default: the command's]
    #[arg(long, value_name = "TEXT")]
    pub(crate) label: Option<String>,
    /// What to run, by `sh -c`, if the lock is lost; it finds the reason in `TENURE_LOST`
    #[arg(long, value_name = "CMD")]
    pub(crate) on_lost: Option<String>,
    /// How long the command has between SIGTERM and SIGKILL if the lock is lost: a third of the lease at most, and 3s where the
    /// lock is gone already (released by force, or forgotten by the store); 0s kills at once [default: a quarter of the lease]
    #[arg(long, value_name = "D", value_parser = duration::any)]
    pub(crate) kill_after: Option<Duration>,
    /// Write how it ended, as one line of JSON, to this file descriptor
    #[arg(long, value_name = "N", value_parser = number::descriptor)]
    pub(crate) status_fd: Option<u32>,
    /// The lock; several are held together, all or none
    #[arg(required = true, value_name = "KEY")]
    pub(crate) keys: Vec<String>,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

/// `tenure demo`
#[derive(Args, Debug)]
pub(crate) struct Demo {
    /// How many buyers come at once; at least as many as there are items
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = number::count)]
    pub(crate) buyers: u32,
    /// How many items there are
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = number::count)]
    pub(crate) items: u32,
    /// How long one purchase takes
    #[arg(long, value_name = "D", default_value = "20ms", value_parser = duration::some)]
    pub(crate) section: Duration,
    /// Sell without taking the lock, to show what it is for
    #[arg(long)]
    pub(crate) without_lock: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }
}
