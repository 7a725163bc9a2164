//! A fenced Redlock, checked exhaustively within small bounds; and planted faults, each of which must be found.
//!
//! `cargo test --test redlock_model -- --nocapture` shows states, time and memory, and the counterexamples. The larger bounds
//! are in `full_redlock_model.rs`.

mod check;
mod model;

use check::{BOTH, LIMIT, breaks, holds};
use model::{AFTER_JUMP, AFTER_RESTART, Abstain, BACKED, EXCLUSIVE, EXTENDED, IN_TURN, ORDERED, Rules, Source};

// ---- The protocol

#[test]
fn without_faults_tokens_are_ordered_and_guards_exclude() {
    let rules = Rules { attempts: 3, extensions: 2, ..Rules::default() };
    holds("no fault", &[ORDERED, EXCLUSIVE, BACKED], &[IN_TURN, EXTENDED], rules, LIMIT);
}

#[test]
fn late_requests_of_a_dead_attempt_do_no_harm() {
    let rules = Rules { end: 4, attempts: 3, late: 1, ..Rules::default() };
    holds("late request", BOTH, &[IN_TURN], rules, LIMIT);
    let rules = Rules { attempts: 2, extensions: 1, late: 2, ..Rules::default() };
    holds("late requests, extension", BOTH, &[EXTENDED], rules, LIMIT);
}

#[test]
fn a_clock_jump_keeps_the_order_of_tokens() {
    let rules = Rules { end: 4, attempts: 3, jump: 2, ..Rules::default() };
    holds("jump", &[ORDERED], &[AFTER_JUMP], rules, LIMIT);
}

#[test]
fn a_clock_jump_breaks_exclusion() {
    // By design: no lease survives this, and it is what the token is for. Client 0 has a guard on nodes 0 and 1; node 1
    // jumps past the lease; client 1 gets nodes 1 and 2.
    breaks("jump", EXCLUSIVE, Rules { end: 3, attempts: 2, jump: 2, ..Rules::default() });
}

#[test]
fn a_restart_with_abstention_breaks_nothing() {
    let rules = Rules { downtime: 1, attempts: 2, extensions: 1, ..Rules::default() };
    holds("restart", BOTH, &[AFTER_RESTART, EXTENDED], rules.clone(), LIMIT);
    // The uptime alone is enough where it can be trusted; without run ids there is room for a third attempt.
    let rules = Rules { attempts: 3, extensions: 0, abstain: Abstain::Uptime, ..rules };
    holds("restart, by uptime", BOTH, &[IN_TURN, AFTER_RESTART], rules, LIMIT);
}

#[test]
fn a_restart_without_abstention_keeps_the_order_of_timed_tokens() {
    let rules = Rules { end: 4, downtime: 1, attempts: 3, abstain: Abstain::Never, ..Rules::default() };
    holds("restart, no abstention", &[ORDERED], &[AFTER_RESTART], rules, LIMIT);
}

#[test]
fn a_restart_without_abstention_breaks_exclusion() {
    // Client 0 has a guard on nodes 0 and 1; node 0 forgets; client 1 gets nodes 0 and 2.
    let rules = Rules { end: 3, downtime: 1, attempts: 2, abstain: Abstain::Never, ..Rules::default() };
    breaks("restart, no abstention", EXCLUSIVE, rules);
}

#[test]
fn a_restart_and_a_jump_no_longer_than_the_lease_keep_the_order_of_tokens() {
    let rules = Rules { downtime: 1, jump: 2, attempts: 2, abstain: Abstain::Uptime, ..Rules::default() };
    holds("jump and restart", &[ORDERED], &[AFTER_JUMP, AFTER_RESTART], rules, LIMIT);
}

#[test]
fn clocks_within_the_drift_allowance_keep_exclusion() {
    let rules = Rules { end: 4, lease: 3, drift: 1, fast: true, attempts: 2, ..Rules::default() };
    holds("fast clocks", BOTH, &[IN_TURN], rules, LIMIT);
}

// ---- Rules that have an understudy: without one of them the other still holds

#[test]
fn the_watermark_check_orders_tokens_without_the_holder_check() {
    // Any two majorities of stamps share a node, and there tokens only rise. The holder check is kept all the same: a
    // stamp that is not the holder's would make the holder's own stamp fail.
    let rules = Rules { holder_check: false, attempts: 2, jump: 2, ..Rules::default() };
    holds("watermark check alone", &[ORDERED], &[AFTER_JUMP], rules, LIMIT);
}

#[test]
fn the_watermark_check_stops_a_late_extension() {
    let rules = Rules { attempts: 2, extensions: 1, extend_in_time: false, ..Rules::default() };
    holds("late extension", BOTH, &[EXTENDED], rules, LIMIT);
}

#[test]
fn an_extension_may_count_a_node_that_came_back() {
    // A valid guard keeps a majority from everyone else, so the node can have been nobody's in between.
    let rules = Rules { downtime: 1, attempts: 2, extensions: 1, extend_abstains: false, ..Rules::default() };
    let rules = Rules { abstain: Abstain::Uptime, ..rules };
    holds("extension counts a node that came back", BOTH, &[AFTER_RESTART, EXTENDED], rules, LIMIT);
}

