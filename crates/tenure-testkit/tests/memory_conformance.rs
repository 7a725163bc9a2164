//! The memory backend against the conformance suite.

use std::process::ExitCode;
use std::time::Duration;
use tenure_core::{Backend, Memory, Pattern};
use tenure_testkit::conformance::{Fixture, run};

struct InMemory(Memory);

impl Fixture for InMemory {
    type Backend = Memory;

    fn backend(&self) -> Memory {
        self.0.clone()
    }

    async fn keys_left(&self, part: &str) -> Vec<String> {
        let found = self.0.list(&Pattern::new(&format!("*{part}*")), Duration::from_secs(1)).await;
        found.expect("memory answers").into_iter().map(|(key, _)| key.to_string()).collect()
    }
}

fn main() -> ExitCode {
    run("memory", || InMemory(Memory::new()))
}
