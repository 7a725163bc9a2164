//! The Redis backend against the conformance suite, with fair and read-write locks in Redisson's layout.

#[path = "fixture/mod.rs"]
mod fixture;

use std::process::ExitCode;
use tenure_redis::Layout;

fn main() -> ExitCode {
    fixture::run("redisson's layout", Layout::Redisson)
}
