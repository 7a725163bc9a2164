//! The MySQL backend against the conformance suite, on one MariaDB server for all cases.

use std::process::ExitCode;
use std::sync::Arc;
use tenure_mysql::{Config, MySql};
use tenure_testkit::MariaDbServer;
use tenure_testkit::conformance::{Fixture, run};

struct OnMariaDb(Arc<MariaDbServer>);

impl Fixture for OnMariaDb {
    type Backend = MySql;

    fn backend(&self) -> MySql {
        Config::from_url(&self.0.url()).unwrap().connections(450).into_backend()
    }

    async fn keys_left(&self, part: &str) -> Vec<String> {
        let held = "SELECT lock_key FROM tenure_locks \
                    WHERE holder IS NOT NULL AND forget > UNIX_TIMESTAMP(SYSDATE(6)) * 1000000";
        let left = self.0.rows(held).into_iter().flatten();
        left.filter(|left| left.contains(part)).collect()
    }
}

fn main() -> ExitCode {
    let server = Arc::new(MariaDbServer::builder().option("max_connections=4000").start());
    run("mysql", move || OnMariaDb(Arc::clone(&server)))
}