#[test]
fn a_node_that_comes_back_in_an_extension_needs_no_token_while_time_is_in_it() {
    let rules = Rules { downtime: 1, attempts: 2, extensions: 1, extend_token: false, ..Rules::default() };
    let rules = Rules { abstain: Abstain::Uptime, ..rules };
    holds("extension without token", BOTH, &[AFTER_RESTART, EXTENDED], rules, LIMIT);
}

// ---- Planted faults

#[test]
fn planted_largest_counter_as_token() {
    // No fault is needed. Client 0 is granted node 0 (count 1), gives up and releases. Client 1 is granted node 2
    // (count 1). Client 0 begins again, gets 0 and 1 (counts 2 and 1: token 2), releases. Client 1 gets 1 (count 2):
    // token 2 again.
    let rules = Rules { end: 2, source: Source::Counters, attempts: 3, ..Rules::default() };
    breaks("planted: counters", ORDERED, rules);
}

#[test]
fn planted_stamp_without_holder_check() {
    // No fault is needed. Client 1 is granted node 2 and reads watermark 0. Client 0, granted 0 and 1, stamps 0 and 2:
    // a majority, with node 1 left out. It releases. Client 1 is granted 1 and reads 0 there too: the same token.
    let rules = Rules { end: 2, holder_check: false, watermark_check: false, attempts: 2, ..Rules::default() };
    breaks("planted: no holder check", ORDERED, rules);
}

#[test]
fn planted_stamp_with_holder_check_only() {
    // A claim can become the holder after its token was made. Client 0 makes its token from nodes 0 and 1 and stamps 0.
    // Node 1 jumps: client 1 gets 1 and 2, makes the same token, has its guard, releases. Now client 0's request for
    // node 2, late, is granted. The watermark in that reply is too late for the token; client 0 is the holder there and
    // stamps. With time in the token the clocks make the two tokens differ in this run, but not in a similar one.
    let rules = Rules { end: 3, watermark_check: false, jump: 2, attempts: 2, ..Rules::default() };
    breaks("planted: holder check only", ORDERED, rules.clone());
    breaks("planted: holder check only, no time", ORDERED, Rules { timed: false, ..rules.clone() });
    // To count only stamps on nodes whose grant went into the token does not help: a doubled request makes client 0 the
    // holder of node 1 once more. (With time in the token it takes a third attempt.)
    let rules = Rules { timed: false, stamp_chosen: true, ..rules };
    breaks("planted: holder check only, on counted grants", ORDERED, rules);
}

#[test]
fn planted_restart_without_time_in_the_token() {
    // Node 0 forgets the token it was stamped with, node 2 never had it: together they start again at 1.
    let rules = Rules { end: 3, downtime: 1, timed: false, attempts: 2, abstain: Abstain::Never, ..Rules::default() };
    breaks("planted: no time, no abstention", ORDERED, rules.clone());
    // Abstention is no cure: it ends, and the watermark has not come back.
    breaks("planted: no time", ORDERED, Rules { end: 5, abstain: Abstain::Uptime, ..rules });
}

#[test]
fn planted_abstention_by_run_id_alone() {
    // Client 1 hears of node 0 for the first time after the restart: no change to see.
    let rules = Rules { end: 3, downtime: 1, attempts: 2, abstain: Abstain::RunId, ..Rules::default() };
    breaks("planted: run id alone", EXCLUSIVE, rules);
}

#[test]
fn planted_restart_and_a_jump_longer_than_the_lease() {
    // Node 1 jumps, and its time goes into the token, stamped on 0 and 1; node 0 forgets. Abstention is over before the
    // clocks of 0 and 2 have come so far.
    let rules = Rules { end: 3, lease: 1, downtime: 1, jump: 3, attempts: 2, ..Rules::default() };
    breaks("planted: long jump and restart", ORDERED, Rules { abstain: Abstain::Uptime, ..rules });
}

#[test]
fn planted_restart_shorter_than_the_skew() {
    // The same without a jump and without abstention: clocks that differ by more than a restart takes.
    let rules = Rules { end: 3, downtime: 1, skew: [2, 0, 0], attempts: 2, ..Rules::default() };
    breaks("planted: skew and restart", ORDERED, Rules { abstain: Abstain::Never, ..rules });
}

#[test]
fn planted_no_allowance_for_drift() {
    let rules = Rules { end: 4, lease: 3, fast: true, attempts: 2, ..Rules::default() };
    breaks("planted: no drift", EXCLUSIVE, rules);
}

#[test]
fn planted_lease_from_the_majority() {
    // Node 0 granted a tick before the majority was there, and lets go a tick before the guard ends.
    let rules = Rules { end: 4, from_start: false, attempts: 2, ..Rules::default() };
    breaks("planted: lease from the majority", EXCLUSIVE, rules);
}

#[test]
fn planted_extension_that_revives() {
    // Client 0's guard lapses with an extension under way. Client 1 has a guard and ends it. The extension takes the
    // free nodes: an old token is valid again after a newer one.
    let rules = Rules { attempts: 2, extensions: 1, extend_in_time: false, watermark_check: false, ..Rules::default() };
    breaks("planted: reviving extension", ORDERED, rules);
}

#[test]
fn planted_extension_that_destroys() {
    // A failed extension that releases takes the nodes from under a guard that is still valid.
    let rules = Rules { end: 3, attempts: 1, extensions: 1, extend_gently: false, ..Rules::default() };
    breaks("planted: destroying extension", BACKED, rules);
}
