//! The Redis backend against the conformance suite, on one server for all cases.

use std::process::ExitCode;
use std::sync::Arc;
use tenure_redis::{Config, Redis};
use tenure_testkit::RedisServer;
use tenure_testkit::conformance::{Fixture, run};

struct OnRedis(Arc<RedisServer>);

impl Fixture for OnRedis {
    type Backend = Redis;

    fn backend(&self) -> Redis {
        Config::from_url(&self.0.url()).expect("the server's own url").into_backend()
    }

    async fn keys_left(&self, part: &str) -> Vec<String> {
        // Tombstones end by themselves; nothing else may stay.
        let all = self.0.keys(&format!("*{part}*"));
        all.into_iter().filter(|key| !(key.starts_with("tenure:cancelled:") && self.0.pttl(key) > 0)).collect()
    }
}

fn main() -> ExitCode {
    let server = Arc::new(RedisServer::start());
    run("redis", move || OnRedis(Arc::clone(&server)))
}
