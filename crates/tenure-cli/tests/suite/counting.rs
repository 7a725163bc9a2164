//! `tenure latch` and `tenure semaphore`.

use crate::support::{Running, Store, eventually};
use std::process::Stdio;

crate::on_every_store!(
    a_latch_is_counted_down_and_waited_for,
    a_latch_that_is_shut_is_set_by_force_only,
    an_id_counts_once,
    a_latch_is_waited_for_in_bounds,
    a_latch_that_is_deleted_is_open,
    a_latch_is_no_free_lock,
    a_semaphore_is_set_and_shown,
    so_many_run_at_a_time,
    a_closed_semaphore_is_waited_for,
    a_permit_in_between_is_not_in_the_way,
    a_semaphore_of_another_size_is_refused,
    what_makes_no_sense_is_refused,
);

fn count(store: &Store) -> u64 {
    store.run(&["--format", "json", "latch", "get", "k"]).json()["count"].as_u64().unwrap()
}

fn a_latch_is_counted_down_and_waited_for(store: &Store) {
    assert_eq!(store.run(&["latch", "get", "k"]).out, "k is open\n");
    assert_eq!(store.run(&["latch", "wait", "k"]).code, 0);
    assert_eq!(store.run(&["latch", "set", "k", "2"]).code, 0);
    assert_eq!(store.run(&["latch", "get", "k"]).out, "k is shut, to be counted down 2 times\n");
    let waiting = Running::start(store.tenure(&["latch", "wait", "k"]));
    assert_eq!(store.run(&["--format", "json", "latch", "down", "k"]).json()["count"], 1);
    assert_eq!(store.run(&["latch", "down", "k"]).out, "k is open\n");
    let said = waiting.end();
    assert_eq!(said.code, 0, "{said:?}");
}

fn a_latch_that_is_shut_is_set_by_force_only(store: &Store) {
    assert_eq!(store.run(&["latch", "set", "k", "2"]).code, 0);
    let said = store.run(&["latch", "set", "k", "5"]);
    assert_eq!(said.code, 1);
    assert!(said.err.contains("give --force: latch=`k` count=2"), "{said:?}");
    assert_eq!(count(store), 2);
    assert_eq!(store.run(&["latch", "set", "--force", "k", "5"]).code, 0);
    assert_eq!(count(store), 5);
}

fn an_id_counts_once(store: &Store) {
    store.run(&["latch", "set", "k", "3"]);
    for _ in 0..2 {
        assert_eq!(store.run(&["latch", "down", "--id", "shard 1", "k"]).code, 0);
    }
    assert_eq!(count(store), 2);
}

fn a_latch_is_waited_for_in_bounds(store: &Store) {
    store.run(&["latch", "set", "k", "3"]);
    for wait in ["0s", "200ms"] {
        let said = store.run(&["latch", "wait", "--wait", wait, "k"]);
        assert_eq!(said.code, 75, "{said:?}");
        assert!(said.err.contains("count=3"), "{said:?}");
    }
    store.run(&["latch", "set", "--force", "k", "1"]);
    let waiting = Running::start(store.tenure(&["latch", "wait", "--wait", "1m", "k"]));
    store.run(&["latch", "down", "k"]);
    assert_eq!(waiting.end().code, 0);
}

fn a_latch_that_is_deleted_is_open(store: &Store) {
    store.run(&["latch", "set", "k", "3"]);
    let waiting = Running::start(store.tenure(&["latch", "wait", "k"]));
    assert_eq!(store.run(&["latch", "delete", "k"]).code, 0);
    assert_eq!(waiting.end().code, 0);
    let said = store.run(&["latch", "delete", "k"]);
    assert!(said.code == 1 && said.err.contains("the latch is open"), "{said:?}");
}

fn a_latch_is_no_free_lock(store: &Store) {
    store.run(&["latch", "set", "k", "3"]);
    for line in [&["inspect", "k"], &["wait", "k"]] {
        let said = store.run(line);
        assert!(said.code == 2 && said.err.contains("`tenure latch wait k`: key=`k` count=3"), "{said:?}");
    }
    store.run(&["latch", "delete", "k"]);
    assert_eq!(store.run(&["inspect", "k"]).out, "k is free\n");
    assert_eq!(store.run(&["wait", "k"]).code, 0);
}

fn a_semaphore_is_set_and_shown(store: &Store) {
    let unknown = "k has no permits, and nobody has said how many there are: tenure semaphore set k PERMITS\n";
    assert_eq!(store.run(&["semaphore", "get", "k"]).out, unknown);
    assert_eq!(store.run(&["semaphore", "set", "k", "5"]).code, 0);
    assert_eq!(store.run(&["semaphore", "get", "k"]).out, "k has 5 of 5 permits to be had\n");
    let shown = store.run(&["--format", "json", "semaphore", "get", "k"]).json();
    assert_eq!((&shown["available"], &shown["permits"]), (&5.into(), &5.into()));
    assert_eq!(shown["taken"]["holders"].as_array().unwrap().len(), 0);
    assert_eq!(store.run(&["semaphore", "set", "k", "0"]).code, 0);
    eventually("nobody gets in", || store.run(&["semaphore", "get", "k"]).out == "k has 0 of 0 permits to be had\n");
}

