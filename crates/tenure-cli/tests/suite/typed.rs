//! Mistyped lines: one sentence each, before anything is done.

use crate::support::{Said, Store, tenure};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

const COMMANDS: &str = "run, ls, inspect, release, wait, latch, semaphore, schema, demo, completions, man or help";
const RETRY: &str =
    "write a retry such as `fixed(100ms)`, `linear(100ms, tries=10)` or `exponential(60ms, max=2s, tries=100)`";
const INTERVAL: &str = "begin a retry with the pause between two attempts, as in `fixed(100ms)`";
const LENGTH: &str = "write a length of time such as `30s`, `5m` or `1h30m`";
const NUMBER: &str = "write a whole number such as `50`, up to 2147483647";
const DESCRIPTOR: &str = "write the number of a file descriptor, such as `3`";

/// Refused in one sentence, on a store that was not even opened.
fn refused(args: &[&str], sentence: &str) {
    let store = Store::sqlite();
    let said = store.run(args);
    assert_eq!(said.err, format!("error: {sentence}\n"), "{args:?}");
    assert_eq!((said.code, said.out.as_str()), (2, ""), "{args:?}");
    let Store::Sqlite(dir) = &store else { unreachable!() };
    assert_eq!(dir.path().read_dir().unwrap().count(), 0, "{args:?}");
}

#[test]
fn what_is_missing_is_asked_for() {
    for (args, sentence) in [
        (&["run", "k"][..], "name the command to run after `--`: tenure run k -- CMD …"),
        (&["run", "k", "--"], "name the command to run after `--`: tenure run k -- CMD …"),
        (&["run", "--no-wait", "k"], "name the command to run after `--`: tenure run k -- CMD …"),
        (&["run", "two words"], "name the command to run after `--`: tenure run KEY -- CMD …"),
        (&["run", "two\nlines"], "name the command to run after `--`: tenure run KEY -- CMD …"),
        (&["run", ""], "name the command to run after `--`: tenure run KEY -- CMD …"),
        (&["run", &"k".repeat(10_000)], "name the command to run after `--`: tenure run KEY -- CMD …"),
        (&["run"], "name the lock and the command to run: tenure run KEY -- CMD …"),
        (&["run", "--"], "name the lock and the command to run: tenure run KEY -- CMD …"),
        (&["--format", "json", "run"], "name the lock and the command to run: tenure run KEY -- CMD …"),
        (&["run", "--", "true"], "name the lock before `--`: tenure run KEY -- CMD …"),
        (&["inspect"], "name the lock: tenure inspect KEY"),
        (&["wait", "--wait", "5s"], "name the lock: tenure wait KEY"),
        (&["release", "--force"], "name the lock: tenure release --force KEY"),
        (&["release", "k"], "add --force to take the lock from whoever holds it: tenure release --force k"),
        (&["release"], "name the lock, and add --force to take it from whoever holds it: tenure release --force KEY"),
        (&["completions"], "name the shell, which is bash, elvish, fish, powershell or zsh: tenure completions SHELL"),
        (&["--quiet"], &format!("name a command: {COMMANDS}")),
        (&["--"], &format!("name a command: {COMMANDS}")),
        (&["run", "k", "--lease"], &format!("{LENGTH} after this option: option=`--lease`")),
        (&["run", "k", "--lease", "--", "true"], &format!("{LENGTH} after this option: option=`--lease`")),
        (&["run", "--wait", "--no-wait", "k", "--", "true"], &format!("{LENGTH} after this option: option=`--wait`")),
        (&["run", "--status-fd"], "write a number after this option: option=`--status-fd`"),
        (&["--url"], "write the store's URL after this option: option=`--url`"),
        (&["--format"], "write human or json after this option: option=`--format`"),
        (&["--format=", "ls"], "write human or json after this option: option=`--format`"),
        (&["run", "--label"], "write its value after this option: option=`--label`"),
        (&["run", "k", "--retry"], &format!("{RETRY} after this option: option=`--retry`")),
        (&["run", "k", "--policy"], "write the name of a file after this option: option=`--policy`"),
    ] {
        refused(args, sentence);
    }
}

