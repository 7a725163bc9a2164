//! Every exit code, and the one sentence that goes with it.

use crate::support::{Said, Store, tenure};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use tenure_testkit::RedisServer;

crate::on_every_store!(
    the_commands_code_is_ours,
    a_command_that_a_signal_killed_counts_from_128,
    a_busy_lock_is_75,
    a_busy_lock_is_no_failure_to_those_who_say_so,
    a_command_that_cannot_be_run_is_126_or_127,
    what_fails_to_start_releases_the_lock,
    the_status_tells_ours_from_the_commands,
    bad_input_is_refused_before_anything_is_done,
);

fn refused(said: &Said, code: i32, parts: &[&str]) {
    assert_eq!(said.code, code, "{said:?}");
    assert!(said.err.starts_with("error: "), "{said:?}");
    for part in parts {
        assert!(said.err.contains(part), "`{part}` is not in {said:?}");
    }
    assert!(!said.err.contains("panicked") && !said.err.contains("backtrace"), "{said:?}");
    assert_eq!(said.out, "", "{said:?}");
}

fn the_commands_code_is_ours(store: &Store) {
    for code in [0, 1, 2, 69, 73, 75, 126, 127, 255] {
        let said = store.run(&["run", "k", "--", "sh", "-c", &format!("exit {code}")]);
        assert_eq!((said.code, said.err.as_str()), (code, ""), "{said:?}");
    }
}

fn a_command_that_a_signal_killed_counts_from_128(store: &Store) {
    for (signal, code) in [("TERM", 143), ("KILL", 137), ("INT", 130)] {
        let said = store.run(&["run", "k", "--", "sh", "-c", &format!("kill -{signal} $$")]);
        assert_eq!(said.code, code, "{signal}: {said:?}");
    }
}

fn a_busy_lock_is_75(store: &Store) {
    let holder = store.hold("k");
    let named = format!("pid {}", holder.child.id());
    for args in [["run", "--no-wait", "k"].as_slice(), &["run", "--wait", "0s", "k"], &["run", "--wait", "50ms", "k"]] {
        let said = store.run(&[args, &["--", "true"]].concat());
        refused(&said, 75, &["key=`k`", "holder=`sh on ", &named, "held_for="]);
    }
    refused(&store.run(&["wait", "--wait", "50ms", "k"]), 75, &["key=`k`", &named]);
}

fn a_busy_lock_is_no_failure_to_those_who_say_so(store: &Store) {
    let run = |args: &[&str], command: &[&str]| {
        store.run(&[&["run", "--busy-ok", "--status-fd", "1"], args, &["--"], command].concat())
    };
    // All else is told as ever, the command's own 75 too.
    let said = run(&["k"], &["sh", "-c", "exit 75"]);
    assert_eq!((said.code, &said.json()["outcome"]), (75, &"exited".into()), "{said:?}");
    assert_eq!(run(&["k"], &["no-such-command"]).code, 127);
    let _holder = store.hold("k");
    for args in [["--no-wait", "k"].as_slice(), &["--wait", "50ms", "k"], &["--no-wait", "j", "k"]] {
        let said = run(args, &["echo", "ran"]);
        assert_eq!((said.code, said.err.as_str()), (0, ""), "{said:?}");
        let status = said.json();
        assert_eq!((&status["outcome"], &status["code"]), (&"not-acquired".into(), &0.into()), "{status}");
    }
    let down = "redis://127.0.0.1:1";
    let said = Said::of(&mut tenure(&["--url", down, "run", "--busy-ok", "--wait", "100ms", "k", "--", "true"]));
    refused(&said, 69, &[]);
}

