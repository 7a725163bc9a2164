//! The store that is measured, and the server it is on.

use clap::ValueEnum;
use tenure_testkit::{MariaDbServer, RedisServer};

/// The store.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Backend {
    Redis,
    #[value(name = "mysql")]
    MySql,
}

/// A server of our own, until it is dropped.
pub(crate) enum Server {
    Redis(RedisServer),
    MariaDb(MariaDbServer),
}

impl Backend {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Redis => "redis",
            Self::MySql => "mysql",
        }
    }

    /// How many tasks, unless it was said.
    pub(crate) fn tasks(self) -> &'static [usize] {
        match self {
            Self::Redis => &[1, 64, 1024],
            Self::MySql => &[1, 8],
        }
    }

    /// Which systems, unless it was said.
    pub(crate) fn systems(self) -> &'static [&'static str] {
        match self {
            Self::Redis => &["tenure", "tenure-simple", "bare"],
            Self::MySql => &["tenure", "tenure-simple", "bare", "bare-write"],
        }
    }

    pub(crate) fn start(self) -> Server {
        match self {
            Self::Redis => Server::Redis(RedisServer::start()),
            Self::MySql => Server::MariaDb(MariaDbServer::start()),
        }
    }
}

impl Server {
    pub(crate) fn url(&self) -> String {
        match self {
            Self::Redis(server) => server.url(),
            Self::MariaDb(server) => server.url(),
        }
    }
}
