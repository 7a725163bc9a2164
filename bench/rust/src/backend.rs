//! The store that is measured, and the servers it is on.

use clap::ValueEnum;
use tenure_testkit::{MariaDbServer, RedisServer};

/// The store.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Backend {
    Redis,
    #[value(name = "mysql")]
    MySql,
    Redlock,
}

/// How many servers keep the locks of a majority.
const SERVERS: usize = 5;

/// Servers of our own, until they are dropped.
pub(crate) enum Server {
    Redis(RedisServer),
    MariaDb(MariaDbServer),
    /// Those that live, and those of which a minority hangs.
    Redlock(Vec<RedisServer>, Vec<RedisServer>),
}

/// Where the servers are.
pub(crate) struct Urls {
    pub(crate) url: String,
    /// Where a minority hangs.
    pub(crate) hung: Option<String>,
}

impl Backend {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Redis => "redis",
            Self::MySql => "mysql",
            Self::Redlock => "redlock",
        }
    }

    /// How many tasks, unless it was said.
    pub(crate) fn tasks(self) -> &'static [usize] {
        match self {
            Self::Redis => &[1, 64, 1024],
            Self::MySql => &[1, 8],
            Self::Redlock => &[1, 64],
        }
    }

    /// Which systems, unless it was said.
    pub(crate) fn systems(self) -> &'static [&'static str] {
        match self {
            Self::Redis => &["tenure", "tenure-simple", "bare"],
            Self::MySql => &["tenure", "tenure-simple", "bare", "bare-write"],
            Self::Redlock => &["tenure", "tenure-simple", "tenure-hung", "tenure-one", "bare"],
        }
    }

    pub(crate) fn start(self) -> Server {
        let several = || (0..SERVERS).map(|_| RedisServer::start()).collect();
        match self {
            Self::Redis => Server::Redis(RedisServer::start()),
            Self::MySql => Server::MariaDb(MariaDbServer::start()),
            Self::Redlock => Server::Redlock(several(), several()),
        }
    }
}

impl Server {
    pub(crate) fn urls(&self) -> Urls {
        let (url, hung) = match self {
            Self::Redis(server) => (server.url(), None),
            Self::MariaDb(server) => (server.url(), None),
            Self::Redlock(living, hung) => (redlock(living), Some(redlock(hung))),
        };
        Urls { url, hung }
    }

    /// From now on those hang that are to.
    pub(crate) fn hang(&self) {
        if let Self::Redlock(_, hung) = self {
            hung[..SERVERS / 2].iter().for_each(RedisServer::pause);
        }
    }
}

fn redlock(servers: &[RedisServer]) -> String {
    let urls: Vec<String> = servers.iter().map(RedisServer::url).collect();
    format!("redlock:{}", urls.join(","))
}