fn a_command_that_cannot_be_run_is_126_or_127(store: &Store) {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &str, mode| {
        let path = dir.path().join(name);
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let run = |command: &str| store.run(&["run", "k", "--", command]);
    refused(&run("no-such-command-anywhere"), 127, &["not found", "no-such-command-anywhere"]);
    refused(&run("./no/such/file"), 127, &["not found", "./no/such/file"]);
    refused(&run(""), 127, &["not found"]);
    let plain = file("plain", "#!/bin/sh\n", 0o644);
    refused(&run(&plain), 126, &["cannot be executed", &plain]);
    refused(&run(dir.path().to_str().unwrap()), 126, &["cannot be executed"]);
    let orphan = file("orphan", "#!/no/such/interpreter\n", 0o755);
    refused(&run(&orphan), 126, &["cannot be executed", &orphan]);
}

fn what_fails_to_start_releases_the_lock(store: &Store) {
    let dir = tempfile::tempdir().unwrap();
    let orphan = dir.path().join("orphan");
    fs::write(&orphan, "#!/no/such/interpreter\n").unwrap();
    fs::set_permissions(&orphan, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(store.run(&["run", "k", "--", orphan.to_str().unwrap()]).code, 126);
    assert!(!store.is_held("k"));
}

fn the_status_tells_ours_from_the_commands(store: &Store) {
    // The shell opens the descriptor, as callers do.
    let status = |args: &str| {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("status");
        let line = format!("\"$0\" run --status-fd 3 {args} 3>{}", file.display());
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &line, env!("CARGO_BIN_EXE_tenure")]).env("TENURE_URL", store.url());
        let said = Said::of(&mut shell);
        let line = fs::read_to_string(file).unwrap();
        assert_eq!(line.matches('\n').count(), 1, "{line:?}");
        let status: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(status["code"], said.code, "{status}");
        assert_eq!(status["key"], "k");
        status
    };
    let ran = status("k -- sh -c 'exit 75'");
    assert_eq!((&ran["outcome"], &ran["command_code"]), (&"exited".into(), &75.into()), "{ran}");
    assert!(ran["token"].as_u64().is_some() && ran["waited_ms"].is_u64() && ran["held_ms"].is_u64(), "{ran}");
    assert!(ran["error"].is_null(), "{ran}");

    let killed = status("k -- sh -c 'kill -TERM $$'");
    assert_eq!((&killed["outcome"], &killed["command_signal"]), (&"killed".into(), &15.into()), "{killed}");
    assert!(killed["command_code"].is_null(), "{killed}");

    assert_eq!(status("k -- no-such-command")["outcome"], "not-found");
    let _holder = store.hold("k");
    let busy = status("--no-wait k -- true");
    assert_eq!((&busy["outcome"], &busy["code"]), (&"not-acquired".into(), &75.into()), "{busy}");
    assert!(busy["token"].is_null() && busy["error"].is_string(), "{busy}");
}

fn bad_input_is_refused_before_anything_is_done(store: &Store) {
    let long = "k".repeat(1025);
    for (args, parts) in [
        (&["run", "", "--", "true"][..], &["empty"][..]),
        (&["run", &long, "--", "true"], &["1024", "1025"]),
        (&["run", "a\nb", "--", "true"], &["control characters", "a\\nb"]),
        (&["inspect", ""], &["empty"]),
        (&["release", "--force", "a\u{1b}[2J"], &["control characters", "a\\u{1b}[2J"]),
        (&["wait", &long], &["1024"]),
        (&["run", "--lease", "10ms", "k", "--", "true"], &["lease from 100ms to 24h", "lease=10ms"]),
        (&["run", "--lease", "25h", "k", "--", "true"], &["lease from 100ms to 24h", "lease=25h"]),
        (&["run", "--wait", "367days", "k", "--", "true"], &["wait", "to 366d", "wait=367d"]),
        (&["run", "--kill-after", "11s", "k", "--", "true"], &["--kill-after", "11s", "30s"]),
        (&["run", "--lease", "2h", "--kill-after", "1h", "k", "--", "true"], &["kill-after=1h lease=2h"]),
        (&["run", "--status-fd", "77", "k", "--", "true"], &["--status-fd", "77"]),
        (&["--url", "carrier-pigeon://home", "ls"], &["`sqlite:PATH`: scheme=`carrier-pigeon`"]),
        (&["--url", "redis://127.0.0.1?colour=blue", "ls"], &["colour"]),
        (&["demo", "--items", "0"], &["items=0"]),
    ] {
        refused(&store.run(args), 2, parts);
        assert!(!store.is_held("k"), "{args:?}");
    }
}

#[test]
fn a_store_that_is_down_is_69() {
    let server = RedisServer::start();
    server.kill();
    for args in [["run", "--wait", "200ms", "k", "--", "true"].as_slice(), &["ls"], &["inspect", "k"]] {
        let said = Said::of(tenure(args).env("TENURE_URL", server.url()));
        refused(&said, 69, &["cannot be reached", &server.addr().to_string()]);
    }
}

#[test]
fn a_store_that_is_spoken_to_wrongly_is_69() {
    let server = RedisServer::start();
    let said = Said::of(tenure(&["ls"]).env("TENURE_URL", format!("rediss://{}", server.addr())));
    refused(&said, 69, &["redis does not speak TLS here, write `redis://`", &server.addr().to_string()]);
}

