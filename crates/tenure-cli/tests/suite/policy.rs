//! `tenure run --policy FILE`: how a lock is taken, as data.

use crate::support::{Said, Store, tenure};
use std::fs;
use std::time::{Duration, Instant};
use tempfile::NamedTempFile;

crate::on_every_store!(
    a_policy_says_how_the_lock_is_taken,
    what_is_typed_goes_before_the_policy,
    a_policy_may_ask_once,
    retries_are_used_up,
    a_policy_that_is_switched_off_runs_the_command,
    what_takes_too_long_is_told,
);

/// A file with a policy, until it is dropped.
fn policy(text: &str) -> NamedTempFile {
    let file = NamedTempFile::new().unwrap();
    fs::write(file.path(), text).unwrap();
    file
}

/// `tenure run --policy FILE` with what is typed besides.
fn run(store: &Store, text: &str, args: &[&str]) -> Said {
    let file = policy(text);
    store.run(&[&["run", "--policy", file.path().to_str().unwrap()], args].concat())
}

fn a_policy_says_how_the_lock_is_taken(store: &Store) {
    let script = r#"echo "$TENURE_KEY"; "$0" --format json inspect "$TENURE_KEY""#;
    let text = "prefix = 'stock:'\nkind = 'fair'\nlease = '7s'\nrenew = false\n";
    let said = run(store, text, &["k", "--", "sh", "-c", script, env!("CARGO_BIN_EXE_tenure")]);
    assert_eq!((said.code, said.err.as_str()), (0, ""), "{said:?}");
    let (key, seen) = said.out.split_once('\n').unwrap();
    let seen: serde_json::Value = serde_json::from_str(seen).unwrap();
    assert_eq!((key, &seen["key"], &seen["kind"]), ("stock:k", &"stock:k".into(), &"fair".into()));
    assert!((1..=7000).contains(&seen["holders"][0]["ttl_ms"].as_u64().unwrap()), "{seen}");
    // The whole name is told of a lock that was not free, too.
    let _holder = store.hold("stock:j");
    let said = run(store, "prefix = 'stock:'", &["--no-wait", "--status-fd", "1", "j", "--", "true"]);
    assert!(said.code == 75 && said.err.contains("key=`stock:j`"), "{said:?}");
    assert_eq!(said.json()["key"], "stock:j");
}

fn what_is_typed_goes_before_the_policy(store: &Store) {
    let script = r#""$0" --format json inspect k"#;
    let args = ["--kind", "simple", "--lease", "1h", "k", "--", "sh", "-c", script, env!("CARGO_BIN_EXE_tenure")];
    let seen = run(store, "kind = 'fair'\nlease = '7s'\nrenew_every = '2s'\n", &args).json();
    assert_eq!(seen["kind"], "simple");
    assert!(seen["holders"][0]["ttl_ms"].as_u64().unwrap() > 60_000, "{seen}");
    // One that was to be taken once is waited for, and one that was to be waited for is not.
    let _holder = store.hold("k");
    let began = Instant::now();
    assert_eq!(run(store, "wait = '0s'", &["--wait", "300ms", "k", "--", "true"]).code, 75);
    assert!(began.elapsed() >= Duration::from_millis(300));
    for once in [&["--no-wait"][..], &["--wait", "0s"]] {
        let args = [once, &["k", "--", "true"]].concat();
        assert_eq!(run(store, "retry = 'fixed(100ms)'", &args).code, 75);
    }
    assert_eq!(run(store, "at_least = '1h'", &["--at-least", "0s", "j", "--", "true"]).code, 0);
    assert!(!store.is_held("j"));
}

fn a_policy_may_ask_once(store: &Store) {
    let _holder = store.hold("k");
    let said = run(store, "wait = '0s'", &["k", "--", "echo", "in"]);
    assert!(said.code == 75 && said.out.is_empty() && said.err.contains("holder="), "{said:?}");
    assert_eq!(run(store, "wait = '0s'\nkind = 'semaphore:1'", &["s", "--", "true"]).code, 0);
}

fn retries_are_used_up(store: &Store) {
    let _holder = store.hold("k");
    let said = store.run(&["run", "--retry", "fixed(20ms, tries=2)", "k", "--", "echo", "in"]);
    assert!(said.code == 75 && said.out.is_empty(), "{said:?}");
    let said = run(store, "retry = 'linear(20ms, tries=2)'", &["k", "--", "echo", "in"]);
    assert!(said.code == 75 && said.out.is_empty(), "{said:?}");
    assert_eq!(store.run(&["run", "--retry", "fixed(20ms)", "j", "--", "true"]).code, 0);
}

