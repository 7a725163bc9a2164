//! The commands that only look, and the one that takes away: what they print, for people and for programs.

use crate::support::{PATIENCE, Running, Said, Store, tenure};
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::mpsc;
use std::thread;

crate::on_every_store!(
    inspect_has_the_shape_that_was_promised,
    a_free_lock_is_an_answer,
    ls_is_an_array_of_the_same,
    ls_takes_patterns,
    a_forced_release_says_from_whom,
    waiting_ends_when_the_lock_is_free,
    who_has_read_enough_is_no_error,
    the_demo_sells_every_item_once,
);

fn inspect_has_the_shape_that_was_promised(store: &Store) {
    let holder = store.hold("k");
    let seen = store.seen_by_name("k");
    let keys = |value: &serde_json::Value| {
        let mut keys: Vec<_> = value.as_object().unwrap().keys().cloned().collect();
        keys.sort_unstable();
        keys
    };
    assert_eq!(keys(&seen), ["holders", "key", "kind", "line", "token", "waiters"]);
    assert_eq!((&seen["key"], &seen["kind"]), (&"k".into(), &"reentrant".into()));
    assert!(seen["token"].as_u64().unwrap() > 0);
    let [one] = &seen["holders"].as_array().unwrap()[..] else { panic!("not one holder: {seen}") };
    assert_eq!(keys(one), ["count", "held_ms", "host", "label", "owner", "pid", "ttl_ms"]);
    assert_eq!((&one["count"], &one["label"]), (&1.into(), &"sh".into()));
    assert_eq!(one["pid"], holder.child.id());
    assert!((1..=30_000).contains(&one["ttl_ms"].as_u64().unwrap()), "{one}");
    assert!(one["held_ms"].as_u64().unwrap() < 60_000, "{one}");

    let shown = store.run(&["inspect", "k"]).out;
    for part in ["k is held, reentrant", "sh on ", "held for ", "lease ends in "] {
        assert!(shown.contains(part), "`{part}` is not in {shown}");
    }
}

fn a_free_lock_is_an_answer(store: &Store) {
    let seen = store.run(&["--format", "json", "inspect", "k"]);
    assert_eq!(seen.code, 0);
    assert_eq!(seen.json()["holders"], serde_json::json!([]));
    assert_eq!(store.run(&["inspect", "k"]).out, "k is free\n");
}

fn ls_is_an_array_of_the_same(store: &Store) {
    let nothing = store.run(&["--format", "json", "ls"]);
    assert_eq!((nothing.code, nothing.out.as_str()), (0, "[]\n"));
    let nothing = store.run(&["ls"]);
    assert_eq!((nothing.code, nothing.out.as_str()), (0, ""));
    assert!(nothing.err.contains("no lock is held"), "{nothing:?}");
    assert_eq!(store.run(&["-q", "ls"]).err, "");

    let _one = store.hold("a");
    let _two = store.hold("b");
    let all = store.run(&["--format", "json", "ls"]).json();
    let keys: Vec<_> = all.as_array().unwrap().iter().map(|seen| seen["key"].as_str().unwrap()).collect();
    assert_eq!(keys, ["a", "b"]);
    let one = store.run(&["--format", "json", "inspect", "a"]).json();
    for same in ["key", "kind", "token"] {
        assert_eq!(all[0][same], one[same]);
    }
    assert_eq!(all[0]["holders"][0]["owner"], one["holders"][0]["owner"]);

    let table = store.run(&["ls"]).out;
    let lines: Vec<_> = table.lines().collect();
    assert_eq!(lines.len(), 3, "{table}");
    assert!(lines[0].starts_with("KEY") && !table.contains('\u{1b}'), "{table}");
    assert!(lines[1].starts_with("a ") && lines[1].contains("sh on "), "{table}");
}

fn ls_takes_patterns(store: &Store) {
    let _holders = ["deploy:web", "deploy:db", "backup"].map(|key| store.hold(key));
    for (pattern, count) in [("deploy:*", 2), ("deploy:??", 1), ("*", 3), ("nothing", 0)] {
        let found = store.run(&["--format", "json", "ls", pattern]).json();
        assert_eq!(found.as_array().unwrap().len(), count, "{pattern}: {found}");
    }
}

