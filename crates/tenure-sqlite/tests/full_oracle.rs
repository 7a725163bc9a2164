//! Random steps against the kernel, very many. Ignored unless `TENURE_FULL` is set, which `cargo xtask test --full` does.

mod support;

use libtest_mimic::{Arguments, Trial};
use support::Place;
use tenure_core::ManualClock;
use tenure_sqlite::Config;
use tenure_testkit::oracle::{KINDS, MANY_STEPS, Pace, replay, report, seed};

fn main() {
    let long = Trial::test("random_steps", || {
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?.block_on(replay_all());
        Ok(())
    });
    let trials = vec![long.with_ignored_flag(!tenure_testkit::figures::is_full())];
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

async fn replay_all() {
    for kind in KINDS {
        let (place, clock) = (Place::new(), ManualClock::new());
        let backend = Config::at(&place.path).unwrap().pretend("a boot", clock.clone()).into_backend();
        report("sqlite", kind, replay(&backend, kind, &Pace::Manual(clock), MANY_STEPS, seed()).await);
        assert_eq!(place.integrity(), "ok");
    }
}
