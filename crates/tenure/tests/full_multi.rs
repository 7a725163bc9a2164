//! Random sets over several stores, very many. Ignored unless `TENURE_FULL` is set, which `cargo xtask test --full` does.

mod sets;

use libtest_mimic::{Arguments, Trial};
use std::sync::atomic::Ordering;

const SETS: usize = 100_000;

fn main() {
    let long = Trial::test("random_sets", || {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let (report, tally) = runtime.block_on(sets::take(SETS));
        report.assert_clean().assert_at_least(SETS / 2);
        println!(
            "\nFULL | random sets of locks over 2 Redis servers and 1 SQLite file, 16 tasks | {SETS} | {} held, {} given up, \
             {} not free, {} timed out; 0 overlaps, nothing left, longest wait {} ms",
            tally.held.load(Ordering::Relaxed),
            tally.given_up.load(Ordering::Relaxed),
            tally.not_free.load(Ordering::Relaxed),
            tally.timed_out.load(Ordering::Relaxed),
            tally.longest.load(Ordering::Relaxed),
        );
        Ok(())
    });
    let trials = vec![long.with_ignored_flag(!tenure_testkit::figures::is_full())];
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