fn a_forced_release_says_from_whom(store: &Store) {
    let holder = store.hold("k");
    let pid = holder.child.id();
    store.seen_by_name("k");
    let forced = store.run(&["release", "--force", "k"]);
    assert_eq!(forced.code, 0, "{forced:?}");
    assert!(forced.out.starts_with("k was taken from sh on "), "{forced:?}");
    assert!(forced.out.contains(&format!("pid {pid}")), "{forced:?}");
    assert_eq!(holder.end().code, 73);
    let again = store.run(&["release", "--force", "k"]);
    assert_eq!(again.code, 1);
    assert!(again.err.contains("nobody holds the lock: key=`k`"), "{again:?}");

    let holder = store.hold("k");
    store.seen_by_name("k");
    let forced = store.run(&["--format", "json", "release", "--force", "k"]).json();
    assert_eq!(forced["holders"][0]["pid"], holder.child.id());
    assert_eq!(holder.end().code, 73);
}

fn waiting_ends_when_the_lock_is_free(store: &Store) {
    assert_eq!(store.run(&["wait", "k"]).code, 0);
    let mut command = store.tenure(&["run", "k", "--", "sh", "-c", "echo in; read line; exit 0"]);
    command.stdin(Stdio::piped());
    let mut holder = Running::start(command);
    assert_eq!(holder.line(), "in");
    assert_eq!(store.run(&["wait", "--wait", "0s", "k"]).code, 75);
    let waiter = Running::start(store.tenure(&["wait", "k"]));
    drop(holder.child.stdin.take());
    assert_eq!(holder.end().code, 0);
    let said = waiter.end();
    assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (0, "", ""));
    assert!(!store.is_held("k"), "waiting must not take the lock");
}

fn who_has_read_enough_is_no_error(store: &Store) {
    let _holder = store.hold("k");
    let mut command = store.tenure(&["ls"]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let said = Said::of(command.stdout(writer));
    assert_eq!((said.code, said.err.as_str()), (0, ""), "{said:?}");
}

fn the_demo_sells_every_item_once(store: &Store) {
    let said = store.run(&["demo", "--section", "2ms"]);
    assert_eq!(said.code, 0, "{said:?}");
    for expected in ["sold 50 of 50, left 0, refused 50", "no two buyers were in", "100 tokens, each larger"] {
        assert!(said.out.contains(expected), "`{expected}` is not in {said:?}");
    }
    assert!(!said.err.contains("buyers served"), "a bar was drawn on a pipe");
    let told = store.run(&["--format", "json", "demo", "--section", "2ms", "--buyers", "4", "--items", "2"]).json();
    assert_eq!((&told["sold"], &told["left"], &told["overlaps"]), (&2.into(), &0.into(), &0.into()), "{told}");
}

#[test]
fn the_demo_says_how_far_it_is_also_to_a_log() {
    let store = Store::sqlite();
    let holder = store.hold("stock:PROD_001");
    let mut demo = Running::start(store.tenure(&["demo", "--section", "1ms", "--buyers", "7", "--items", "3"]));
    let (said, told) = mpsc::channel();
    let stderr = BufReader::new(demo.child.stderr.take().unwrap());
    thread::spawn(move || stderr.lines().map_while(Result::ok).try_for_each(|line| said.send(line)));
    assert!(told.recv_timeout(PATIENCE).unwrap().contains("7 buyers, 3 items"));
    assert_eq!(told.recv_timeout(PATIENCE).unwrap(), "tenure: served 0 of 7 buyers so far");
    holder.signal("TERM");
    assert_eq!(demo.end().code, 0);
}

#[test]
fn the_demo_needs_no_store() {
    let said = Said::of(&mut tenure(&["demo", "--section", "2ms", "--buyers", "10", "--items", "5"]));
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.out.contains("sold 5 of 5"), "{said:?}");
}

#[test]
fn without_the_lock_the_stock_is_oversold() {
    let said = Said::of(&mut tenure(&["-q", "demo", "--section", "2ms", "--without-lock"]));
    assert_eq!((said.code, said.err.as_str()), (1, ""), "{said:?}");
    for expected in
        ["wrong: without the lock 100 were sold of 50, with ", "99 buyers came into the section while another"]
    {
        assert!(said.out.contains(expected), "`{expected}` is not in {said:?}");
    }
    // Nothing is called wrong that was not.
    let said = Said::of(&mut tenure(&["-q", "demo", "--buyers", "1", "--items", "1", "--without-lock"]));
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.out.contains("right, but by luck"), "{said:?}");
}

