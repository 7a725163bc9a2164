//! The README's table of what each store promises is what the stores' labels say. `cargo xtask matrix` writes it anew.

#![cfg(all(feature = "mysql", feature = "redis", feature = "sqlite"))]

use std::fmt::Write as _;
use std::{env, fs};
use tenure::{Client, Guarantee, Kind, Label};

/// The stores, a column each. To add one, add a line, and its feature above.
const STORES: &[Column] = &[
    Column { heading: "`memory:`", url: "memory:", settings: &[], lacks: &[] },
    Column { heading: "`sqlite:PATH`", url: "sqlite:/nowhere/locks.db", settings: &[], lacks: &[] },
    Column { heading: "`mysql://`, `mysqls://`", url: "mysql://h/db", settings: &[], lacks: &[] },
    Column { heading: "`redis://`, `rediss://`, `redis+unix://`", url: "redis://h", settings: REDIS, lacks: &[] },
    Column {
        heading: "`redlock:`",
        url: "redlock:redis://a,redis://b,redis://c",
        settings: &["?abstain=uptime"],
        lacks: &[Kind::Fair, Kind::Read, Kind::Write, Kind::Fenced, Kind::Semaphore, Kind::Permits, Kind::Latch],
    },
];

/// What a Redis URL may end with, as far as it might change the label.
const REDIS: &[&str] = &["?layout=redisson", "?wakeups=off"];

/// The rows, after the kinds.
const GUARANTEES: &[Guarantee] = &[
    Guarantee::Fencing,
    Guarantee::BetweenProcesses,
    Guarantee::BetweenMachines,
    Guarantee::PushedWakeups,
    Guarantee::SurvivesRestart,
    Guarantee::SurvivesFailover,
];

const README: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
const BEGIN: &str = "<!-- written by `cargo xtask matrix`, from the stores' labels -->\n";
const END: &str = "<!-- end of what `cargo xtask matrix` writes -->\n";

struct Column {
    heading: &'static str,
    /// Where no store need be: a label is had without one.
    url: &'static str,
    settings: &'static [&'static str],
    /// The kinds of lock that it does not have. That it has the others is for its conformance cases to show.
    lacks: &'static [Kind],
}

impl Column {
    fn label(&self, setting: &str) -> Label {
        let store = tenure::store(&format!("{}{setting}", self.url)).unwrap();
        Client::builder().build(store).unwrap().label()
    }

    /// Whether it promises this, and by which settings it is otherwise.
    fn promises(&self, guarantee: Guarantee) -> String {
        let usual = self.label("").has(guarantee);
        let other = self.settings.iter().filter(|setting| self.label(setting).has(guarantee) != usual);
        other.fold(said(usual).to_owned(), |cell, setting| format!("{cell}; {} with `{setting}`", said(!usual)))
    }

    /// Its caveat, and those that settings put in its place.
    fn caveats(&self) -> String {
        let Label { name, caveat, .. } = self.label("");
        let other = self.settings.iter().map(|setting| (setting, self.label(setting).caveat));
        let other = other.filter(|(_, other)| *other != caveat);
        other.fold(format!("* **{name}**: {caveat}\n"), |all, (setting, other)| {
            format!("{all}* **{name}** with `{setting}`: {other}\n")
        })
    }
}

#[test]
fn the_readme_says_what_the_labels_say() {
    let readme = fs::read_to_string(README).unwrap();
    let parts = readme.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?)));
    let (before, (written, after)) = parts.unwrap_or_else(|| panic!("put these lines into README.md:\n{BEGIN}{END}"));
    let matrix = matrix();
    if env::var_os("TENURE_MATRIX").is_some_and(|what| what == "write") {
        fs::write(README, format!("{before}{BEGIN}{matrix}{END}{after}")).unwrap();
    } else {
        assert!(
            written == matrix,
            "README.md does not say what the stores' labels say; to write it anew:\n\n    cargo xtask matrix\n\n\
             README.md has\n{written}\nand should have\n{matrix}"
        );
    }
}

#[test]
fn every_guarantee_has_a_row() {
    for column in STORES {
        for guarantee in column.label("").guarantees {
            assert!(GUARANTEES.contains(guarantee), "add it to GUARANTEES: {guarantee}");
        }
    }
}

/// The table, and the caveats under it.
fn matrix() -> String {
    let mut all = "\n".to_owned();
    row(&mut all, "", STORES.iter().map(|column| column.heading.to_owned()));
    writeln!(all, "|---{}|", "|---".repeat(STORES.len())).unwrap();
    for (kinds, has) in kinds() {
        row(&mut all, &kinds, has.into_iter().map(|has| said(has).to_owned()));
    }
    for guarantee in GUARANTEES {
        row(&mut all, &guarantee.to_string(), STORES.iter().map(|column| column.promises(*guarantee)));
    }
    all.push('\n');
    all.extend(STORES.iter().map(Column::caveats));
    all.push('\n');
    all
}

/// The kinds of lock and the stores that have them; those that the same stores have share a row.
fn kinds() -> Vec<(String, Vec<bool>)> {
    let mut rows: Vec<(String, Vec<bool>)> = Vec::new();
    // Both sides of a read-write lock are one kind to those who read this.
    for kind in Kind::ALL.iter().filter(|kind| **kind != Kind::Write) {
        let has: Vec<_> = STORES.iter().map(|column| !column.lacks.contains(kind)).collect();
        match rows.iter_mut().find(|(_, same)| *same == has) {
            Some((names, _)) => write!(names, ", {}", in_words(*kind)).unwrap(),
            None => rows.push((in_words(*kind).to_owned(), has)),
        }
    }
    rows
}

fn in_words(kind: Kind) -> &'static str {
    match kind {
        Kind::Reentrant => "re-entrant",
        Kind::Read | Kind::Write => "read-write",
        Kind::Permits => "permits with names",
        other => other.name(),
    }
}

fn said(promised: bool) -> &'static str {
    if promised { "yes" } else { "no" }
}

fn row(all: &mut String, head: &str, cells: impl Iterator<Item = String>) {
    let head = if head.is_empty() { String::new() } else { format!(" {head}") };
    writeln!(all, "|{head} | {} |", cells.collect::<Vec<_>>().join(" | ")).unwrap();
}