/// Holds a permit until its standard input is closed.
fn hold(store: &Store, kind: &str) -> Running {
    let mut command = store.tenure(&["run", "--kind", kind, "k", "--", "sh", "-c", "echo $TENURE_TOKEN; read line"]);
    command.stdin(Stdio::piped());
    Running::start(command)
}

fn so_many_run_at_a_time(store: &Store) {
    let mut running = [hold(store, "semaphore:2"), hold(store, "semaphore:2")];
    let tokens = running.each_mut().map(|one| one.line().parse::<u64>().unwrap());
    assert_ne!(tokens[0], tokens[1]);
    assert_eq!(store.run(&["run", "--kind", "semaphore:2", "--no-wait", "k", "--", "true"]).code, 75);
    let said = store.run(&["run", "--kind", "semaphore:2", "--wait", "200ms", "k", "--", "true"]);
    assert!(said.code == 75 && said.err.contains("too few permits"), "{said:?}");
    let shown = store.run(&["semaphore", "get", "k"]).out;
    assert!(shown.starts_with("k has 0 of 2 permits to be had\nk is held, semaphore\n"), "{shown}");
    let mut waiting = hold(store, "semaphore:2");
    eventually("it waits", || store.run(&["--format", "json", "inspect", "k"]).json()["waiters"] == 1);
    drop(running[0].child.stdin.take());
    waiting.line();
    // A run inside a run takes another permit.
    drop(running[1].child.stdin.take());
    eventually("one is left", || store.run(&["semaphore", "get", "k"]).out.starts_with("k has 1 of 2"));
    let inner = format!("{} run --kind semaphore:2 k -- true", env!("CARGO_BIN_EXE_tenure"));
    drop(waiting);
    assert_eq!(store.run(&["run", "--kind", "semaphore:2", "k", "--", "sh", "-c", &inner]).code, 0);
}

fn a_closed_semaphore_is_waited_for(store: &Store) {
    store.run(&["semaphore", "set", "k", "0"]);
    let waiting = Running::start(store.tenure(&["run", "--kind", "semaphore:3", "k", "--", "true"]));
    assert_eq!(store.run(&["run", "--kind", "semaphore:3", "--no-wait", "k", "--", "true"]).code, 75);
    let said = store.run(&["run", "--kind", "semaphore:3", "--wait", "200ms", "k", "--", "true"]);
    assert!(said.code == 75 && said.err.contains("nobody has any, check how many there are"), "{said:?}");
    store.run(&["semaphore", "set", "k", "3"]);
    assert_eq!(waiting.end().code, 0);
}

/// A run of a lock inside a run of the same lock goes in, whatever is run in between.
fn a_permit_in_between_is_not_in_the_way(store: &Store) {
    let tenure = env!("CARGO_BIN_EXE_tenure");
    let line = format!("{tenure} run --kind semaphore:3 s -- {tenure} run --wait 5s k -- true");
    let said = store.run(&["run", "k", "--", "sh", "-c", &line]);
    assert_eq!(said.code, 0, "{said:?}");
}

fn a_semaphore_of_another_size_is_refused(store: &Store) {
    store.run(&["semaphore", "set", "k", "5"]);
    let said = store.run(&["run", "--kind", "semaphore:3", "k", "--", "true"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("`tenure semaphore set`: key=`k` permits=5 asked for=3"), "{said:?}");
    let said = store.run(&["run", "--kind", "semaphore:3", "k", "j", "--", "true"]);
    assert!(said.code == 2 && said.err.contains("name one key"), "{said:?}");
}

fn what_makes_no_sense_is_refused(store: &Store) {
    for line in [
        &["latch", "set", "k", "0"][..],
        &["latch", "set", "k", "x"],
        &["latch", "set", "k"],
        &["latch", "set", ""],
        &["latch", "down", "--id", "", "k"],
        &["latch", "open", "k"],
        &["semaphore", "set", "k", "-1"],
        &["semaphore", "set", "k", "4294967295"],
        &["semaphore", "set", "k"],
    ] {
        let said = store.run(line);
        assert_eq!(said.code, 2, "{line:?}: {said:?}");
        assert!(said.err.starts_with("error: ") && said.err.lines().count() == 1, "{line:?}: {said:?}");
    }
    store.run(&["latch", "set", "k", "2"]);
    let said = store.run(&["run", "--no-wait", "k", "--", "true"]);
    assert_eq!(said.code, 2, "{said:?}");
}
