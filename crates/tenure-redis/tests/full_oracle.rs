//! Random steps against the kernel, very many. Ignored unless `TENURE_FULL` is set, which `cargo xtask test --full` does.

use libtest_mimic::{Arguments, Trial};
use std::sync::Arc;
use tenure_core::Kind;
use tenure_redis::{Config, Layout};
use tenure_testkit::RedisServer;
use tenure_testkit::oracle::{KINDS, MANY_STEPS, replay_side_by_side, report, seed};

fn main() {
    let long = Trial::test("random_steps", || {
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?.block_on(replay_all());
        Ok(())
    });
    let trials = vec![long.with_ignored_flag(!tenure_testkit::figures::is_full())];
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

async fn replay_all() {
    let server = RedisServer::start();
    for (name, layout, kinds) in [
        ("redis", Layout::Tenure, &KINDS[..]),
        ("redis in Redisson's layout", Layout::Redisson, &[Kind::Fair, Kind::Read][..]),
    ] {
        let config = Config::from_url(&server.url()).expect("the server's own url").layout(layout);
        let backend = Arc::new(config.into_backend());
        for kind in kinds {
            report(name, *kind, replay_side_by_side(&backend, *kind, MANY_STEPS, seed()).await);
        }
    }
}