#[test]
fn what_is_unknown_is_named_with_what_there_is() {
    for (args, sentence) in [
        (&["runn", "k", "--", "true"][..], "unknown command, perhaps `run` was meant: command=`runn`"),
        (&["frobnicate"], &*format!("unknown command, choose {COMMANDS}: command=`frobnicate`")),
        (&["help", "frobnicate"], &format!("unknown command, choose {COMMANDS}: command=`frobnicate`")),
        (&["a\u{1b}[2J\nb"], &format!("unknown command, choose {COMMANDS}: command=`a\\u{{1b}}[2J\\nb`")),
        (&["run", "--no-wiat", "k", "--", "true"], "unknown option, perhaps `--no-wait` was meant: option=`--no-wiat`"),
        (&["demo", "--buyer", "3"], "unknown option, perhaps `--buyers` was meant: option=`--buyer`"),
        (
            &["redis://host", "ls"],
            "unknown command, write `--url` before a URL and quote one with spaces: tenure --url 'URL' COMMAND …",
        ),
        (&["--ulr=redis://host", "ls"], "unknown option, see `tenure --help`: option=`--ulr`"),
        (&["-x", "ls"], "unknown option, see `tenure --help`: option=`-x`"),
        (&["run", "-x", "k", "--", "true"], "unknown option, see `tenure run --help`: option=`-x`"),
        (
            &["run", "k", "-x", "true"],
            "unknown option, see `tenure run --help`, or write it after `--` if it is the command's: option=`-x`",
        ),
        (
            &["inspect", "-x"],
            "unknown option, see `tenure inspect --help`, or write `--` before a key that begins so: option=`-x`",
        ),
        (&["wait", "k", "--lease", "5s"], "unknown option, see `tenure wait --help`: option=`--lease`"),
        (&["--no-wait", "run", "k", "--", "true"], "write this option after `run`: option=`--no-wait`"),
        (&["--force", "release", "k"], "write this option after `release`: option=`--force`"),
        (
            &["run", "--kind", "foo", "k", "--", "true"],
            "unknown kind, choose reentrant, simple, fair, read, write, fenced or semaphore:N, N of which run at a time: \
             kind=`foo`",
        ),
        (&["--format", "xml", "ls"], "unknown format, choose human or json: format=`xml`"),
        (&["completions", "zhs"], "unknown shell, choose bash, elvish, fish, powershell or zsh: shell=`zhs`"),
    ] {
        refused(args, sentence);
    }
}

#[test]
fn a_value_that_makes_no_sense_is_told_what_does() {
    for (args, sentence) in [
        (&["run", "--lease", "abc", "k", "--", "true"][..], format!("{LENGTH}: lease=`abc`")),
        (&["run", "--lease", "30", "k", "--", "true"], format!("{LENGTH}: lease=`30`")),
        (&["run", "--lease", "-5s", "k", "--", "true"], format!("{LENGTH}: lease=`-5s`")),
        (&["run", "--lease=-5s", "k", "--", "true"], format!("{LENGTH}: lease=`-5s`")),
        (&["run", "--lease=", "k", "--", "true"], format!("{LENGTH}: lease=``")),
        (&["run", "--lease", "a\nb", "k", "--", "true"], format!("{LENGTH}: lease=`a\\nb`")),
        (
            &["run", "--lease", &"9".repeat(10_000), "k", "--", "true"],
            format!("{LENGTH}: lease=`{}…`", "9".repeat(100)),
        ),
        (&["run", "--lease", "redis://host", "k", "--", "true"], format!("{LENGTH}: option=`--lease`")),
        (&["wait", "--wait", "-1s", "k"], format!("{LENGTH}: wait=`-1s`")),
        (&["run", "--lease", "0s", "k", "--", "true"], "choose more than nothing, such as `30s`: lease=`0s`".into()),
        (
            &["run", "--max-hold", "0s", "k", "--", "true"],
            "choose more than nothing, such as `30s`: max-hold=`0s`".into(),
        ),
        (&["run", "--status-fd", "x", "k", "--", "true"], format!("{DESCRIPTOR}: status-fd=`x`")),
        (&["run", "--status-fd", "-1", "k", "--", "true"], format!("{DESCRIPTOR}: status-fd=`-1`")),
        (&["run", "--retry", "random", "k", "--", "true"], format!("{RETRY}: retry=`random`")),
        (&["run", "--retry", "fixed(redis://host)", "k", "--", "true"], format!("{INTERVAL}: option=`--retry`")),
        (&["demo", "--items", "-1"], format!("{NUMBER}: items=`-1`")),
        (&["demo", "--buyers", "99999999999"], format!("{NUMBER}: buyers=`99999999999`")),
        (
            &["run", "--label", "-x", "k", "--", "true"],
            "write a value that begins with `-` after a `=`: --label=-x".into(),
        ),
        (&["--quiet=yes", "ls"], "this option takes no value, leave it out: option=`--quiet`".into()),
    ] {
        refused(args, &sentence);
    }
}

