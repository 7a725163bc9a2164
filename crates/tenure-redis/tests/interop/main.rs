//! One lock between Tenure and Redisson, which runs for real in a JVM: each waits for the other, wakes the other and sees
//! what the other holds.

#[path = "../support/mod.rs"]
mod support;

mod agreeing;
mod counts;
mod dying;
mod forcing;
mod kinds;
mod sharing;
mod sides;
mod waking;

use libtest_mimic::{Arguments, Trial};
use tenure_testkit::taker::if_taker;

fn main() {
    if_taker(|url| support::backend(url).into());
    let trials = vec![
        trial("java_wakes_rust", waking::java_wakes_rust),
        trial("rust_wakes_java", waking::rust_wakes_java),
        trial("java_gets_in_when_what_rust_kept_is_over", waking::rust_keeps_it_for_a_while),
        trial("java_sees_what_rust_holds", agreeing::java_sees_what_rust_holds),
        trial("rust_sees_what_java_holds", agreeing::rust_sees_what_java_holds),
        trial("java_gets_in_when_a_rust_holder_was_killed", dying::killed_rust),
        trial("rust_gets_in_when_a_java_holder_was_killed", dying::killed_java),
        trial("rust_notices_that_java_forced_it_out", forcing::java_forces),
        trial("java_notices_that_rust_forced_it_out", forcing::rust_forces),
        trial("java_cannot_unlock_what_rust_holds", forcing::java_cannot_unlock),
        trial("rust_cannot_release_what_java_holds", forcing::rust_cannot_release),
        trial("a_java_thread_is_not_starved_by_rust_tasks", sharing::nobody_starves),
        trial("java_threads_and_rust_tasks_share_one_lock", sharing::stress),
        trial("java_wakes_rust_on_every_kind", kinds::java_wakes_rust),
        trial("rust_wakes_java_on_every_kind", kinds::rust_wakes_java),
        trial("both_stand_in_one_line", kinds::one_line_for_both),
        trial("readers_of_both_are_together", kinds::readers_of_both_are_together),
        trial("a_downgrade_wakes_java", kinds::a_downgrade_wakes_java),
        trial("counts_and_leases_agree_on_every_kind", kinds::counts_and_leases_agree),
        trial("what_died_on_our_side_does_not_keep_java_out", kinds::what_died_on_our_side_does_not_keep_java_out),
        trial("what_died_in_java_does_not_keep_us_out", kinds::what_died_in_java_does_not_keep_us_out),
        trial("java_threads_and_rust_tasks_share_every_kind", kinds::stress),
        trial("one_semaphore_for_both", counts::one_semaphore_for_both),
        trial("a_semaphore_of_both_is_never_over_granted", counts::never_over_granted),
        trial("permits_pass_between_both", counts::permits_pass_between_both),
        trial("one_latch_for_both", counts::one_latch_for_both),
        trial("tokens_are_counted_by_both", counts::tokens_are_counted_by_both),
    ];
    // One after the other: two cores are few for a JVM and a crowd.
    libtest_mimic::run(&Arguments { test_threads: Some(1), ..Arguments::from_args() }, trials).exit();
}

fn trial<F: Future<Output = ()> + 'static>(name: &str, case: fn() -> F) -> Trial {
    Trial::test(name, move || {
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?.block_on(case());
        Ok(())
    })
}
