//! The long run of a lock that is shared with Redisson. It is ignored unless `TENURE_FULL` is set, which
//! `cargo xtask test --full` does.

#[path = "support/mod.rs"]
mod support;

#[path = "interop/kinds.rs"]
#[expect(dead_code, reason = "what is short runs with the others")]
mod kinds;
#[path = "interop/sharing.rs"]
#[expect(dead_code, reason = "what is short runs with the others")]
mod sharing;
#[path = "interop/sides.rs"]
#[expect(dead_code, reason = "what is short runs with the others")]
mod sides;

use libtest_mimic::{Arguments, Trial};

fn main() {
    let trials = vec![
        trial("shared_with_redisson", sharing::stress),
        trial("shared_with_redisson_on_every_kind", kinds::stress),
    ];
    libtest_mimic::run(&Arguments { test_threads: Some(1), ..Arguments::from_args() }, trials).exit();
}

fn trial<F: Future<Output = ()> + 'static>(name: &str, case: fn() -> F) -> Trial {
    let run = move || {
        tokio::runtime::Runtime::new()?.block_on(case());
        Ok(())
    };
    Trial::test(name, run).with_ignored_flag(!tenure_testkit::figures::is_full())
}
