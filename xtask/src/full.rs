//! The long tests: `tests/full_*.rs`, and the table of what they reported.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use crate::install::{self, JAVA, SERVERS};
use crate::output;
use crate::run::{self, Result};

/// The published table, from the workspace root.
const RESULTS: &str = "docs/full-results.md";

/// Whether there is any long test: cargo takes a pattern that matches nothing for an error.
pub(crate) fn exist() -> bool {
    ["crates", "bench"]
        .iter()
        .flat_map(|group| entries(&run::root().join(group)))
        .flat_map(|package| entries(&package.join("tests")))
        .any(|file| is_long(&file))
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    // Most packages have no tests directory.
    fs::read_dir(dir).map_or_else(|_| Vec::new(), |entries| entries.flatten().map(|entry| entry.path()).collect())
}

fn is_long(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "rs")
        && file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("full_"))
}

/// The long tests, one at a time so that they do not disturb each other's measurements.
pub(crate) fn suite(filter: Option<&str>) -> Command {
    let mut cargo = run::cargo(["test", "--release", "--workspace", "--test", "full_*"]);
    cargo.args(filter).args(["--", "--nocapture", "--test-threads=1"]).env("TENURE_FULL", "1").env("TENURE_IDLE", "1");
    cargo
}

/// Writes the reports of a whole run to the published table.
pub(crate) fn publish(reports: &[&str], filter: Option<&str>) -> Result<()> {
    if reports.is_empty() {
        return Ok(());
    }
    if filter.is_some() {
        println!("{RESULTS} stays as it is, because a filter was given");
        return Ok(());
    }
    fs::write(run::root().join(RESULTS), page(&machine()?, reports))
        .map_err(|error| format!("could not write {RESULTS}: {error}"))?;
    println!("wrote {RESULTS}");
    Ok(())
}

/// When and on what the tests ran, as rows of a table.
fn machine() -> Result<Vec<(&'static str, String)>> {
    let mut rows = vec![("date", said("date", &["-u", "+%F"])?), ("rustc", said("rustc", &["--version"])?)];
    for program in SERVERS.iter().chain(JAVA) {
        // The rest of the line is about the build: hashes, allocators, word sizes.
        let found = install::find(program.name).unwrap_or_else(|| program.name.into());
        // Some say the path by which they were called, which is about this machine.
        let version = said(&found, &["--version"])?.replacen(&found.display().to_string(), program.name, 1);
        let version: Vec<_> = version.split_whitespace().take(3).collect();
        rows.push((program.name, version.join(" ")));
    }
    rows.push(("kernel", said("uname", &["-sr"])?));
    let cores = thread::available_parallelism().map_err(|error| format!("could not count the cores: {error}"))?;
    rows.push(("cores", cores.to_string()));
    Ok(rows)
}

fn said(program: impl AsRef<OsStr>, args: &[&str]) -> Result<String> {
    let output = run::read(run::command(program).args(args))?;
    // Maven colours its version whoever reads it.
    Ok(output::plain(output.lines().next().unwrap_or_default()).trim().to_owned())
}

fn page(machine: &[(&str, String)], reports: &[&str]) -> String {
    let mut lines = vec![
        "# Results of the long tests".to_owned(),
        String::new(),
        "The long runs of `cargo xtask test --full` or `--long`; earlier ones are in the history of this file."
            .to_owned(),
        String::new(),
        "| Run | |".to_owned(),
        "|---|---|".to_owned(),
    ];
    lines.extend(machine.iter().map(|(name, value)| format!("| {name} | {value} |")));
    lines.push(String::new());
    lines.push("| Test | Amount | Result |".to_owned());
    lines.push("|---|---:|---|".to_owned());
    lines.extend(reports.iter().map(|report| row(report)));
    lines.join("\n") + "\n"
}

/// Three cells whatever the test printed: Markdown drops the cells beyond the heading.
fn row(report: &str) -> String {
    let mut cells = report.splitn(3, '|').map(str::trim);
    let mut cell = || cells.next().unwrap_or_default().replace('|', r"\|");
    format!("| {} | {} | {} |", cell(), cell(), cell())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_three_cells() {
        assert_eq!(row("handoffs | 1000000 | 0 lost"), "| handoffs | 1000000 | 0 lost |");
        assert_eq!(row("soak"), "| soak |  |  |");
        assert_eq!(row("a | 1 | b | c"), r"| a | 1 | b \| c |");
    }

    #[test]
    fn the_page_says_when_and_on_what() {
        let page = page(&[("date", "2031-01-02".to_owned())], &["soak | 1 h | ok"]);
        assert!(page.contains("| date | 2031-01-02 |\n\n| Test |"), "{page}");
        assert!(page.ends_with("| soak | 1 h | ok |\n"), "{page}");
    }

    #[test]
    fn long_tests_are_known_by_name() {
        assert!(is_long(Path::new("tests/full_soak.rs")));
        assert!(!is_long(Path::new("tests/soak.rs")));
        assert!(!is_long(Path::new("tests/full_soak.proptest-regressions")));
    }
}
