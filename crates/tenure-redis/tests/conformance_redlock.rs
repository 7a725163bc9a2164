//! Redlock over three Redis servers against the conformance suite, for the kinds that it has.

use std::process::ExitCode;
use std::sync::Arc;
use tenure_redis::{Redlock, RedlockConfig};
use tenure_testkit::RedisServer;
use tenure_testkit::conformance::{Fixture, run};

struct OnThree(Arc<[RedisServer; 3]>);

impl Fixture for OnThree {
    type Backend = Redlock;

    fn backend(&self) -> Redlock {
        let urls: Vec<String> = self.0.iter().map(RedisServer::url).collect();
        // Restarts are of no concern here, and some cases have long leases.
        RedlockConfig::from_url(&format!("redlock:{}?max_lease=24h", urls.join(","))).unwrap().into_backend()
    }

    async fn keys_left(&self, part: &str) -> Vec<String> {
        // Tombstones end by themselves; nothing else may stay.
        let left = |server: &RedisServer| {
            let all = server.keys(&format!("*{part}*")).into_iter();
            all.filter(|key| !(key.starts_with("tenure:cancelled:") && server.pttl(key) != -1)).collect::<Vec<_>>()
        };
        self.0.iter().flat_map(left).collect()
    }
}

fn main() -> ExitCode {
    let servers = Arc::new([RedisServer::start(), RedisServer::start(), RedisServer::start()]);
    run("redlock", move || OnThree(Arc::clone(&servers)))
}
