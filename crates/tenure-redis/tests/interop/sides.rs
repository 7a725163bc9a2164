//! Both sides of a shared lock, and how a test knows that one of them waits.

use crate::support::{PATIENCE, builder, eventually};
use std::time::Duration;
use tenure_core::Client;
use tenure_redis::{Config, Layout};
use tenure_testkit::RedisServer;
use tenure_testkit::redisson::{Redisson, jvm};

/// A lease that does not end while a test runs.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// A client of ours that lays fair and read-write locks out in this way.
pub(crate) async fn client_in(server: &RedisServer, layout: Layout) -> Client {
    let config = Config::from_url(&server.url()).expect("the server's own url").layout(layout);
    builder().connect(config.into_backend()).await.expect("the server can be reached")
}

/// A server with a client of each library.
pub(crate) struct Sides {
    pub(crate) java: Redisson,
    pub(crate) rust: Client,
    // Last, so that it is there until the others have gone.
    pub(crate) server: RedisServer,
}

impl Sides {
    pub(crate) async fn meet() -> Self {
        Self::meet_in(Layout::Tenure).await
    }

    /// With fair and read-write locks laid out in this way on our side.
    pub(crate) async fn meet_in(layout: Layout) -> Self {
        let server = RedisServer::start();
        let java = jvm().connect(&server.url(), LONG).await;
        let rust = client_in(&server, layout).await;
        Self { java, rust, server }
    }

    /// How many scripts have run on the server so far.
    pub(crate) fn scripts(&self) -> u64 {
        self.server.command_calls("evalsha") + self.server.command_calls("eval")
    }

    /// Until somebody who began to wait after that many scripts can be woken: asked, listens, and asked again.
    pub(crate) async fn somebody_waits(&self, scripts: u64) {
        eventually("somebody waits", PATIENCE, || self.scripts() >= scripts + 2).await;
    }
}
