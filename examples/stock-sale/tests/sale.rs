//! The example as a user runs it: its exit codes and what it prints.

use std::process::{Command, Output};

fn sale(args: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = Command::new(env!("CARGO_BIN_EXE_stock-sale"))
        .args(["--section-ms", "2"])
        .args(args)
        .env_remove("TENURE_URL")
        .output()
        .expect("the example was built for this test");
    (status.code(), String::from_utf8_lossy(&stdout).into_owned(), String::from_utf8_lossy(&stderr).into_owned())
}

#[test]
fn every_item_is_sold_once() {
    let (code, said, bar) = sale(&["--url", "memory:"]);
    assert_eq!(code, Some(0), "{said}{bar}");
    for expected in ["sold 50 of 50, left 0, refused 50", "no two sections overlapped", "100 tokens, each larger"] {
        assert!(said.contains(expected), "`{expected}` is not in:\n{said}");
    }
    assert_eq!(bar, "", "a progress bar was drawn on a pipe");
}

#[test]
fn without_the_lock_the_stock_is_oversold() {
    let (code, said, _) = sale(&["--without-lock"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("wrong: "), "{said}");
    assert!(!said.contains("no two sections overlapped"), "{said}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    for args in [["--buyers", "3"], ["--items", "0"], ["--url", "memory:here"], ["--url", "carrier-pigeon://"]] {
        let (code, said, error) = sale(&args);
        assert_eq!(code, Some(2), "{args:?}: {said}{error}");
        assert!(error.starts_with("error: "), "{args:?}: {error}");
    }
}
