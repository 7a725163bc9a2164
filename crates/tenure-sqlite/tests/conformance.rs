//! The SQLite backend against the conformance suite, in one file for all cases.

mod support;

use std::process::ExitCode;
use std::sync::Arc;
use support::Place;
use tenure_sqlite::Sqlite;
use tenure_testkit::conformance::{Fixture, run};

struct InFile(Arc<Place>);

impl Fixture for InFile {
    type Backend = Sqlite;

    fn backend(&self) -> Sqlite {
        self.0.backend()
    }

    async fn keys_left(&self, part: &str) -> Vec<String> {
        self.0.litter().into_iter().filter(|left| left.contains(part)).collect()
    }
}

fn main() -> ExitCode {
    let place = Arc::new(Place::new());
    run("sqlite", move || InFile(Arc::clone(&place)))
}
