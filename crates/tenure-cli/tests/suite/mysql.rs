//! What is MySQL's alone: its tables, its rights, its rules for names, and what is said when it does not let us in.

use crate::support::{Running, Said, Store, tenure};
use std::process::Stdio;
use tenure_testkit::MariaDbServer;

fn said(url: &str, args: &[&str]) -> Said {
    Said::of(tenure(args).env("TENURE_URL", url))
}

fn refused(said: &Said, code: i32, parts: &[&str]) {
    assert_eq!(said.code, code, "{said:?}");
    assert!(said.err.starts_with("error: ") && said.err.lines().count() == 1, "{said:?}");
    for part in parts {
        assert!(said.err.contains(part), "`{part}` is not in {said:?}");
    }
    assert_eq!(said.out, "", "{said:?}");
}

/// One by one, as a server takes them.
fn statements(schema: &str) -> Vec<String> {
    let lines: Vec<_> = schema.lines().filter(|line| !line.trim_start().starts_with("--")).collect();
    lines.join("\n").split(';').map(|statement| statement.trim().to_owned()).filter(|one| !one.is_empty()).collect()
}

#[test]
fn the_schema_is_what_the_server_needs() {
    let server = MariaDbServer::start();
    server.add_user("app", "hunter2-canary", "SELECT, INSERT, UPDATE, DELETE ON tenure.*");
    let url = server.url_as("app", "hunter2-canary");

    refused(
        &said(&url, &["run", "k", "--", "true"]),
        69,
        &["the tables are not there", "`tenure --url … schema` prints"],
    );
    let schema = said(&url, &["schema"]);
    assert_eq!((schema.code, schema.err.as_str()), (0, ""), "{schema:?}");
    assert!(server.rows("SHOW TABLES").is_empty(), "to print them must not make them");

    for _ in 0..2 {
        // What is there already is left as it is.
        for statement in statements(&schema.out) {
            server.execute(&statement);
        }
    }
    let ran = said(&url, &["run", "k", "--", "sh", "-c", "echo $TENURE_TOKEN"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    let token: u64 = ran.out.trim().parse().unwrap();
    assert!(token > 0);
    assert_eq!(server.one("SELECT token FROM tenure_locks WHERE lock_key = 'k'"), token.to_string());
    for kind in ["simple", "fair", "read", "write", "fenced", "semaphore:3"] {
        let ran = said(&url, &["run", "--kind", kind, kind, "--", "true"]);
        assert_eq!(ran.code, 0, "{kind}: {ran:?}");
    }
}

#[test]
fn nobody_need_be_there_to_print_the_schema() {
    for url in ["mysql://app:hunter2-canary@127.0.0.1:1/shop", "mysqls://db.invalid/shop"] {
        let typed = Said::of(&mut tenure(&["--url", url, "schema"]));
        assert_eq!((typed.code, typed.err.as_str()), (0, ""), "{typed:?}");
        assert_eq!(said(url, &["--format", "json", "schema"]).out, typed.out, "it is SQL in every format");
    }
}

#[test]
fn who_needs_no_schema_is_told_so() {
    for (url, scheme) in [
        ("redis://127.0.0.1:1", "scheme=`redis`"),
        ("rediss://:hunter2-canary@127.0.0.1:1", "scheme=`rediss`"),
        ("sqlite:/nowhere/locks.db", "scheme=`sqlite`"),
        ("memory:", "scheme=`memory`"),
        ("", "the embedded store"),
    ] {
        refused(&said(url, &["schema"]), 2, &["needs no schema", "mysql://host/database", scheme]);
    }
    refused(&said("carrier-pigeon://home", &["schema"]), 2, &["scheme=`carrier-pigeon`"]);
    refused(&said("mysql://db1", &["schema"]), 2, &["names no database"]);
    refused(&said("mysql://db1/shop", &["schema", "now"]), 2, &["argument=`now`"]);
}

#[test]
fn a_key_is_a_key_whatever_is_in_it() {
    let store = Store::mysql();
    let Store::MySql(server, database) = &store else { panic!("it is one") };
    let long = "k".repeat(1024);
    let keys = [
        "it's \"it\" `it`",
        "'; DROP TABLE tenure_locks; --",
        "\\' OR 1=1 #",
        "%",
        "a_b",
        "axb",
        "größe 日本 🦀",
        "Case",
        "case",
        "cäse",
        "tail",
        "tail ",
        &long[1..],
        &long,
        &format!("{}K", &long[1..]),
    ];
    let holders = keys.map(|key| store.hold(key));
    let seen = store.run(&["--format", "json", "ls"]).json();
    let mut listed: Vec<_> = seen.as_array().unwrap().iter().map(|seen| seen["key"].as_str().unwrap()).collect();
    let mut expected = keys;
    listed.sort_unstable();
    expected.sort_unstable();
    assert_eq!(listed, expected);
    for (key, holder) in keys.into_iter().zip(holders) {
        let seen = store.seen_by_name(key);
        assert_eq!(seen["holders"][0]["pid"], holder.child.id(), "{key}");
        assert_eq!(store.run(&["run", "--no-wait", key, "--", "true"]).code, 75, "{key}");
        assert_eq!(store.run(&["release", "--force", key]).code, 0, "{key}");
        assert_eq!(holder.end().code, 73, "{key}");
    }
    assert_eq!(store.run(&["--format", "json", "ls"]).out, "[]\n");
    let kept = server.one(&format!("SELECT COUNT(*) FROM {database}.tenure_locks"));
    assert_eq!(kept, keys.len().to_string());
}

#[test]
fn a_server_that_is_down_is_69() {
    let server = MariaDbServer::start();
    server.kill();
    for args in [["run", "--wait", "200ms", "k", "--", "true"].as_slice(), &["ls"], &["inspect", "k"]] {
        refused(&said(&server.url(), args), 69, &["cannot be reached", &server.addr().to_string()]);
    }
}

#[test]
fn a_wrong_password_is_69_and_never_shown() {
    let server = MariaDbServer::start();
    server.add_user("app", "hunter2-canary-right", "ALL ON tenure.*");
    for url in [
        server.url_as("app", "hunter2-canary-wrong"),
        server.url_as("nobody", "hunter2-canary-wrong"),
        format!("mysql://app@{}/tenure", server.addr()),
    ] {
        for said in [said(&url, &["ls"]), Said::of(&mut tenure(&["--url", &url, "run", "k", "--", "true"]))] {
            assert!(!format!("{}{}", said.err, said.out).contains("hunter2-canary"), "a secret was shown");
            refused(&said, 69, &["check user, password and rights"]);
        }
    }
    let said = Said::of(&mut tenure(&["--url", &server.url_as("app", "hunter2-canary-right"), "run", "k", "true"]));
    assert!(!format!("{}{}", said.err, said.out).contains("hunter2-canary"), "a secret was shown");
}

#[test]
fn a_database_that_is_not_there_is_69() {
    let server = MariaDbServer::start();
    refused(&said(&server.url_of("nowhere"), &["ls"]), 69, &["there is no such database", "nowhere"]);
    // To somebody who may not know what there is, the server says no more than this.
    server.add_user("app", "hunter2-canary", "ALL ON tenure.*");
    let url = format!("mysql://app:hunter2-canary@{}/nowhere", server.addr());
    refused(&said(&url, &["ls"]), 69, &["does not let us", "nowhere"]);
}

#[test]
fn what_others_may_not_end_is_theirs() {
    let server = MariaDbServer::start();
    for user in ["one", "two"] {
        server.add_user(user, "hunter2-canary", "ALL ON tenure.*");
    }
    let [one, two] = ["one", "two"].map(|user| server.url_as(user, "hunter2-canary"));
    let mut holder = Running::start({
        let mut command = tenure(&["run", "k", "--", "sh", "-c", "echo in; read line"]);
        command.env("TENURE_URL", &one).stdin(Stdio::piped());
        command
    });
    assert_eq!(holder.line(), "in");
    refused(&said(&two, &["release", "--force", "k"]), 69, &["CONNECTION ADMIN"]);
    assert_eq!(said(&two, &["run", "--no-wait", "k", "--", "true"]).code, 75, "it changed nothing");
    drop(holder.child.stdin.take());
    assert_eq!(holder.end().code, 1);
}

#[test]
fn a_server_without_tls_says_so() {
    let server = MariaDbServer::start();
    let url = server.url().replacen("mysql://", "mysqls://", 1);
    refused(&said(&url, &["ls"]), 69, &["the server has no TLS", "`mysql://`"]);
}
