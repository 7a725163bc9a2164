//! The long runs of Redlock. They are ignored unless `TENURE_FULL` is set, which `cargo xtask test --full` does; each prints
//! one line for the table of results.

mod majority;
mod support;

use libtest_mimic::{Arguments, Failed, Trial};
use majority::phase::{Fault, length, phase};
use majority::{cancels, hung, turns};
use tenure_testkit::Report;

fn main() {
    let full = tenure_testkit::figures::is_full();
    let mut trials: Vec<Trial> = Fault::ALL.into_iter().map(|fault| trial(&fault.to_string(), load(fault))).collect();
    trials.push(trial("turns", many_turns()));
    trials.push(trial("cancels", many_cancels()));
    trials.push(trial("two that hang", beside_two_that_hang()));
    let trials = trials.into_iter().map(|trial| trial.with_ignored_flag(!full)).collect();
    libtest_mimic::run(&Arguments { test_threads: Some(1), ..Arguments::from_args() }, trials).exit();
}

fn trial(name: &str, run: impl Future<Output = ()> + Send + 'static) -> Trial {
    Trial::test(name, move || {
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?.block_on(run);
        Ok::<(), Failed>(())
    })
}

fn waits(report: &Report) -> String {
    let shares = format!("shares {}..{}", report.fewest(), report.most());
    format!("wait p50 {:?} p99 {:?} max {:?}, {shares}", report.wait_p50(), report.wait_p99(), report.wait_max())
}

/// Eight clients for a minute, while faults come and go.
async fn load(fault: Fault) {
    let report = phase(fault, length()).await;
    println!(
        "\nFULL | redlock, 5 servers, {fault}, 8 clients, lease 2 s, {} s | {} holds | 0 overlaps, tokens rise, {}",
        length().as_secs(),
        report.holds,
        waits(&report)
    );
}

/// One lock handed from client to client, with nothing to do in between.
async fn many_turns() {
    let report = turns::take_turns(10_000).await;
    println!(
        "\nFULL | redlock, 5 servers, 8 clients, empty section | {} holds | 0 overlaps, tokens rise, {}",
        report.holds,
        waits(&report)
    );
}

/// Acquires cancelled at random moments.
async fn many_cancels() {
    const CANCELS: u32 = 5_000;
    cancels::leave_nothing(CANCELS).await;
    println!(
        "\nFULL | redlock, cancelled acquires, 3 servers, 7 keys, 2 clients | {CANCELS} | nothing left on any server"
    );
}

/// An uncontended lock, with and without two of five servers that hang.
async fn beside_two_that_hang() {
    const ROUNDS: usize = 100;
    let ratio = hung::costs_little(ROUNDS).await;
    println!(
        "\nFULL | redlock, acquire and release while 2 of 5 servers hang, beside none | {ROUNDS} rounds | {ratio:.2} times as long"
    );
}
