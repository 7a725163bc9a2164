//! `tenure run` when all goes well: what the command gets, and what others see of it.

use crate::support::{Running, Said, Store, eventually, tenure};
use std::fs;
use std::io::Write;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

crate::on_every_store!(
    standard_input_is_the_commands,
    arguments_arrive_as_they_were_typed,
    the_command_finds_its_lock_in_the_environment,
    the_command_leads_a_group_of_its_own,
    nobody_else_is_in_while_a_command_runs,
    the_lock_is_free_afterwards,
    who_waits_at_a_pipe_is_told_nothing,
    tokens_rise,
    the_label_is_what_others_see,
    a_nested_run_goes_in_again,
    a_nested_run_goes_to_the_same_store,
    two_nested_runs_exclude_each_other,
    a_nested_run_of_another_key_changes_nothing,
    a_simple_lock_lets_its_holder_in_once,
    a_key_of_another_kind_is_refused,
    at_least_keeps_the_lock_taken,
    a_command_that_fails_keeps_nobody_out,
    a_lock_that_is_kept_shows_who_keeps_it,
    max_hold_ends_the_command,
    waiters_are_counted,
    several_locks_are_held_together,
    of_several_locks_one_that_is_held_is_enough,
    a_nested_run_goes_into_any_of_several,
    eight_processes_count_to_320,
);