#[test]
fn a_wrong_password_is_69_and_never_shown() {
    let server = RedisServer::builder().password("hunter2-canary-right").start();
    for url in
        [server.url_as("", "hunter2-canary-wrong"), server.url_as("nobody", "hunter2-canary-wrong"), server.url()]
    {
        for said in [
            Said::of(&mut tenure(&["--url", &url, "run", "k", "--", "true"])),
            Said::of(tenure(&["ls"]).env("TENURE_URL", &url)),
        ] {
            let shown = format!("{}{}", said.err, said.out);
            assert!(!shown.contains("hunter2-canary"), "a secret was shown");
            refused(&said, 69, &["password"]);
        }
    }
    // A value that is refused for another reason is not shown either.
    for url in ["redis://:hunter2-canary-1@127.0.0.1?colour=blue", "hunter2-canary-2", "hunter2-canary 3://x"] {
        let said = Said::of(tenure(&["ls"]).env("TENURE_URL", url));
        assert!(!format!("{}{}", said.err, said.out).contains("hunter2-canary"), "a secret was shown");
        assert_eq!(said.code, 2);
    }
    let said = Said::of(&mut tenure(&["--url", "redis://:hunter2-canary-4@127.0.0.1", "run", "k", "true"]));
    assert!(!format!("{}{}", said.err, said.out).contains("hunter2-canary"), "a secret was shown");
    let help = Said::of(tenure(&["run", "--help"]).env("TENURE_URL", server.url_as("", "hunter2-canary-right")));
    assert!(!help.out.contains("hunter2-canary"), "a secret was shown");
}

#[test]
fn a_state_directory_that_cannot_be_made_is_69() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("file");
    fs::write(&file, "").unwrap();
    for name in ["XDG_STATE_HOME", "HOME"] {
        let mut command = tenure(&["run", "k", "--", "true"]);
        let said = Said::of(command.env_remove("XDG_STATE_HOME").env("HOME", home.path()).env(name, &file));
        refused(&said, 69, &["--url", file.to_str().unwrap()]);
    }
    let said = Said::of(tenure(&["ls"]).env_remove("XDG_STATE_HOME").env_remove("HOME"));
    refused(&said, 2, &["HOME", "--url"]);
}

#[test]
fn no_words_at_all_show_the_help() {
    let said = Said::of(tenure(&[]).env("TENURE_URL", "memory:"));
    assert_eq!(said.code, 2);
    assert!(said.out.contains("Usage: tenure"), "{said:?}");
}

#[test]
fn a_status_goes_only_where_it_was_meant_to_go() {
    let (store, dir) = (Store::sqlite(), tempfile::tempdir().unwrap());
    let file = dir.path().join("precious");
    fs::write(&file, "precious\n").unwrap();
    let said = |line: &str| {
        let mut shell = std::process::Command::new("bash");
        shell.args(["-c", line, env!("CARGO_BIN_EXE_tenure")]).arg(&file).env("TENURE_URL", store.url());
        Said::of(&mut shell)
    };
    // Opened for reading, by whatever number.
    for line in [r#""$0" run --status-fd 3 k -- true 3<"$1""#, r#""$0" run --status-fd 0 k -- true <"$1""#] {
        refused(&said(line), 2, &["--status-fd", "reading only"]);
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "precious\n");
    // A file that was opened before it lost its rights, and a pipe.
    let kept =
        said(r#"exec 4>"$1.status"; chmod 000 "$1.status"; "$0" run --status-fd 4 k -- true; chmod 600 "$1.status""#);
    assert_eq!(kept.code, 0, "{kept:?}");
    assert!(fs::read_to_string(dir.path().join("precious.status")).unwrap().contains("exited"));
    let piped = said(r#"{ "$0" run --status-fd 3 k -- true 3>&1 >/dev/null; } | cat"#);
    assert!(piped.json()["outcome"] == "exited", "{piped:?}");
}

#[test]
fn a_home_may_have_any_name() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["h#x", "h?x", "h%41x", "h x"] {
        let home = dir.path().join(name);
        fs::create_dir(&home).unwrap();
        let said = Said::of(tenure(&["run", "k", "--", "true"]).env_remove("XDG_STATE_HOME").env("HOME", &home));
        assert_eq!(said.code, 0, "{said:?}");
        assert!(home.join(".local/state/tenure/locks.db").exists(), "{name}");
    }
    assert!(!dir.path().join("hAx").exists());
}

#[test]
fn a_label_has_a_bound() {
    let store = Store::sqlite();
    let long = "L".repeat(100_000);
    refused(&store.run(&["run", "--label", &long, "k", "--", "true"]), 2, &["label", "256"]);
}