#[test]
fn what_is_too_much_is_named() {
    for (args, sentence) in [
        (&["run", "--wait", "5s", "--no-wait", "k", "--", "true"][..], "give --wait or --no-wait, but not both"),
        (&["run", "--retry", "fixed(1s)", "--no-wait", "k", "--", "true"], "give --retry or --no-wait, but not both"),
        (
            &["run", "--lease", "3s", "--lease", "4s", "k", "--", "true"],
            "the line has an option twice, give it once: option=`--lease`",
        ),
        (&["-qq", "ls"], "the line has an option twice, give it once: option=`--quiet`"),
        (&["--url", "a", "--url", "b", "ls"], "the line has an option twice, give it once: option=`--url`"),
        (
            &["inspect", "k", "j"],
            "there is an argument too many, leave it out or quote what belongs together: argument=`j`",
        ),
        (
            &["inspect", "--", "k", "--j"],
            "there is an argument too many, leave it out or quote what belongs together: argument=`--j`",
        ),
        (&["man", ""], "there is an argument too many, leave it out or quote what belongs together: argument=``"),
        (&["--", "run", "k"], "leave out the `--` before the command: tenure run …"),
        (&["run", "k", "true"], "write `--` between the key and the command: tenure run k -- true"),
        (&["run", "--no-wait", "true", "true"], "write `--` between the key and the command: tenure run true -- true"),
        (&["run", "k", "ls", "-l", "--no-wait"], "write `--` between the key and the command: tenure run k -- ls …"),
        (&["run", "a", "b", "sh", "x"], "write `--` between the key and the command: tenure run a b -- sh …"),
        (&["run", "a", "b", "/bin/sh"], "write `--` between the key and the command: tenure run a b -- /bin/sh"),
        (&["run", "a", "no-such", "x"], "write `--` between the key and the command: tenure run a -- no-such …"),
        (&["run", "my key", "ls"], "write `--` between the key and the command: tenure run KEY -- ls"),
        (&["run", "--wait", "5s", "--no-wait", "k", "true"], "give --wait or --no-wait, but not both"),
    ] {
        refused(args, sentence);
    }
}

#[test]
fn bytes_that_are_no_text_are_shown_as_such() {
    const SENTENCE: &str = "write this argument in UTF-8: argument=`a\\xffb`";
    let odd = OsStr::from_bytes(b"a\xffb");
    for (before, after, sentence) in [
        (&["inspect"][..], &[][..], SENTENCE.to_owned()),
        (&["inspect", "--"], &[], SENTENCE.to_owned()),
        (&["run"], &["--", "true"], SENTENCE.to_owned()),
        (&["run", "--lease"], &["k", "--", "true"], SENTENCE.to_owned()),
        // It may be a password.
        (&["--url"], &["ls"], "write the URL in UTF-8, and percent-encode what is not".to_owned()),
        (&[], &[], format!("unknown command, choose {COMMANDS}: command=`a\u{fffd}b`")),
    ] {
        let said = Said::of(tenure(before).arg(odd).args(after));
        assert_eq!((said.code, said.err), (2, format!("error: {sentence}\n")), "{before:?}");
        assert_eq!(said.out, "");
    }
    let said = Said::of(tenure(&["ls"]).env("TENURE_URL", odd));
    assert_eq!(said.err, "error: write TENURE_URL in UTF-8, and percent-encode what is not\n");
    assert_eq!((said.code, said.out.as_str()), (2, ""));
}