fn a_policy_that_is_switched_off_runs_the_command(store: &Store) {
    let _holder = store.hold("k");
    let script = "cat; echo \"${TENURE_TOKEN-none} $TENURE_URL\"; exit 7";
    let said = run(store, "enabled = false", &["k", "--", "sh", "-c", script]);
    assert_eq!((said.code, said.out.trim()), (7, format!("none {}", store.url()).as_str()), "{said:?}");
    let told = "tenure: the policy is switched off (enabled = false), the command runs without the lock\n";
    assert_eq!(said.err, told);
    let file = policy("enabled = false");
    let file = file.path().to_str().unwrap();
    let said = store.run(&["-q", "run", "--policy", file, "--status-fd", "1", "k", "--", "kill -TERM $$"]);
    assert_eq!((said.code, said.err.lines().count()), (127, 1), "{said:?}");
    let said = store.run(&["-q", "run", "--policy", file, "--status-fd", "1", "k", "--", "sh", "-c", "kill -TERM $$"]);
    // As it would be without us.
    assert_eq!((said.code, said.err.as_str()), (-15, ""), "{said:?}");
    let status = said.json();
    assert_eq!((&status["outcome"], &status["key"]), (&"unlocked".into(), &"k".into()), "{status}");
    assert!(status["code"].is_null() && status["token"].is_null(), "{status}");
}

fn what_takes_too_long_is_told(store: &Store) {
    let said = run(store, "warn_after = '50ms'", &["k", "--", "sleep", "0.5"]);
    assert_eq!(said.code, 0, "{said:?}");
    let told = "tenure: the lock is held for longer than it should be, see what takes so long: held=";
    assert!(said.err.starts_with(told) && said.err.ends_with(" key=`k`\n"), "{said:?}");
    assert_eq!(said.err.lines().count(), 1, "{said:?}");
}

#[test]
fn a_policy_needs_no_store_to_be_switched_off() {
    let file = policy("enabled = false");
    let url = "redis://127.0.0.1:1";
    let said = Said::of(&mut tenure(&[
        "--url",
        url,
        "run",
        "--policy",
        file.path().to_str().unwrap(),
        "k",
        "--",
        "sh",
        "-c",
        "echo $TENURE_URL",
    ]));
    assert_eq!((said.code, said.out.trim()), (0, url), "{said:?}");
}

#[test]
fn a_policy_that_makes_no_sense_is_refused() {
    let file = policy("");
    let path = file.path().to_str().unwrap();
    for (text, args, told) in [
        (
            "\nlease = '5'",
            &[][..],
            "the policy cannot be read, correct line 2: write a length of time such as `30s`, `5m` or `1h30m`: length=`5`",
        ),
        (
            "leese = '5s'",
            &[],
            "the policy cannot be read, correct line 1: unknown field `leese`, expected one of `prefix`, `kind`, `enabled`, \
             `lease`, `renew`, `renew_every`, `wait`, `retry`, `max_hold`, `at_least`, `warn_after`, `warn_waiting_after`",
        ),
        (
            "renew = false\nrenew_every = '2s'",
            &[],
            "a lock that is not renewed has no renew_every, leave one of the two out: renew=false renew_every=2s",
        ),
    ] {
        fs::write(path, text).unwrap();
        let said = Said::of(&mut tenure(&[&["run", "--policy", path], args, &["k", "--", "true"]].concat()));
        assert_eq!((said.code, said.err), (2, format!("error: {told} policy=`{path}`\n")));
    }
    // What is typed and the policy disagree.
    fs::write(path, "wait = '0s'").unwrap();
    let said = Said::of(&mut tenure(&["run", "--policy", path, "--retry", "fixed(1s)", "k", "--", "true"]));
    let told = "error: one attempt has no retries, leave one of the two out: wait=0s retry=fixed(1s)\n";
    assert_eq!((said.code, said.err.as_str()), (2, told));
    let no_file = ["run", "--policy", "/no/such/policy.toml", "k", "--", "true"];
    let said = Said::of(&mut tenure(&no_file));
    assert!(said.code == 2 && said.err.contains("could not read the policy, check its name"), "{said:?}");
    assert!(said.err.contains("policy=`/no/such/policy.toml`"), "{said:?}");
    fs::write(path, [0xff, 0xfe]).unwrap();
    let said = Said::of(&mut tenure(&["run", "--policy", path, "k", "--", "true"]));
    assert!(said.code == 2 && said.err.lines().count() == 1, "{said:?}");
}
