//! One file per command.

mod completions;
mod demo;
mod inspect;
mod latch;
mod ls;
mod man;
mod release;
mod run;
mod schema;
mod semaphore;
mod wait;

use crate::cli::{Cli, Command};
use crate::exit::{Failure, Reason};
use crate::output::{self, Talk};
use std::process::ExitCode;
use std::time::Duration;
use tenure::{Builder, Client};

/// How long the end of a command that took no lock may take.
const CLOSE: Duration = Duration::from_millis(500);

/// Does what was asked, says what went wrong, and knows the exit code.
pub(crate) fn run(cli: Cli) -> ExitCode {
    let talk = Talk::new(&cli.common);
    // One thread: the command that `tenure run` starts is told when the thread that started it dies.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let outcome = match runtime {
        Ok(runtime) => runtime.block_on(dispatch(cli, talk)),
        Err(error) => Err(Failure::new(Reason::Nothing, format!("could not start the runtime: {error}"))),
    };
    outcome.unwrap_or_else(|failure| {
        output::fail(&failure);
        failure.exit_code()
    })
}

async fn dispatch(cli: Cli, talk: Talk) -> Result<ExitCode, Failure> {
    let common = &cli.common;
    match cli.command {
        Command::Run(args) => return Ok(run::run(common, talk, *args).await),
        Command::Ls { pattern } => ls::run(common, talk, &pattern).await?,
        Command::Inspect { key } => inspect::run(common, talk, &key).await?,
        Command::Release { key, force: _ } => release::run(common, talk, &key).await?,
        Command::Wait { wait, key } => wait::run(common, talk, &key, wait).await?,
        Command::Latch { command } => latch::run(common, talk, command).await?,
        Command::Semaphore { command } => semaphore::run(common, talk, command).await?,
        Command::Schema => schema::run(common)?,
        Command::Demo(args) => return demo::run(common, talk, &args).await,
        Command::Completions { shell } => completions::run(shell)?,
        Command::Man { dir } => man::run(dir.as_deref())?,
    }
    Ok(ExitCode::SUCCESS)
}

/// A client for somebody who only looks.
async fn visitor(common: &crate::cli::Common, talk: Talk, wait: Option<Duration>) -> Result<Client, Failure> {
    let builder: Builder = Client::builder().connect_within(crate::store::reach_within(wait));
    crate::store::connect(common, talk, builder).await
}

/// Ends a client that holds nothing; what it could not tidy up in time goes away by itself.
async fn leave(client: &Client) {
    let _ = client.close(CLOSE).await;
}

/// Refuses a key that looks free because it is no lock's, but a latch's that is shut.
async fn check_no_latch(client: &Client, key: &str) -> Result<(), Failure> {
    // Where there are none, it is no latch.
    let Ok(latch) = client.latch(key) else { return Ok(()) };
    // Nor is what is in use for something else.
    match latch.count().await {
        Ok(count) if count > 0 => {
            let what =
                format!("this is no lock but a latch, see `tenure latch get {key}` and `tenure latch wait {key}`");
            Err(Failure::invalid(format!("{what}: key=`{key}` count={count}")))
        }
        _ => Ok(()),
    }
}

/// Refuses keys that no person could have meant, before anything is sent.
fn check_key(key: &str) -> Result<(), Failure> {
    tenure::Key::new(key).map_err(|error| Failure::invalid(error.to_string()))?;
    if key.chars().any(char::is_control) {
        return Err(Failure::invalid(format!(
            "a lock's key must not have control characters in it, such as line breaks: key=`{}`",
            key.escape_default()
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_nobody_meant_are_refused() {
        assert!(check_key("order:42 ü").is_ok());
        for key in ["", "a\nb", "a\u{1b}[31m", "\u{7f}", &"k".repeat(1025)] {
            assert_eq!(check_key(key).unwrap_err().reason, Reason::Invalid, "{key:?}");
        }
    }
}
