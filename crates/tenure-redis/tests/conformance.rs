//! The Redis backend against the conformance suite, on one server for all cases.

#[path = "fixture/mod.rs"]
mod fixture;

use std::process::ExitCode;
use tenure_redis::Layout;

fn main() -> ExitCode {
    fixture::run("redis", Layout::Tenure)
}