fn standard_input_is_the_commands(store: &Store) {
    let mut command = store.tenure(&["run", "k", "--", "wc", "-c"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    // More than a pipe holds, so that it must be read while it is written.
    child.stdin.take().unwrap().write_all(&vec![b'x'; 1_000_000]).unwrap();
    let said = Said::from(child.wait_with_output().unwrap());
    assert_eq!((said.code, said.out.trim()), (0, "1000000"), "{said:?}");
}

fn arguments_arrive_as_they_were_typed(store: &Store) {
    let said = store.run(&["run", "k", "--", "printf", "%s|", "a b", "$HOME", "*", "", "--wait", "--", "'"]);
    assert_eq!(said.out, "a b|$HOME|*||--wait|--|'|", "{said:?}");
}

fn the_command_finds_its_lock_in_the_environment(store: &Store) {
    let script = "echo \"$TENURE_KEY\"; echo \"$TENURE_TOKEN\"; echo \"$TENURE_OWNER\"";
    let said = store.run(&["run", "order:42", "--", "sh", "-c", script]);
    let lines: Vec<_> = said.out.lines().collect();
    assert_eq!(lines[0], "order:42");
    assert!(lines[1].parse::<u64>().unwrap() > 0);
    assert!(!lines[2].is_empty());
}

#[test]
fn an_empty_url_is_no_url_to_the_command_either() {
    let (other, home) = (Store::sqlite(), tempfile::tempdir().unwrap());
    let script = r#""$0" --format json inspect k"#;
    let args = ["--url", "", "run", "k", "--", "sh", "-c", script, env!("CARGO_BIN_EXE_tenure")];
    for url in [other.url(), String::new()] {
        let said = Said::of(tenure(&args).env("TENURE_URL", url).env("XDG_STATE_HOME", home.path()));
        assert_eq!(said.code, 0, "{said:?}");
        assert_eq!(said.json()["holders"].as_array().unwrap().len(), 1, "it looked into another store: {said:?}");
    }
}

fn the_command_leads_a_group_of_its_own(store: &Store) {
    // Scripts that tidy up with `kill -- -$$` count on it.
    let said = store.run(&["run", "k", "--", "sh", "-c", "ps -o pgid= -p $$; echo $$"]);
    let numbers: Vec<_> = said.out.split_whitespace().collect();
    assert_eq!(numbers[0], numbers[1], "{said:?}");
}

fn nobody_else_is_in_while_a_command_runs(store: &Store) {
    let _holder = store.hold("k");
    assert!(store.is_held("k"));
    assert_eq!(store.run(&["run", "--no-wait", "k", "--", "true"]).code, 75);
    assert_eq!(store.run(&["run", "--no-wait", "another", "--", "true"]).code, 0);
}

fn the_lock_is_free_afterwards(store: &Store) {
    for script in ["true", "false", "kill -KILL $$"] {
        store.run(&["run", "k", "--", "sh", "-c", script]);
        assert!(!store.is_held("k"), "{script}");
    }
}

fn who_waits_at_a_pipe_is_told_nothing(store: &Store) {
    let mut holder = Running::start({
        let mut command = store.tenure(&["run", "k", "--", "sh", "-c", "echo in; read line"]);
        command.stdin(Stdio::piped());
        command
    });
    assert_eq!(holder.line(), "in");
    let waiter = Running::start(store.tenure(&["run", "k", "--", "echo", "mine"]));
    eventually("it waits", || store.waiters("k") == Some(1));
    // It has to wait long enough that a person would be told.
    thread::sleep(Duration::from_millis(600));
    drop(holder.child.stdin.take());
    assert_eq!(holder.end().code, 1);
    let said = waiter.end();
    assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (0, "mine\n", ""));
}

fn tokens_rise(store: &Store) {
    let token = || store.run(&["run", "k", "--", "sh", "-c", "echo $TENURE_TOKEN"]).out.trim().parse::<u64>().unwrap();
    let tokens = [token(), token(), token()];
    assert!(tokens.is_sorted_by(|one, next| one < next), "{tokens:?}");
}

fn the_label_is_what_others_see(store: &Store) {
    let args = ["run", "--label", "nightly \u{1b}[31mbackup", "k", "--", "sh", "-c", "echo in; exec sleep 1000"];
    let mut holder = Running::start(store.tenure(&args));
    assert_eq!(holder.line(), "in");
    let seen = store.seen_by_name("k");
    assert_eq!(seen["holders"][0]["label"], "nightly \u{1b}[31mbackup");
    assert_eq!(seen["holders"][0]["pid"], holder.child.id());
    // On a screen, other people's text plays no tricks.
    let shown = store.run(&["inspect", "k"]);
    assert!(shown.out.contains("nightly \\u{1b}[31mbackup"), "{shown:?}");
}

fn several_locks_are_held_together(store: &Store) {
    let script = "echo \"$TENURE_KEY\"; echo \"$TENURE_TOKEN\"; echo done; read line";
    for kind in ["reentrant", "fair", "simple"] {
        let mut command = store.tenure(&["run", "--kind", kind, "b", "a b", "b", "--", "sh", "-c", script]);
        command.stdin(Stdio::piped());
        let mut holder = Running::start(command);
        let lines: Vec<String> = (0..5).map(|_| holder.line()).collect();
        assert_eq!((&*lines[0], &*lines[1], &*lines[4]), ("a b", "b", "done"), "a line for each key, in order");
        let tokens: Vec<u64> = lines[2..4].iter().map(|token| token.parse().unwrap()).collect();
        for (key, token) in ["a b", "b"].into_iter().zip(tokens) {
            let seen = store.run(&["--format", "json", "inspect", key]).json();
            assert_eq!((&seen["token"], &seen["kind"]), (&token.into(), &kind.into()), "{seen}");
        }
        drop(holder.child.stdin.take());
        assert_eq!(holder.end().code, 1);
        assert!(!store.is_held("a b") && !store.is_held("b"));
    }
}

fn of_several_locks_one_that_is_held_is_enough(store: &Store) {
    let _holder = store.hold("b");
    for wait in [&["--no-wait"][..], &["--wait", "200ms"]] {
        let said = store.run(&[&["run"][..], wait, &["c", "b", "a", "--", "echo", "ran"]].concat());
        assert_eq!((said.code, said.out.as_str()), (75, ""), "{said:?}");
        assert!(said.err.contains("key=`b`") && said.err.contains("holder="), "{said:?}");
        assert!(!store.is_held("a") && !store.is_held("c"));
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("status");
    let mut shell = std::process::Command::new("sh");
    let line = format!("\"$0\" run --status-fd 3 c a -- true 3>{}", file.display());
    shell.args(["-c", &line, env!("CARGO_BIN_EXE_tenure")]).env("TENURE_URL", store.url());
    assert_eq!(Said::of(&mut shell).code, 0);
    let status: serde_json::Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    assert!(status["key"].is_null() && status["token"].is_null(), "{status}");
    let locks = status["locks"].as_array().unwrap();
    assert_eq!((locks.len(), &locks[0]["key"], &locks[1]["key"]), (2, &"a".into(), &"c".into()), "{status}");
    assert!(locks.iter().all(|lock| lock["token"].is_u64()), "{status}");
}

fn a_nested_run_goes_into_any_of_several(store: &Store) {
    let inner = "\"$0\" run --no-wait b c -- echo in; \"$0\" run --no-wait a -- echo too";
    let said = store.run(&["run", "a", "b", "--", "sh", "-c", inner, env!("CARGO_BIN_EXE_tenure")]);
    assert_eq!((said.code, said.out.as_str()), (0, "in\ntoo\n"), "{said:?}");
    assert!(["a", "b", "c"].iter().all(|key| !store.is_held(key)));
}

/// A holder that tells under which owner it holds.
fn owner(store: &Store, kind: &str) -> (Running, String) {
    let args = ["run", "--kind", kind, "k", "--", "sh", "-c", "echo $TENURE_OWNER; exec sleep 1000"];
    let mut outer = Running::start(store.tenure(&args));
    let owner = outer.line();
    (outer, owner)
}

fn a_nested_run_goes_in_again(store: &Store) {
    let inner = "tenure=$0; \"$tenure\" run --no-wait k -- sh -c 'echo in $TENURE_TOKEN'; echo out $TENURE_TOKEN";
    let said = store.run(&["run", "k", "--", "sh", "-c", inner, env!("CARGO_BIN_EXE_tenure")]);
    let lines: Vec<_> = said.out.lines().collect();
    let token = lines[1].strip_prefix("out ").unwrap();
    assert_eq!((said.code, lines[0]), (0, format!("in {token}").as_str()), "{said:?}");
    assert!(!store.is_held("k"));
}

fn a_nested_run_goes_to_the_same_store(store: &Store) {
    let inner = format!("{} run --no-wait k -- sh -c 'echo $TENURE_TOKEN'", env!("CARGO_BIN_EXE_tenure"));
    let said = Said::of(&mut tenure(&[
        "--url",
        &store.url(),
        "run",
        "k",
        "--",
        "sh",
        "-c",
        &format!("echo $TENURE_TOKEN; {inner}"),
    ]));
    let tokens: Vec<_> = said.out.lines().collect();
    assert!(said.code == 0 && tokens.len() == 2 && tokens[0] == tokens[1], "{said:?}");
}

fn two_nested_runs_exclude_each_other(store: &Store) {
    let (outer, owner) = owner(store, "reentrant");
    let nested = |args: &[&str]| {
        let mut command = store.tenure(args);
        command.env("TENURE_OWNER", &owner);
        command
    };
    let mut first = Running::start(nested(&["run", "k", "--", "sh", "-c", "echo in; exec sleep 1000"]));
    assert_eq!(first.line(), "in");
    assert_eq!(store.run(&["--format", "json", "inspect", "k"]).json()["holders"].as_array().unwrap().len(), 2);
    let mut second = nested(&["run", "--no-wait", "k", "--", "true"]);
    assert_eq!(Said::of(&mut second).code, 75);
    first.signal("TERM");
    assert_eq!(first.end().code, 143);
    assert_eq!(Said::of(&mut second).code, 0);
    // Strangers wait for all of them.
    assert_eq!(store.run(&["run", "--no-wait", "k", "--", "true"]).code, 75);
    outer.signal("TERM");
    assert_eq!(outer.end().code, 143);
    assert_eq!(store.run(&["run", "--no-wait", "k", "--", "true"]).code, 0);
}

fn a_nested_run_of_another_key_changes_nothing(store: &Store) {
    let (_outer, owner) = owner(store, "reentrant");
    let _other = store.hold("other");
    for (key, code) in [("other", 75), ("free", 0)] {
        let mut command = store.tenure(&["run", "--no-wait", key, "--", "true"]);
        assert_eq!(Said::of(command.env("TENURE_OWNER", &owner)).code, code, "{key}");
    }
    for nonsense in ["me", "a b", "/"] {
        let mut command = store.tenure(&["run", "k", "--", "true"]);
        let said = Said::of(command.env("TENURE_OWNER", nonsense));
        assert!(said.code == 2 && said.err.contains("TENURE_OWNER"), "{said:?}");
    }
}

fn a_simple_lock_lets_its_holder_in_once(store: &Store) {
    let (outer, owner) = owner(store, "simple");
    let seen = store.seen_by_name("k");
    assert_eq!((&seen["kind"], &seen["holders"][0]["pid"]), (&"simple".into(), &outer.child.id().into()), "{seen}");
    // It would wait for itself for ever.
    let mut nested = store.tenure(&["run", "--kind", "simple", "k", "--", "true"]);
    let said = Said::of(nested.env("TENURE_OWNER", &owner));
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.err.contains("simple"), "{said:?}");
    assert_eq!(store.run(&["run", "--kind", "simple", "--no-wait", "k", "--", "true"]).code, 75);
    outer.signal("TERM");
    assert_eq!(outer.end().code, 143);
    assert_eq!(store.run(&["run", "--kind", "simple", "--no-wait", "k", "--", "true"]).code, 0);
}

fn a_key_of_another_kind_is_refused(store: &Store) {
    for (held, asked) in [("simple", "reentrant"), ("reentrant", "simple"), ("fair", "reentrant"), ("write", "fair")] {
        let (_outer, _) = owner(store, held);
        let said = store.run(&["run", "--kind", asked, "k", "--", "true"]);
        assert_eq!(said.code, 2, "{said:?}");
        for part in ["use that kind or another key: ", &format!("asked for={asked} held as={held} key=`k`")] {
            assert!(said.err.contains(part), "`{part}` is not in {said:?}");
        }
        assert_eq!(store.run(&["release", "--force", "k"]).code, 0);
    }
}

fn at_least_keeps_the_lock_taken(store: &Store) {
    let began = Instant::now();
    assert_eq!(store.run(&["run", "--at-least", "3s", "k", "--", "true"]).code, 0);
    assert!(began.elapsed() < Duration::from_secs(3), "the command was done long before");
    assert_eq!(store.run(&["run", "--no-wait", "k", "--", "true"]).code, 75);
    assert_eq!(store.run(&["run", "--wait", "10s", "--at-least", "0s", "k", "--", "true"]).code, 0);
    assert!(!store.is_held("k"), "no least time is none");
    assert!(began.elapsed() >= Duration::from_secs(3), "{:?}", began.elapsed());
}

fn a_command_that_fails_keeps_nobody_out(store: &Store) {
    let run = |args: &[&str]| store.run(&[&["run", "--no-wait", "--at-least", "10m"], args].concat()).code;
    assert_eq!(run(&["k", "--", "false"]), 1);
    assert!(!store.is_held("k"), "another may try");
    assert_eq!(run(&["k", "l", "--", "false"]), 1);
    assert!(!store.is_held("k") && !store.is_held("l"), "another may try");
    assert_eq!(run(&["--at-least-always", "k", "--", "false"]), 1);
    assert!(store.is_held("k"), "that was asked for");
    assert_eq!(run(&["l", "--", "true"]), 0);
    assert!(store.is_held("l"), "it is done");
}

fn a_lock_that_is_kept_shows_who_keeps_it(store: &Store) {
    let keeper = Running::start(store.tenure(&["run", "--at-least", "1m", "--label", "tick", "k", "--", "true"]));
    let dead = format!("pid {}", keeper.child.id());
    assert_eq!(keeper.end().code, 0);
    let seen = store.run(&["--format", "json", "inspect", "k"]).json();
    let one = &seen["holders"][0];
    assert_eq!((&one["label"], &one["kept"]), (&"tick".into(), &true.into()), "{seen}");
    assert!(one["host"].is_string() && one["pid"].is_null(), "{seen}");
    assert!((1..=60_000).contains(&one["ttl_ms"].as_u64().unwrap()), "{seen}");
    for args in [&["ls"][..], &["inspect", "k"], &["release", "--force", "k"]] {
        let shown = store.run(args).out;
        let told = ["tick on ", ", kept until 20"].iter().all(|part| shown.contains(part));
        assert!(told && !shown.contains(&dead), "{args:?}: {shown}");
    }
}

fn max_hold_ends_the_command(store: &Store) {
    let began = Instant::now();
    let said = store.run(&["run", "--max-hold", "1s", "k", "--", "sleep", "1000"]);
    assert_eq!(said.code, 73, "{said:?}");
    assert!(said.err.contains("as long as it might be"), "{said:?}");
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert!(!store.is_held("k"));
}

fn waiters_are_counted(store: &Store) {
    let _holder = store.hold("k");
    assert_eq!(store.waiters("k"), Some(0));
    let _waiter = Running::start(store.tenure(&["run", "k", "--", "true"]));
    eventually("somebody waits", || store.waiters("k") == Some(1));
}

fn eight_processes_count_to_320(store: &Store) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("count");
    fs::write(&file, "0").unwrap();
    let script = format!("n=$(cat {0}); echo $((n + 1)) >{0}", file.display());
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..40 {
                    let said = store.run(&["run", "count", "--", "sh", "-c", &script]);
                    assert_eq!(said.code, 0, "{said:?}");
                }
            });
        }
    });
    assert_eq!(fs::read_to_string(&file).unwrap().trim(), "320");
}
