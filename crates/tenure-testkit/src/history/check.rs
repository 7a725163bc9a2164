//! The checks of a history, each O(n log n) in the number of holds.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::Hold;
use super::report::{Inversion, Overlap, Report};

/// Checks all holds; `askers` are those who may have got nothing.
pub(super) fn check(holds: &[Hold], askers: &BTreeSet<String>) -> Report {
    let mut by_key: BTreeMap<&str, Vec<&Hold>> = BTreeMap::new();
    let mut by_who: BTreeMap<String, usize> = askers.iter().map(|who| (who.clone(), 0)).collect();
    for hold in holds {
        by_key.entry(&hold.key).or_default().push(hold);
        *by_who.entry(hold.who.clone()).or_default() += 1;
    }
    let mut report = Report {
        holds: holds.len(),
        keys: by_key.len(),
        unended: holds.iter().filter(|hold| hold.ended.is_none()).count(),
        contended: 0,
        overlaps: Vec::new(),
        inversions: Vec::new(),
        waits: holds.iter().map(wait).collect(),
        by_who,
        start: holds.iter().map(|hold| hold.asked).min().unwrap_or(0),
    };
    report.waits.sort_unstable();
    for holds in by_key.values_mut() {
        holds.sort_by_key(|hold| hold.granted);
        check_overlaps(holds, &mut report);
        check_tokens(holds, &mut report);
    }
    report
}

/// In the order of grants, a hold overlaps an earlier one if and only if it overlaps the one that
/// ended last; the same hold tells whether the lock was taken during the wait.
fn check_overlaps(by_grant: &[&Hold], report: &mut Report) {
    let mut last_to_end: Option<&Hold> = None;
    for &hold in by_grant {
        if let Some(earlier) = last_to_end {
            report.contended += usize::from(end(earlier) > hold.asked);
            if end(earlier) > hold.granted {
                report.overlaps.push(Overlap { first: earlier.clone(), second: hold.clone() });
            }
        }
        if last_to_end.is_none_or(|last| end(hold) > end(last)) {
            last_to_end = Some(hold);
        }
    }
}

/// A hold asked for after another was granted needs a larger token than it, which it has if it
/// is larger than the largest of all such; and no token may be granted twice. Holds without a token are none of this.
fn check_tokens(by_grant: &[&Hold], report: &mut Report) {
    let by_grant: Vec<&Hold> = by_grant.iter().copied().filter(|hold| hold.token.is_some()).collect();
    let mut by_asked = by_grant.clone();
    by_asked.sort_by_key(|hold| hold.asked);
    let mut granted_before = by_grant.iter().peekable();
    let mut largest: Option<&Hold> = None;
    let mut reported = BTreeSet::new();
    for later in by_asked {
        while let Some(earlier) = granted_before.next_if(|hold| hold.granted < later.asked) {
            if largest.is_none_or(|hold| earlier.token > hold.token) {
                largest = Some(earlier);
            }
        }
        if let Some(earlier) = largest
            && earlier.token >= later.token
        {
            reported.insert(later.token);
            report.inversions.push(inversion(earlier, later));
        }
    }
    let mut by_token = by_grant.clone();
    by_token.sort_by_key(|hold| hold.token);
    for pair in by_token.windows(2) {
        // Twins that the order of time has already given away are not reported again.
        if pair[0].token == pair[1].token && reported.insert(pair[1].token) {
            report.inversions.push(inversion(pair[0], pair[1]));
        }
    }
}

fn inversion(earlier: &Hold, later: &Hold) -> Inversion {
    Inversion { earlier: earlier.clone(), later: later.clone() }
}

fn end(hold: &Hold) -> u64 {
    hold.ended.unwrap_or(hold.granted)
}

fn wait(hold: &Hold) -> Duration {
    Duration::from_nanos(hold.granted.saturating_sub(hold.asked))
}
