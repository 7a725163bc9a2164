//! The project's chores: `cargo xtask test`, `cargo xtask bench`, `cargo xtask matrix`, `cargo xtask ci`.

mod bench;
mod ci;
mod full;
mod install;
mod matrix;
mod output;
mod run;
mod tee;
mod test;
mod view;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use test::Which;

/// The project's chores.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Run every test against real servers, installing them if it may
    Test {
        /// Run the long tests as well and write docs/full-results.md
        #[arg(long)]
        full: bool,
        /// Run the long tests alone and write docs/full-results.md
        #[arg(long, conflicts_with = "full")]
        long: bool,
        /// Run only the tests whose name contains this
        filter: Option<String>,
    },
    /// Run the benchmarks in release mode
    // No help flag of its own, so that `--help` reaches the benchmark too.
    #[command(disable_help_flag = true)]
    Bench {
        /// What the benchmark program takes, passed on as it is
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
    /// Write the README's table of what each store promises, from the stores' labels
    Matrix {
        /// Write nothing; fail if the README says something else
        #[arg(long)]
        check: bool,
    },
    /// Run all that must pass before a change is merged
    Ci,
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().chore {
        Chore::Test { full, long, filter } => {
            let which = match (full, long) {
                (false, false) => Which::Normal,
                (true, _) => Which::Full,
                (false, true) => Which::Long,
            };
            test::run(which, filter.as_deref())
        }
        Chore::Bench { args } => bench::run(&args),
        Chore::Matrix { check } => matrix::run(check),
        Chore::Ci => ci::run(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("\nerror: {message}");
            ExitCode::FAILURE
        }
    }
}
