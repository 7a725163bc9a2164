//! Each `tenure` line of the documentation's shell blocks is one that the command takes.

use crate::cli::Cli;
use clap::Parser;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A shell runs each block with this before it: `tenure` writes down its arguments, the other programs do nothing.
const STUBS: &str = r#"set -eu
tenure() { for word in tenure "$@"; do printf '%s\0' "$word"; done >>"$SAID"; printf '\n\0' >>"$SAID"; }
cargo() {
    case "$*" in "run -q -p tenure-cli -- "*) shift 5; tenure "$@" ;; esac
}
mariadb() { :; }
hostname() { echo host; }
"#;

#[test]
fn documented_lines_are_taken() {
    let dir = tempfile::tempdir().unwrap();
    let mut lines = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for block in text.split("\n```sh\n").skip(1) {
            let block = block.split("\n```").next().unwrap_or_default();
            for words in said(block, dir.path()) {
                lines += 1;
                if let Err(error) = Cli::try_parse_from(&words) {
                    panic!("{}: {words:?}\n{error}", page.display());
                }
            }
        }
    }
    assert!(lines > 20, "{lines} lines were found");
}

/// The README and the pages under `docs`.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let docs = fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let mut pages: Vec<_> = docs.filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
    pages.extend([root.join("README.md"), root.join("crates/tenure-cli/README.md")]);
    pages
}

/// The command lines of a block, as the command would see them.
fn said(block: &str, dir: &Path) -> Vec<Vec<String>> {
    let said = dir.join("said");
    fs::write(&said, "").unwrap();
    let shell = Command::new("sh")
        .args(["-c", &format!("{STUBS}{block}")])
        .env("SAID", &said)
        .env("HOME", dir)
        .current_dir(dir)
        .output()
        .unwrap();
    assert!(shell.status.success(), "{block}\n{}", String::from_utf8_lossy(&shell.stderr));
    let written = fs::read_to_string(&said).unwrap();
    let lines = written.split("\n\0").filter(|line| !line.is_empty());
    lines.map(|line| line.split_terminator('\0').map(str::to_owned).collect()).collect()
}
