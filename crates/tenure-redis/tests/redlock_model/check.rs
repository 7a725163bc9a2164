//! Runs the checker within bounds and says what it found.

// The larger bounds use a part of this.
#![allow(dead_code)]

use crate::model::{Action, EXCLUSIVE, ORDERED, Rules};
use stateright::{Checker, Model};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Generated states after which a check fails: half a minute, and 200 MB.
pub(crate) const LIMIT: usize = 40_000_000;

/// Checks every state: these always hold, and those do happen, or the run would be vacuous. How many states there are.
pub(crate) fn holds(
    name: &str,
    always: &[&'static str],
    sometimes: &[&'static str],
    mut rules: Rules,
    limit: usize,
) -> usize {
    rules.check = [always, sometimes].concat();
    let found = exhaust(name, rules, limit);
    for property in always {
        assert!(!found.has(property), "{name}: {property}: {}", found.way(property));
    }
    for property in sometimes {
        assert!(found.has(property), "{name}: vacuous: {property}");
    }
    found.states
}

/// A planted fault must break this property, or the model would not see such a fault in the protocol either.
pub(crate) fn breaks(name: &str, property: &'static str, mut rules: Rules) {
    rules.check = vec![property];
    let found = hunt(name, rules, LIMIT);
    assert!(found.has(property), "{name}: the planted fault was not found");
    println!("{}", found.way(property));
}

pub(crate) const BOTH: &[&str] = &[ORDERED, EXCLUSIVE];

/// One check at a time: side by side they would share two cores and add up their memory.
static ONE: Mutex<()> = Mutex::new(());

/// What a check found: for each property that has an example (of `sometimes`) or a counterexample, the way to it.
struct Found {
    ways: BTreeMap<&'static str, Vec<Action>>,
    states: usize,
}

impl Found {
    fn has(&self, property: &str) -> bool {
        self.ways.contains_key(property)
    }

    /// The steps to it, so that a reader can follow the interleaving.
    fn way(&self, property: &str) -> String {
        let steps = self.ways[property].iter().enumerate();
        steps.map(|(index, action)| format!("    {index:2} {action:?}")).collect::<Vec<_>>().join("\n")
    }
}

/// Visits every state; panics if the bounds cut it short.
fn exhaust(name: &str, rules: Rules, limit: usize) -> Found {
    run(name, rules, limit, true)
}

/// Looks for a short counterexample: breadth first, and ends at the first one found.
fn hunt(name: &str, rules: Rules, limit: usize) -> Found {
    run(name, rules, limit, false)
}

fn run(name: &str, rules: Rules, limit: usize, depth_first: bool) -> Found {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let begin = Instant::now();
    let patience = Duration::from_secs(1_000);
    let builder = rules.checker().threads(2).target_state_count(limit).timeout(patience);
    // Depth first keeps a queue of a few hundred states only; breadth first gives short ways.
    let (states, generated, depth, found) =
        if depth_first { outcome(&builder.spawn_dfs().join()) } else { outcome(&builder.spawn_bfs().join()) };
    let spent = begin.elapsed();
    let found: BTreeMap<_, _> = found.into_iter().collect();
    println!(
        "{name}: {states} states ({generated} generated, depth {depth}) in {:.1} s, peak memory {} MB, found: {:?}",
        spent.as_secs_f32(),
        peak_memory(),
        found.keys().collect::<Vec<_>>()
    );
    assert!(!depth_first || (generated < limit && spent < patience), "{name}: not exhausted within its bounds");
    Found { ways: found, states }
}

type Ways = Vec<(&'static str, Vec<Action>)>;

fn outcome(checker: &impl Checker<Rules>) -> (usize, usize, usize, Ways) {
    let ways = checker.discoveries().into_iter();
    let ways = ways.map(|(name, path)| (name, checker.model().retell(&path.into_states()))).collect();
    (checker.unique_state_count(), checker.state_count(), checker.max_depth(), ways)
}

/// The most memory this process has had, in MB; 0 where the system does not say.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or_default() / 1024
}
