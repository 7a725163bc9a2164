//! Tests of the recorder and the checker, with planted violations.

use std::time::Duration;

use super::{History, boottime_now};

/// A history of lines `key who token asked granted ended`.
fn history(lines: &str) -> History {
    let history = History::new();
    history.add_lines(lines).unwrap();
    history
}

#[test]
fn clean_history_is_clean() {
    let report = history("k a 1 0 10 20\nk b 2 5 20 30\nk a 3 25 31 -\nother c 1 0 10 25").check();
    report.assert_clean().assert_at_least(4);
    assert_eq!((report.holds, report.keys, report.unended), (4, 2, 1));
    assert_eq!(report.contended, 2);
}

#[test]
fn overlap_is_found_behind_shorter_holds() {
    let report = history("k long 1 0 10 100\nk x 2 0 20 30\nk y 3 0 50 60\nk z 4 0 100 110\nj a 1 0 10 100").check();
    let pairs: Vec<_> =
        report.overlaps.iter().map(|pair| (pair.first.who.as_str(), pair.second.who.as_str())).collect();
    assert_eq!(pairs, [("long", "x"), ("long", "y")]);
    assert!(report.inversions.is_empty());
}

#[test]
fn touching_holds_do_not_overlap() {
    history("k a 1 0 10 20\nk b 2 0 20 30").check().assert_clean();
}

#[test]
fn hold_without_end_claims_only_its_grant() {
    let inside = history("k a 1 0 10 30\nk b 2 0 20 -").check();
    assert_eq!(inside.overlaps.len(), 1);
    history("k a 1 0 10 -\nk b 2 0 20 30").check().assert_clean();
}

#[test]
fn token_must_grow_after_a_grant() {
    let report = history("k a 5 0 10 20\nk b 4 15 21 22").check();
    assert_eq!(report.inversions.len(), 1);
    assert_eq!(report.inversions[0].earlier.who, "a");
    assert_eq!(report.inversions[0].later.who, "b");
    // Asked for before the grant: the order of the two is unknown.
    history("k a 5 0 10 20\nk b 4 9 21 22").check().assert_clean();
    // Another lock has other tokens.
    history("k a 5 0 10 20\nj b 4 15 21 22").check().assert_clean();
}

#[test]
fn holds_without_tokens_overlap_but_are_in_no_order() {
    history("k rust 1 0 10 20\nk java - 15 20 30\nk java - 25 30 40\nk rust 2 35 40 50").check().assert_clean();
    let report = history("k rust 1 0 10 20\nk java - 15 19 30").check();
    assert_eq!((report.overlaps.len(), report.inversions.len()), (1, 0));
}

#[test]
fn inversion_against_an_old_grant_is_found() {
    let report = history("k a 9 0 1 2\nk b 10 0 3 4\nk c 3 0 5 6\nk d 7 7 8 9").check();
    assert_eq!(report.inversions.len(), 1);
    assert_eq!(report.inversions[0].earlier.who, "b");
    assert_eq!(report.inversions[0].later.who, "d");
}

#[test]
fn equal_tokens_are_found_once_even_if_concurrent() {
    let concurrent = history("k a 1 0 10 20\nk b 1 5 25 30").check();
    assert_eq!(concurrent.inversions.len(), 1);
    let ordered = history("k a 1 0 10 20\nk b 1 15 25 30").check();
    assert_eq!(ordered.inversions.len(), 1);
}

#[test]
#[should_panic(expected = "a (token 1, asked at +0ns) held it from +10ns to +40ns")]
fn violations_are_told_relative_to_the_start() {
    history("k a 1 1000 1010 1040\nk b 2 1005 1030 1050").check().assert_clean();
}

#[test]
#[should_panic(expected = "only 0 of at least 1 holds")]
fn empty_history_proves_nothing() {
    History::new().check().assert_clean().assert_at_least(1);
}

#[test]
fn waits_and_shares_are_counted() {
    let history = History::new();
    for n in 0..100 {
        let time = n * 10_000;
        let line = format!("k w{} {n} {time} {} {}", n % 3, time + n + 1, time + 200);
        history.add_lines(&line).unwrap();
    }
    drop(history.asking("k", "starved"));
    let report = history.check();
    report.assert_clean();
    assert_eq!(report.wait_p50(), Duration::from_nanos(50));
    assert_eq!(report.wait_p99(), Duration::from_nanos(99));
    assert_eq!(report.wait_max(), Duration::from_nanos(100));
    assert_eq!((report.fewest(), report.most()), (0, 34));
    assert_eq!(report.by_who["w1"], 33);
}

#[test]
fn recorded_holds_merge_as_lines() {
    let before = boottime_now();
    let here = History::new();
    let asking = here.asking("a key", "me");
    let record = asking.granted(1);
    let hold = record.ended();
    assert!(before <= hold.asked && hold.asked <= hold.granted);
    assert!(hold.ended.is_some_and(|ended| ended >= hold.granted));
    let there = here.clone();
    drop(there.granted("a key", 2, "you"));
    let merged = history(&here.to_lines());
    assert_eq!(merged.holds(), here.holds());
    assert_eq!(merged.check().assert_clean().unended, 1);
}

#[test]
fn threads_share_one_history() {
    let history = History::new();
    let lock = std::sync::Mutex::new(0);
    std::thread::scope(|scope| {
        for n in 0..4 {
            let (history, lock) = (&history, &lock);
            scope.spawn(move || {
                for _ in 0..500 {
                    let asking = history.asking("k", &format!("thread {n}"));
                    let mut token = lock.lock().unwrap();
                    *token += 1;
                    asking.granted(*token).ended();
                }
            });
        }
    });
    let report = history.check();
    report.assert_clean().assert_at_least(2000);
    assert_eq!((report.fewest(), report.most()), (500, 500));
}

#[test]
fn bad_line_is_named() {
    let error = History::new().add_lines("k a 1 0 10 20\nnonsense").unwrap_err();
    assert!(error.contains("nonsense"));
}
