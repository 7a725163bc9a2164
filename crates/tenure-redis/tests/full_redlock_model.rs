//! The model of Redlock within larger bounds, some minutes each. Ignored unless `TENURE_FULL` is set, which `cargo xtask test
//! --full` does; each prints one line for the table of results.

#[path = "redlock_model/check.rs"]
mod check;
#[path = "redlock_model/model/mod.rs"]
mod model;

use check::{BOTH, holds};
use libtest_mimic::{Arguments, Trial};
use model::{AFTER_JUMP, AFTER_RESTART, Abstain, BACKED, EXCLUSIVE, EXTENDED, IN_TURN, ORDERED, Rules};

/// Generated states after which a check fails: some minutes, and below 1.5 GB.
const LARGE: usize = 300_000_000;

/// A run, and what always holds in it and what does happen.
type Check = (&'static str, &'static [&'static str], &'static [&'static str], Rules);

fn main() {
    let full = tenure_testkit::figures::is_full();
    let trial = |(name, always, sometimes, rules): Check| {
        Trial::test(name, move || {
            let states = holds(name, always, sometimes, rules, LARGE);
            println!("\nFULL | redlock model, {name} | {states} states | {} in each", always.join(", "));
            Ok(())
        })
        .with_ignored_flag(!full)
    };
    let trials = checks().into_iter().map(trial).collect();
    libtest_mimic::run(&Arguments { test_threads: Some(1), ..Arguments::from_args() }, trials).exit();
}

fn checks() -> Vec<Check> {
    let late = Rules { attempts: 3, extensions: 1, late: 1, ..Rules::default() };
    let jump = Rules { attempts: 3, extensions: 1, jump: 2, ..Rules::default() };
    let restart = Rules { end: 6, downtime: 1, attempts: 3, abstain: Abstain::Uptime, ..Rules::default() };
    vec![
        (
            "no fault",
            &[ORDERED, EXCLUSIVE, BACKED],
            &[IN_TURN, EXTENDED],
            Rules { end: 6, attempts: 4, extensions: 2, ..Rules::default() },
        ),
        ("late request", BOTH, &[IN_TURN, EXTENDED], late),
        ("jump", &[ORDERED], &[AFTER_JUMP, EXTENDED], jump.clone()),
        ("jump, late request", &[ORDERED], &[AFTER_JUMP], Rules { end: 4, extensions: 0, late: 1, ..jump }),
        ("restart", BOTH, &[IN_TURN, AFTER_RESTART, EXTENDED], Rules { extensions: 1, ..restart.clone() }),
        (
            "restart, run ids",
            BOTH,
            &[IN_TURN, AFTER_RESTART],
            Rules { end: 5, abstain: Abstain::Both, ..restart.clone() },
        ),
        ("jump and restart", &[ORDERED], &[AFTER_JUMP, AFTER_RESTART], Rules { end: 5, jump: 2, ..restart }),
    ]
}
