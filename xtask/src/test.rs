//! `cargo xtask test`: every test against real servers, and no secret in what they print.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::run::{self, Result};
use crate::{full, install, output, tee, view};

/// Where the output is kept, from the workspace root.
const SAVED: &str = "target/test-output.txt";

/// Which tests to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    /// All but the long ones.
    Normal,
    /// All, the long ones last.
    Full,
    /// The long ones.
    Long,
}

/// Runs those of the tests whose name contains `filter`.
pub(crate) fn run(which: Which, filter: Option<&str>) -> Result<()> {
    let started = Instant::now();
    install::programs(&[install::SERVERS, install::JAVA])?;
    install::driver()?;

    let path = run::root().join(SAVED);
    let log = create(&path)?;
    let mut passed = which == Which::Long || tee::run(suite(which == Which::Full, filter), &log)?.success();
    let normal = read(&path)?.len();

    let long = which != Which::Normal;
    if long && !passed {
        println!("\nthe long tests did not run, because the normal ones failed");
    } else if long && !full::exist() {
        println!("\nthere are no long tests (tests/full_*.rs)");
    } else if long {
        passed = tee::run(full::suite(filter), &log)?.success();
    }
    let printed = read(&path)?;
    let all = String::from_utf8_lossy(&printed);

    let totals = output::totals(&output::plain(&all));
    println!("\n{totals} in {}", run::human(started.elapsed()));
    verdict(passed, &totals, &all)?;

    // Only now: a run that failed, or that leaked, has no results to publish.
    let reported = output::plain(&String::from_utf8_lossy(&printed[normal..]));
    full::publish(&output::reports(&reported), filter)
}

fn suite(full: bool, filter: Option<&str>) -> Command {
    let mut cargo = run::cargo(["test", "--workspace", "--all-features", "--no-fail-fast"]);
    cargo.args(filter);
    // What a passing test prints is searched for secrets as well.
    cargo.args(["--", "--show-output"]);
    if full {
        cargo.env("TENURE_IDLE", "1");
    }
    cargo
}

fn verdict(passed: bool, totals: &output::Totals, all: &str) -> Result<()> {
    // First, because a leak matters more than the failure that may have caused it.
    let leaks = output::leaks(all);
    if !leaks.is_empty() {
        return Err(format!("the tests printed a planted secret, see these lines of {SAVED}: {leaks:?}"));
    }
    if !passed || totals.failed > 0 {
        let plain = output::plain(all);
        let failures = view::failures(&plain);
        let told = failures.iter().map(|failure| format!("{}\n{}", failure.name, failure.text()));
        return Err(format!(
            "tests failed; all that was printed is in {SAVED}\n\n{}",
            told.collect::<Vec<_>>().join("\n")
        ));
    }
    if totals.passed == 0 {
        return Err("no test ran; check the filter".to_owned());
    }
    Ok(())
}

fn create(path: &Path) -> Result<File> {
    path.parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| File::create(path))
        .map_err(|error| format!("could not create {SAVED}: {error}"))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|error| format!("could not read {SAVED}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: output::Totals = output::Totals { passed: 1, failed: 0, ignored: 0 };

    #[test]
    fn a_leak_fails_a_run_that_passed() {
        let secret = ["hunter2", "canary"].join("-");
        let error = verdict(true, &ONE, &format!("fine\n{secret}\n")).unwrap_err();
        assert!(error.ends_with("target/test-output.txt: [2]"));
        assert!(!error.contains(&secret));
    }

    #[test]
    fn a_filter_that_matches_nothing_is_a_failure() {
        assert!(verdict(true, &output::Totals::default(), "").is_err());
        assert_eq!(verdict(true, &ONE, ""), Ok(()));
    }

    #[test]
    fn a_failure_names_the_tests_and_what_they_said() {
        let output = "failures:\n\n---- broken stdout ----\nwhy\n\nfailures:\n    broken\n\ntest result: FAILED.\n";
        let error = verdict(false, &ONE, output).unwrap_err();
        assert!(error.ends_with("target/test-output.txt\n\nbroken\n    why\n"), "{error}");
    }

    #[test]
    fn a_suite_that_crashed_without_a_result_line_is_a_failure() {
        assert!(verdict(false, &ONE, "").is_err());
    }
}
