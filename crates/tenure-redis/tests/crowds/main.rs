//! Many who wait, in many processes: the order in which they are served, one who dies among them, and what they cost.

#[path = "../support/mod.rs"]
mod support;

mod cost;
mod crowd;
mod dying;
mod order;
mod reading;

use libtest_mimic::{Arguments, Trial};
use tenure_testkit::taker::if_taker;

fn main() {
    if_taker(|url| support::backend(url).into());
    let trials = vec![
        trial("five_hundred_of_eight_processes_are_served_in_order", order::served_in_order),
        trial("a_killed_waiter_holds_up_a_thousand_for_seconds", dying::killed_in_line),
        trial("a_downgrade_lets_the_readers_of_four_processes_in", reading::downgrade),
        trial("one_among_many_costs_the_server_what_one_among_few_does", cost::is_the_same_among_many),
    ];
    // One after the other: a crowd needs both cores.
    libtest_mimic::run(&Arguments { test_threads: Some(1), ..Arguments::from_args() }, trials).exit();
}

fn trial<F: Future<Output = ()> + 'static>(name: &str, case: fn() -> F) -> Trial {
    Trial::test(name, move || {
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?.block_on(case());
        Ok(())
    })
}
