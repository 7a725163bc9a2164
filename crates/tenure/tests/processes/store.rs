//! The stores on which this is tried, and this program as another process beside them.

use std::fmt;
use std::process::Command;
use tenure_testkit::{MariaDbServer, RedisServer};

/// A store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Name {
    Redis,
    Sqlite,
    Mysql,
}

impl Name {
    pub(crate) const ALL: [Self; 3] = [Self::Redis, Self::Sqlite, Self::Mysql];
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Redis => "redis",
            Self::Sqlite => "sqlite",
            Self::Mysql => "mysql",
        })
    }
}

/// One that runs, and ends with this.
pub(crate) struct Place {
    pub(crate) url: String,
    _server: Server,
}

enum Server {
    Redis(#[expect(dead_code, reason = "it runs until it is dropped")] RedisServer),
    Sqlite(#[expect(dead_code, reason = "it is there until it is dropped")] tempfile::TempDir),
    Mysql(#[expect(dead_code, reason = "it runs until it is dropped")] MariaDbServer),
}

impl Place {
    pub(crate) fn start(name: Name) -> Self {
        let (url, server) = match name {
            Name::Redis => {
                let server = RedisServer::start();
                (server.url(), Server::Redis(server))
            }
            Name::Sqlite => {
                let home = tempfile::tempdir().expect("a directory for the store");
                (format!("sqlite:{}", home.path().join("locks.db").display()), Server::Sqlite(home))
            }
            Name::Mysql => {
                let server = MariaDbServer::start();
                (server.url(), Server::Mysql(server))
            }
        };
        Self { url, _server: server }
    }
}

/// This program once more, to be somebody else.
pub(crate) fn as_another(role: &str, url: &str, what: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.env("TENURE_TEST_ROLE", role).env("TENURE_TEST_STORE", url).env("TENURE_TEST_WHAT", what);
    command
}

/// Whether this program was started to be this: on which store, and what it is to do.
pub(crate) fn role(role: &str) -> Option<(String, String)> {
    let said = |name: &str| std::env::var(name).ok();
    said("TENURE_TEST_ROLE").filter(|said| said == role)?;
    Some((said("TENURE_TEST_STORE")?, said("TENURE_TEST_WHAT")?))
}

/// A runtime of the caller's own.
pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime")
}
