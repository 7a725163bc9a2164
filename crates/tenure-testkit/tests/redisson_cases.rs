//! `docs/redisson-cases.md` names a test of ours for what each test of Redisson's is about: every name has to be one.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

/// How many behavioural tests Redisson has; a row that got lost is noticed.
const CASES: usize = 213;
/// How many may have no test of ours, those apart whose kind is still to come.
const MOST_WITHOUT: usize = 30;

/// One of Redisson's tests, and what the document says of it.
struct Row {
    name: String,
    answer: String,
}

/// What the document says of a case.
#[derive(Clone, Copy, PartialEq)]
enum Answer {
    Tested,
    Without,
    Pending,
}

impl Row {
    fn answer(&self) -> Result<Answer, String> {
        let has_words = |rest: &str| rest.split_whitespace().count() > 0;
        match self.answer.split_once(':') {
            Some(("none", reason)) if has_words(reason) => Ok(Answer::Without),
            Some(("pending", kind)) if has_words(kind) => Ok(Answer::Pending),
            _ if self.answer.starts_with('`') && self.tests().next().is_some() => Ok(Answer::Tested),
            _ => Err(format!("needs a test, `none: REASON` or `pending: KIND`, and says: {:?}", self.answer)),
        }
    }

    /// All tests of ours that are named, in a reason too.
    fn tests(&self) -> impl Iterator<Item = &str> {
        self.answer.split('`').skip(1).step_by(2).filter(|code| code.contains("::"))
    }
}

/// The rows of all tables; a case is named by its class, which is the heading, and its method.
fn rows(document: &str) -> Vec<Row> {
    let (mut class, mut rows) = ("", Vec::new());
    for line in document.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            class = heading;
        } else if let Some((case, answer)) = line.strip_prefix("| `").and_then(|rest| rest.split_once("` |")) {
            let answer = answer.trim().trim_end_matches('|').trim().to_owned();
            rows.push(Row { name: format!("{class}.{case}"), answer });
        }
    }
    rows
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> Result<String, String> {
    fs::read_to_string(root().join(path)).map_err(|error| format!("{path}: {error}"))
}

/// Says why if there is no such test.
fn find(test: &str) -> Result<(), String> {
    match test.split_once(".rs::") {
        Some((path, name)) => find_in_file(&format!("crates/{path}.rs"), name),
        None => find_case(test),
    }
}

/// A function that is marked as a test, or one that the file's own `main` runs by this name.
fn find_in_file(path: &str, name: &str) -> Result<(), String> {
    let source = read(path)?;
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let is_marked = |at: usize| {
        let above = lines[..at].iter().rev().take_while(|line| line.starts_with("#["));
        above.into_iter().any(|line| line.starts_with("#[test]") || line.starts_with("#[tokio::test"))
    };
    let declares = |line: &str| line.contains(&format!("fn {name}("));
    let is_declared = (0..lines.len()).any(|at| declares(lines[at]) && is_marked(at));
    let is_run = source.contains(&format!("(\"{name}\", "));
    if is_declared || is_run { Ok(()) } else { Err(format!("{path} has no such test: {name}")) }
}

/// A conformance case, by the name that a run prints.
fn find_case(test: &str) -> Result<(), String> {
    let (of_a_mutex, case) = ["as fair: ", "as write: "]
        .iter()
        .find_map(|kind| test.strip_prefix(kind))
        .map_or((false, test), |case| (true, case));
    let (topic, name) = case.split_once("::").ok_or("a case is TOPIC::NAME")?;
    let folder = "crates/tenure-testkit/src/conformance";
    let source = read(&format!("{folder}/{topic}.rs"))?;
    let listed = source.split_once(&format!("cases!(\"{topic}\":")).and_then(|(_, rest)| rest.split_once(");"));
    let (listed, _) = listed.ok_or_else(|| format!("{folder}/{topic}.rs lists no cases"))?;
    if !listed.split(',').any(|entry| entry.split_whitespace().next() == Some(name)) {
        return Err(format!("{folder}/{topic}.rs lists no such case: {name}"));
    }
    let runner = read(&format!("{folder}/runner.rs"))?;
    let mutexes = runner.split_once("fn of_mutexes").ok_or("the runner has no list of cases for every mutex")?.1;
    let run = if of_a_mutex { mutexes } else { &runner };
    if run.contains(&format!("{topic}::cases()")) { Ok(()) } else { Err(format!("{test} is not run")) }
}

#[test]
fn every_case_has_a_test_or_a_reason_and_every_test_exists() {
    let document = read("docs/redisson-cases.md").unwrap();
    let rows = rows(&document);
    let mut problems = Vec::new();
    let (mut answers, mut names) = (Vec::new(), HashSet::new());
    for row in &rows {
        if !names.insert(&row.name) {
            problems.push(format!("{} is listed twice", row.name));
        }
        match row.answer() {
            Ok(answer) => answers.push(answer),
            Err(problem) => problems.push(format!("{} {problem}", row.name)),
        }
        problems.extend(row.tests().filter_map(|test| Some(format!("{}: {}", row.name, find(test).err()?))));
    }
    assert!(problems.is_empty(), "docs/redisson-cases.md is wrong:\n  {}", problems.join("\n  "));
    let count = |wanted| answers.iter().filter(|answer| **answer == wanted).count();
    let (tested, without, pending) = (count(Answer::Tested), count(Answer::Without), count(Answer::Pending));
    assert_eq!(rows.len(), CASES, "docs/redisson-cases.md has to list every case of Redisson's");
    assert!(without <= MOST_WITHOUT, "{without} cases have no test of ours, {MOST_WITHOUT} at most may");
    let summary = format!("**{CASES} cases: {tested} tested, {without} without a test, {pending} pending.**");
    assert!(document.contains(&summary), "docs/redisson-cases.md has to say: {summary}");
}

#[test]
fn what_is_no_test_is_not_found() {
    for test in [
        "basics::a_lock_is_taken_and_given_back",
        "as fair: basics::a_lock_is_taken_and_given_back",
        "tokens::re_entry_keeps_the_token",
        "tenure-core/src/retry.rs::the_longest_interval_does_not_overflow",
        "tenure-redis/tests/processes.rs::a_killed_holder_frees_its_lock_within_its_lease",
    ] {
        find(test).unwrap();
    }
    for test in [
        "basics::a_lock_is_taken",
        "nothing::a_lock_is_taken_and_given_back",
        // A helper of the cases, not one of them.
        "basics::waiter_gets_in",
        // Run once, not for every mutex.
        "as fair: input::keys_are_taken_as_they_are",
        "tenure-core/src/retry.rs::millis",
        "tenure-core/src/nowhere.rs::millis",
        "tenure-redis/tests/processes.rs::seconds",
    ] {
        assert!(find(test).is_err(), "{test} was found");
    }
}

#[test]
fn a_row_without_test_or_reason_is_refused() {
    let answer = |answer: &str| rows(&format!("## Some\n| `case` | {answer} |\n")).swap_remove(0).answer();
    assert!(answer("`basics::some`, `looking::other`") == Ok(Answer::Tested));
    assert!(answer("none: threads are not interrupted") == Ok(Answer::Without));
    assert!(answer("pending: cluster") == Ok(Answer::Pending));
    for nothing in ["", "none:", "none", "pending: ", "`lock`", "later"] {
        assert!(answer(nothing).is_err(), "{nothing:?} was taken");
    }
}
