//! A majority of Redis servers, as the command shows it.

use crate::support::{Running, Said, are_known, eventually, tenure};
use serde_json::Value;
use std::process::Stdio;
use tenure_testkit::RedisServer;

/// Three servers, and the URL of their majority.
fn three() -> (Vec<RedisServer>, String) {
    let password = "user app on >hunter2-canary ~* &* +@all";
    let servers: Vec<_> = (0..3).map(|_| RedisServer::builder().acl(password).start()).collect();
    let urls: Vec<_> = servers.iter().map(|server| server.url_as("app", "hunter2-canary")).collect();
    (servers, format!("redlock:{}", urls.join(",")))
}

fn said(url: &str, args: &[&str]) -> Said {
    let said = Said::of(tenure(args).env("TENURE_URL", url));
    assert!(!format!("{}{}", said.err, said.out).contains("canary"), "a secret was shown");
    said
}

fn hold(url: &str, key: &str) -> Running {
    let mut holder = Running::start({
        let mut command = tenure(&["run", key, "--", "sh", "-c", "echo in; read line"]);
        command.env("TENURE_URL", url).stdin(Stdio::piped());
        command
    });
    assert_eq!(holder.line(), "in");
    holder
}

/// What each server is said to have said.
fn votes(seen: &Value) -> Vec<&str> {
    seen["votes"].as_array().unwrap().iter().map(|vote| vote["said"].as_str().unwrap()).collect()
}

#[test]
fn a_command_runs_while_a_majority_lives() {
    let (servers, url) = three();
    let within = format!("{} run k -- true && echo $TENURE_TOKEN", env!("CARGO_BIN_EXE_tenure"));
    let mut last = 0;
    for down in [None, Some(2)] {
        if let Some(down) = down {
            servers[down].kill();
        }
        let ran = said(&url, &["run", "k", "--", "sh", "-c", &within]);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
        let token: u64 = ran.out.trim().parse().unwrap();
        assert!(token > last);
        last = token;
        assert_eq!(said(&url, &["run", "--kind", "simple", "s", "a", "--", "true"]).code, 0);
    }
}

#[test]
fn what_each_server_says_is_shown() {
    let (servers, url) = three();
    let free = said(&url, &["inspect", "k"]);
    assert!(free.out.starts_with("k is free\n") && free.out.matches("says it is free").count() == 3, "{free:?}");
    let holder = hold(&url, "k");
    eventually("the holder is known by name", || are_known(&said(&url, &["--format", "json", "inspect", "k"]).json()));
    servers[1].kill();
    let seen = said(&url, &["--format", "json", "inspect", "k"]).json();
    assert_eq!(seen["holders"][0]["pid"], holder.child.id());
    assert_eq!((votes(&seen), &seen["waiters"]), (vec!["held", "silent", "held"], &Value::Null));
    assert_eq!(seen["votes"][2]["owner"], seen["holders"][0]["owner"]);
    let seen = said(&url, &["inspect", "k"]);
    for server in &servers {
        assert_eq!(seen.out.matches(&format!("  server   {} ", server.addr())).count(), 1, "{seen:?}");
    }
    assert!(said(&url, &["ls"]).out.contains(&format!("pid {}", holder.child.id())));
    let busy = said(&url, &["run", "--wait", "300ms", "k", "--", "true"]);
    assert_eq!(busy.code, 75, "{busy:?}");
    assert!(busy.err.contains("servers=`") && busy.err.contains(&servers[1].addr().to_string()), "{busy:?}");
    assert_eq!(said(&url, &["release", "--force", "k"]).code, 0);
    assert_eq!(holder.end().code, 73);
}

/// A server that was restarted while the command ran is given the lock again, and has it no longer when the command has ended.
#[test]
fn nothing_is_left_on_a_server_that_was_restarted_meanwhile() {
    let (servers, url) = three();
    let mut holder = Running::start({
        let mut command = tenure(&["run", "--lease", "9s", "k", "--", "sh", "-c", "echo in; read line"]);
        command.env("TENURE_URL", &url).stdin(Stdio::piped());
        command
    });
    assert_eq!(holder.line(), "in");
    servers[2].restart();
    let has_it = |server: &RedisServer| !server.keys("k").is_empty();
    eventually("it is given the lock again", || has_it(&servers[2]));
    drop(holder.child.stdin.take());
    assert_eq!(holder.end().code, 1);
    assert!(!servers.iter().any(has_it), "a server still has it");
}

#[test]
fn without_a_majority_it_is_69_and_says_who_is_missing() {
    let (servers, url) = three();
    servers[0].kill();
    servers[1].kill();
    let ran = said(&url, &["run", "--wait", "500ms", "k", "--", "true"]);
    assert_eq!((ran.code, ran.err.lines().count()), (69, 1), "{ran:?}");
    for (server, what) in servers.iter().zip(["is silent", "is silent", "answered"]) {
        assert!(ran.err.contains(&format!("{} {what}", server.addr())), "{ran:?}");
    }
}

#[test]
fn what_a_majority_does_not_have_is_refused() {
    let (_servers, url) = three();
    for args in [
        ["run", "--kind", "fair", "k", "--", "true"].as_slice(),
        &["run", "--kind", "semaphore:3", "k", "--", "true"],
        &["latch", "set", "k", "3"],
        &["semaphore", "get", "k"],
    ] {
        let refused = said(&url, args);
        assert!(refused.code != 0 && refused.err.contains("re-entrant or a simple lock"), "{refused:?}");
    }
    let long = said(&url, &["run", "--lease", "5m", "k", "--", "true"]);
    assert!(long.code != 0 && long.err.contains("max_lease"), "{long:?}");
}
