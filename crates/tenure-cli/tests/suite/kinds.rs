//! `tenure run --kind …`: first come, first served; many who read, or one who writes.

use crate::support::{Running, Said, Store, eventually};
use serde_json::Value;
use std::fs;
use std::process::Stdio;

crate::on_every_store!(
    a_fair_lock_serves_in_order,
    the_line_is_seen,
    readers_run_together_and_a_writer_alone,
    a_nested_run_goes_in_beside_its_parent,
    a_writers_program_reads_beside_it,
    no_wait_does_not_push_in,
);

fn seen(store: &Store) -> Value {
    store.run(&["--format", "json", "inspect", "k"]).json()
}

/// Holds the lock as a kind, until its standard input is closed.
fn hold(store: &Store, kind: &str) -> Running {
    let mut command = store.tenure(&["run", "--kind", kind, "k", "--", "sh", "-c", "echo $TENURE_OWNER; read line"]);
    command.stdin(Stdio::piped());
    Running::start(command)
}

fn a_fair_lock_serves_in_order(store: &Store) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("order");
    let mut first = hold(store, "fair");
    first.line();
    let mut waiting = Vec::new();
    for number in 1..=6 {
        let script = format!("echo {number} >>{}", file.display());
        waiting.push(Running::start(store.tenure(&["run", "--kind", "fair", "k", "--", "sh", "-c", &script])));
        eventually("it stands in line", || seen(store)["waiters"] == number);
    }
    drop(first.child.stdin.take());
    for one in waiting {
        let said = one.end();
        assert_eq!(said.code, 0, "{said:?}");
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "1\n2\n3\n4\n5\n6\n");
}

fn the_line_is_seen(store: &Store) {
    let mut holder = hold(store, "fair");
    holder.line();
    let waiter = Running::start(store.tenure(&["run", "--kind", "fair", "--label", "next", "k", "--", "true"]));
    eventually("it stands in line", || seen(store)["line"].as_array().unwrap().len() == 1);
    let found = store.seen_by_name("k");
    let one = &found["line"][0];
    assert_eq!((&one["kind"], &one["pid"], &one["label"]), (&"fair".into(), &waiter.child.id().into(), &"next".into()));
    assert!(one["waited_ms"].is_u64() && one["owner"].is_string() && one["host"].is_string(), "{found}");
    let shown = store.run(&["inspect", "k"]).out;
    assert!(shown.contains("k is held, fair") && shown.contains("  in line  1. next on "), "{shown}");
}

fn readers_run_together_and_a_writer_alone(store: &Store) {
    let mut readers = [hold(store, "read"), hold(store, "read")];
    for reader in &mut readers {
        reader.line();
    }
    let found = seen(store);
    assert_eq!((&found["kind"], found["holders"].as_array().unwrap().len()), (&"read".into(), 2));
    assert_eq!(store.run(&["run", "--kind", "write", "--no-wait", "k", "--", "true"]).code, 75);
    let mut writer = hold(store, "write");
    eventually("the writer waits", || seen(store)["waiters"] == 1);
    assert_eq!(store.run(&["run", "--kind", "read", "--no-wait", "k", "--", "true"]).code, 75, "a writer waits");
    for reader in &mut readers {
        drop(reader.child.stdin.take());
    }
    writer.line();
    assert_eq!(seen(store)["kind"], "write");
    drop(writer.child.stdin.take());
    assert_eq!(writer.end().code, 1);
    assert!(!store.is_held("k"));
}

fn a_nested_run_goes_in_beside_its_parent(store: &Store) {
    for kind in ["fair", "read", "write"] {
        let mut outer = hold(store, kind);
        let owner = outer.line();
        let mut nested = store.tenure(&["run", "--kind", kind, "--wait", "20s", "k", "--", "true"]);
        let said = Said::of(nested.env("TENURE_OWNER", owner.trim()));
        assert_eq!(said.code, 0, "{kind}: {said:?}");
        drop(outer.child.stdin.take());
        assert_eq!(outer.end().code, 1);
    }
}

fn a_writers_program_reads_beside_it(store: &Store) {
    let mut outer = hold(store, "write");
    let owner = outer.line();
    let mut nested = store.tenure(&["run", "--kind", "read", "--no-wait", "k", "--", "true"]);
    assert_eq!(Said::of(nested.env("TENURE_OWNER", owner.trim())).code, 0);
    assert_eq!(store.run(&["run", "--kind", "read", "--no-wait", "k", "--", "true"]).code, 75);
}

fn no_wait_does_not_push_in(store: &Store) {
    let mut first = hold(store, "fair");
    first.line();
    let mut second = hold(store, "fair");
    eventually("it stands in line", || seen(store)["waiters"] == 1);
    drop(first.child.stdin.take());
    assert_eq!(first.end().code, 1);
    second.line();
    let said = store.run(&["run", "--kind", "fair", "--no-wait", "k", "--", "true"]);
    assert!(said.code == 75 && said.err.contains("holder="), "{said:?}");
}
