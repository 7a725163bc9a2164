//! `cargo xtask bench`: the benchmarks, in release mode, against real servers.

use std::ffi::OsString;
use std::time::Instant;

use crate::install;
use crate::run::{self, Result};

/// Builds the benchmark program and runs it with `args`.
pub(crate) fn run(args: &[OsString]) -> Result<()> {
    install::programs(&[install::SERVERS])?;
    let started = Instant::now();
    run::run(&mut run::cargo(["build", "--release", "--package", "tenure-cli"]))?;
    run::run(run::cargo(["run", "--release", "--package", "tenure-bench", "--"]).args(args))?;
    // On stderr, so that the program's own output can be piped on.
    eprintln!("\nbench took {}", run::human(started.elapsed()));
    Ok(())
}