#[test]
fn a_store_in_the_environment_changes_no_help() {
    for args in [&["--help"][..], &["run", "--help"], &["help", "run"], &["ls", "-h"], &["--version"]] {
        let (without, with) = (Said::of(&mut tenure(args)), Said::of(tenure(args).env("TENURE_URL", "memory:")));
        assert_eq!((without.code, without.err.as_str()), (0, ""), "{args:?}");
        assert!(!without.out.is_empty() && with.out == without.out, "{args:?}: {with:?}");
    }
    // Clap's word of the usage had `--url <URL>` in it, as if it were required.
    let said = Said::of(tenure(&["run", "k"]).env("TENURE_URL", "memory:"));
    assert!(!said.err.contains("--url"), "{said:?}");
}

#[test]
fn a_mistyped_line_shows_no_password() {
    const URL: &str = "redis://:hunter2-canary@host";
    for args in [
        &["--ulr", URL, "run"][..],
        &["--ulr=redis://:hunter2-canary@host", "run"],
        &["--url:redis://:hunter2-canary@host", "ls"],
        &["--redis://:hunter2-canary@host", "ls"],
        &["-uredis://:hunter2-canary@host", "ls"],
        &["--password", "hunter2-canary", "ls"],
        &["--password=hunter2-canary", "ls"],
        &["-phunter2-canary", "ls"],
        &["--quiet=hunter2-canary", "ls"],
        &["--url", URL],
        &["--url", URL, "--url", URL, "ls"],
        &["--url", URL, "lss"],
        &["--url", URL, "run", "k"],
        &["--url", URL, "run", "k", "true"],
        &["--url", URL, "run", "--wait", "1s", "--no-wait", "k", "true"],
        &[URL],
        &[URL, "ls"],
        &["url", URL, "ls"],
        &["help", URL],
        &["--url", "run", URL, "k", "--", "true"],
        &["run", URL],
        &["run", URL, "k"],
        &["run", URL, "k", "--", "true"],
        &["run", "k", URL],
        &["run", "k", URL, "--", "true"],
        &["run", "--lease", URL, "k", "--", "true"],
        &["run", "--kind", URL, "k", "--", "true"],
        &["run", "--status-fd", URL, "k", "--", "true"],
        &["run", "--label", "-hunter2-canary@host", "k", "--", "true"],
        &["--url", "-redis://:hunter2-canary@host", "ls"],
        &["--url", "-xhunter2-canary", "ls"],
        &["--format", URL, "ls"],
        &["release", URL],
        &["inspect", "k", URL],
        &["completions", URL],
        &["demo", "--items", URL],
        &["man", URL],
        &["redis:hunter2-canary", "ls"],
        &["redis//:hunter2-canary@host", "ls"],
        // What belongs in quotes, because it has spaces in it.
        &["--url", "redis://:one", "hunter2-canary", "three@host", "ls"],
        &["--url", "redis://:one", "hunter2-canary@host", "ls"],
        &["--url=redis://:one", "hunter2-canary", "three@host", "ls"],
        &["run", "--url", "redis://:one", "hunter2-canary", "three@host", "k", "--", "true"],
        &["run", "--url", "redis://:one", "hunter2-canary", "three@host"],
        &["ls", "--url", "redis://:one", "k", "hunter2-canary", "three@host"],
        &["ls", "--url", "redis://:one", "k", "--hunter2-canary", "three@host"],
        &["inspect", "--", "redis://:one", "hunter2-canary", "three@host"],
        &["--url", "redis://host?password=one", "hunter2-canary", "ls"],
        &["ls", "redis+unix:///run/redis.sock", "?password=hunter2-canary"],
    ] {
        let said = Said::of(&mut tenure(args));
        // Not to be shown by this test either.
        let secrets = said.err.contains("hunter2") || said.err.contains("canary");
        assert!(!secrets && said.out.is_empty(), "a secret was shown");
        assert_eq!((said.code, said.err.matches('\n').count()), (2, 1), "{}", said.err);
        assert!(said.err.starts_with("error: "), "{}", said.err);
    }
    let odd = OsStr::from_bytes(b"redis://:hunter2-canary\xff@host");
    for args in [&["inspect"][..], &["--url"], &["--ulr"], &["run", "--lease"], &[]] {
        let said = Said::of(tenure(args).arg(odd));
        assert!(!said.err.contains("hunter2") && said.code == 2, "a secret was shown");
    }
}
