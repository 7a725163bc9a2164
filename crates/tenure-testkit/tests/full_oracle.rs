//! Random steps against the kernel, very many. Ignored unless `TENURE_FULL` is set, which `cargo xtask test --full` does.

use libtest_mimic::{Arguments, Trial};
use tenure_core::{ManualClock, Memory};
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
        let clock = ManualClock::new();
        let store = Memory::with_clock(clock.clone());
        report("memory", kind, replay(&store, kind, &Pace::Manual(clock), MANY_STEPS, seed()).await);
    }
}
