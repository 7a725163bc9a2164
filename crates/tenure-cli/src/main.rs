//! `tenure`: run a program while holding a lock, and look after the locks of a store.

mod child;
mod cli;
mod commands;
#[cfg(test)]
mod documented;
mod duration;
mod exit;
mod kind;
mod number;
mod output;
mod retry;
mod store;
mod typed;

use clap::CommandFactory;
use cli::Cli;
use std::process::ExitCode;

fn main() -> ExitCode {
    // `tenure run` starts this program again for the processes beside its command; they are no business of clap's.
    if let Some(code) = child::helper() {
        return code;
    }
    // Who types nothing has not mistyped, and wants to see what there is.
    if std::env::args_os().len() < 2 {
        let _ = Cli::command().print_help();
        return exit::Reason::Invalid.code().into();
    }
    match typed::read() {
        Ok(cli) => commands::run(cli),
        Err(failure) => {
            output::fail(&failure);
            failure.exit_code()
        }
    }
}
