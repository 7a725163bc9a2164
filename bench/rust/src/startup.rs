//! How long `tenure run` takes from its start to the first word of a command that holds its lock, on the embedded store.

use crate::report::Row;
use crate::workload::histogram;
use std::error::Error;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The command, built beside this program.
fn program() -> Result<PathBuf, Box<dyn Error>> {
    let program = std::env::current_exe()?.with_file_name("tenure");
    if program.exists() {
        Ok(program)
    } else {
        Err(format!("build it first, with `cargo build --release -p tenure-cli`: {}", program.display()).into())
    }
}

/// Runs the command again and again.
pub(crate) fn startup(length: Duration) -> Result<Row, Box<dyn Error>> {
    let (program, place) = (program()?, tempfile::tempdir()?);
    let url = format!("sqlite:{}", place.path().join("locks.db").display());
    let mut times = histogram();
    let began = Instant::now();
    // Not counted: it makes the file, which happens once.
    once(&program, &url)?;
    while began.elapsed() < length {
        let took = once(&program, &url)?;
        times.saturating_record(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
    }
    Ok(Row::new("sqlite", "tenure", "startup", 1, &times, began.elapsed()))
}

fn once(program: &PathBuf, url: &str) -> Result<Duration, Box<dyn Error>> {
    let start = Instant::now();
    let mut command = Command::new(program);
    let mut child = command.args(["--url", url, "run", "k", "--", "echo", "in"]).stdout(Stdio::piped()).spawn()?;
    let mut word = [0; 3];
    child.stdout.take().ok_or("its output is ours")?.read_exact(&mut word)?;
    let took = start.elapsed();
    child.wait()?;
    Ok(took)
}
