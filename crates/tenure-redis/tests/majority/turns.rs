//! Many turns of eight clients with nothing to do in between: votes that are split come together again.

use super::race::{Race, Section};
use super::set::Set;
use tenure_testkit::Report;

pub(crate) async fn take_turns(turns: usize) -> Report {
    let set = Set::start(5);
    let report = Race::start(&set, Section::EMPTY, turns).await.finish().await;
    let calls = set.servers[0].command_calls("evalsha");
    println!("{turns} turns, {} calls of each server for one: {report}", calls / turns as u64);
    report.assert_clean().assert_at_least(turns);
    report
}