#[test]
fn the_demo_says_where_its_lock_is_kept() {
    let help = Said::of(&mut tenure(&["demo", "--help"])).out;
    // However its lines are broken.
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("for `demo`, memory") && help.contains("the lock is kept in memory"), "{help}");
    for url in [None, Some("")] {
        let home = tempfile::tempdir().unwrap();
        let mut command = tenure(&["demo", "--section", "1ms", "--buyers", "2", "--items", "1"]);
        command.env("XDG_STATE_HOME", home.path()).envs(url.map(|url| ("TENURE_URL", url)));
        let said = Said::of(&mut command);
        assert!(said.code == 0 && said.err.contains("on memory"), "{said:?}");
        assert_eq!(home.path().read_dir().unwrap().count(), 0, "nothing is left behind");
    }
}

#[test]
fn completions_and_manual_are_printed() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let said = Said::of(&mut tenure(&["completions", shell]));
        assert!(said.code == 0 && said.out.contains("kill-after"), "{shell}");
        assert!(!said.out.contains("__exec"), "{shell} completes what is ours alone");
    }
    let page = Said::of(&mut tenure(&["man"])).out;
    assert!(page.contains(".TH tenure 1"), "{page}");
}

#[test]
fn the_manual_has_the_headings_that_manuals_have() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("share/man/man1");
    let said = Said::of(&mut tenure(&["man", "--dir", dir.to_str().unwrap()]));
    assert_eq!(said.code, 0, "{said:?}");
    let mut pages: Vec<_> =
        dir.read_dir().unwrap().map(|page| page.unwrap().file_name().into_string().unwrap()).collect();
    pages.sort_unstable();
    let commands = [
        "-completions",
        "-demo",
        "-inspect",
        "-latch-delete",
        "-latch-down",
        "-latch-get",
        "-latch-set",
        "-latch-wait",
        "-latch",
        "-ls",
        "-man",
        "-release",
        "-run",
        "-schema",
        "-semaphore-get",
        "-semaphore-set",
        "-semaphore",
        "-wait",
        "",
    ];
    assert_eq!(pages, commands.map(|command| format!("tenure{command}.1")));
    for page in &pages {
        let text = std::fs::read_to_string(dir.join(page)).unwrap();
        assert!(!text.contains("EXTRA"), "{page}: {text}");
        let headings: Vec<_> = text.lines().filter_map(|line| line.strip_prefix(".SH ")).collect();
        let has = |heading: &str| headings.iter().any(|found| found.trim_matches('"') == heading);
        for heading in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "VERSION"] {
            assert!(has(heading), "{heading} is not in {page}: {headings:?}");
        }
        let full = ["tenure.1", "tenure-run.1"].contains(&page.as_str());
        for heading in ["EXIT STATUS", "ENVIRONMENT", "FILES"] {
            assert_eq!(has(heading), full, "{heading} in {page}: {headings:?}");
        }
        let shown = full || ["tenure-latch.1", "tenure-schema.1", "tenure-semaphore.1"].contains(&page.as_str());
        assert_eq!(has("EXAMPLES"), shown, "{page}: {headings:?}");
        assert_ne!(has("SEE ALSO"), page == "tenure.1", "{page}: {headings:?}");
    }
    let page = std::fs::read_to_string(dir.join("tenure-run.1")).unwrap();
    for name in ["TENURE_URL", "TENURE_OWNER", "TENURE_LOST", "NO_COLOR", "XDG_STATE_HOME", "HOME", "locks.db"] {
        assert!(page.contains(name), "{name} is not in {page}");
    }
}

#[test]
fn every_command_has_help() {
    for args in [
        &["--help"][..],
        &["run", "--help"],
        &["ls", "--help"],
        &["inspect", "--help"],
        &["release", "--help"],
        &["wait", "--help"],
        &["latch", "--help"],
        &["latch", "set", "--help"],
        &["semaphore", "--help"],
        &["semaphore", "get", "--help"],
        &["schema", "--help"],
        &["demo", "--help"],
        &["completions", "--help"],
        &["man", "--help"],
    ] {
        let said = Said::of(&mut tenure(args));
        assert!(said.code == 0 && said.out.contains("Usage: tenure"), "{args:?}: {said:?}");
        assert!(said.out.lines().all(|line| line.chars().count() <= 100), "{args:?}: {}", said.out);
    }
    assert!(Said::of(&mut tenure(&["--help"])).out.contains("tenure run nightly-backup -- ./backup.sh"));
}
