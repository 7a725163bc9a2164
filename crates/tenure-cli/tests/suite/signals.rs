//! Signals that `tenure` gets in its command's stead.

use crate::support::{Running, Store, eventually, gone, signal, state};
use std::os::unix::process::CommandExt;
use std::process::Command;

crate::on_every_store!(
    signals_are_handed_on_to_the_whole_group,
    a_command_may_handle_what_it_gets,
    an_interrupted_wait_leaves_nothing_behind,
    what_was_ignored_stays_ignored,
    a_command_that_somebody_paused_keeps_its_lock,
);

fn signals_are_handed_on_to_the_whole_group(store: &Store) {
    let mut running =
        Running::start(store.tenure(&["run", "k", "--", "sh", "-c", "sleep 1000 & echo $$; echo $!; wait"]));
    let (command, grandchild) = (running.number(), running.number());
    running.signal("TERM");
    gone(command);
    gone(grandchild);
    assert_eq!(running.end().code, 143);
    assert!(!store.is_held("k"));
}

fn a_command_may_handle_what_it_gets(store: &Store) {
    for name in ["HUP", "INT", "QUIT", "TERM", "USR1", "USR2", "ALRM", "WINCH"] {
        let script = format!("trap 'echo {name}; exit 9' {name}; echo up; while :; do sleep 0.02; done");
        let mut running = Running::start(store.tenure(&["run", "k", "--", "bash", "-c", &script]));
        assert_eq!(running.line(), "up");
        running.signal(name);
        let said = running.end();
        assert_eq!((said.code, said.out.trim()), (9, name), "{said:?}");
    }
}

fn an_interrupted_wait_leaves_nothing_behind(store: &Store) {
    for (name, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let holder = store.hold("k");
        let mut command = store.tenure(&["run", "k", "--", "echo", "never"]);
        // As a shell starts it: at the head of a job of its own.
        let waiter = Running::start({
            command.process_group(0);
            command
        });
        // It waits once it sleeps with the handlers in place.
        eventually("it listens for signals", || catches(waiter.child.id(), 15));
        waiter.signal(name);
        let said = waiter.end();
        assert_eq!((said.code, said.out.as_str()), (code, ""), "{said:?}");
        holder.signal("TERM");
        assert_eq!(holder.end().code, 143);
        let next = store.run(&["run", "--wait", "2s", "k", "--", "true"]);
        assert_eq!(next.code, 0, "{next:?}");
    }
}

/// Whether a process has a handler for a signal.
fn catches(pid: u32, signal: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() >> (signal - 1) & 1 == 1
}

fn what_was_ignored_stays_ignored(store: &Store) {
    // `nohup` ignores SIGHUP, and so does what it starts.
    let script = "grep SigIgn /proc/self/status; echo $$; exec sleep 1000";
    let mut command = Command::new("nohup");
    command.arg(env!("CARGO_BIN_EXE_tenure")).args(["run", "k", "--", "sh", "-c", script]);
    command.env("TENURE_URL", store.url());
    let mut running = Running::start(command);
    let mask = running.line();
    let mask = u64::from_str_radix(mask.trim_start_matches("SigIgn:").trim(), 16).unwrap();
    assert_eq!(mask & 1, 1, "SIGHUP is not ignored any more");
    let command = running.number();
    running.signal("HUP");
    running.signal("TERM");
    gone(command);
    assert_eq!(running.end().code, 143, "it died of SIGHUP");
}

fn a_command_that_somebody_paused_keeps_its_lock(store: &Store) {
    let mut running =
        Running::start(store.tenure(&["run", "--lease", "1s", "k", "--", "sh", "-c", "echo $$; exec sleep 1000"]));
    let command = running.number();
    signal(command, "STOP");
    eventually("it is stopped", || state(command) == Some('T'));
    // Longer than the lease: it is renewed all the same.
    let waited = store.run(&["run", "--wait", "1500ms", "k", "--", "true"]);
    assert_eq!(waited.code, 75, "{waited:?}");
    assert_eq!(state(command), Some('T'));
    signal(command, "CONT");
    eventually("it goes on", || state(command) == Some('S'));
    running.signal("TERM");
    assert_eq!(running.end().code, 143);
}
