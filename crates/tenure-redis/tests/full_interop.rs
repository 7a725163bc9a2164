//! The long run of a lock that is shared with Redisson. It is ignored unless `TENURE_FULL` is set, which
//! `cargo xtask test --full` does.

#[path = "support/mod.rs"]
mod support;

#[path = "interop/sharing.rs"]
#[expect(dead_code, reason = "what is short runs with the others")]
mod sharing;

use libtest_mimic::{Arguments, Trial};

fn main() {
    let shared = Trial::test("shared_with_redisson", || {
        tokio::runtime::Runtime::new()?.block_on(sharing::stress());
        Ok(())
    });
    let trials = vec![shared.with_ignored_flag(!tenure_testkit::figures::is_full())];
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
