//! A lock that is lost while its command runs, and a `tenure` that is killed or stopped: the command is gone in time.

use crate::support::{Running, Store, eventually, gone, signal, state};
use std::fs;
use std::time::{Duration, Instant};
use tenure_testkit::RedisServer;

crate::on_every_store!(
    a_forced_release_stops_the_command,
    what_ignores_sigterm_is_killed_after_the_grace,
    without_grace_it_is_killed_at_once,
    where_others_may_be_in_the_grace_is_short,
    grandchildren_are_stopped_too,
    the_grace_is_for_grandchildren_as_well,
    on_lost_is_run,
    a_lease_that_is_not_renewed_ends_the_command,
    a_killed_tenure_takes_its_command_along,
    a_stopped_tenure_does_not_outlive_its_lease,
    a_command_that_ends_well_leaves_its_own_in_peace,
);

/// Prints its pid and that of a grandchild, and ends when asked to.
const WITH_GRANDCHILD: &str = "sleep 1000 & echo $$; echo $!; wait";
/// The same, both deaf to all that can be ignored.
const DEAF: &str = "trap '' TERM INT HUP; sleep 1000 & echo $$; echo $!; wait";

fn start(store: &Store, options: &[&str], script: &str) -> Running {
    let args = [&["run"], options, &["k", "--", "sh", "-c", script]].concat();
    Running::start(store.tenure(&args))
}

fn force(store: &Store) {
    let forced = store.run(&["release", "--force", "k"]);
    assert_eq!(forced.code, 0, "{forced:?}");
}

fn a_forced_release_stops_the_command(store: &Store) {
    let mut running = start(store, &[], "trap 'echo asked; exit 5' TERM; echo $$; sleep 1000 & wait");
    let command = running.number();
    force(store);
    gone(command);
    let said = running.end();
    assert_eq!(said.code, 73, "{said:?}");
    assert_eq!(said.out, "asked\n", "{said:?}");
    assert!(said.err.contains("the lock was lost") && said.err.contains("by force"), "{said:?}");
}

fn what_ignores_sigterm_is_killed_after_the_grace(store: &Store) {
    let mut running = start(store, &["--lease", "30s", "--kill-after", "700ms"], DEAF);
    let (command, grandchild) = (running.number(), running.number());
    let asked = Instant::now();
    force(store);
    gone(command);
    gone(grandchild);
    assert!(asked.elapsed() >= Duration::from_millis(700), "killed after {:?}", asked.elapsed());
    assert_eq!(running.end().code, 73);
}

fn without_grace_it_is_killed_at_once(store: &Store) {
    let mut running = start(store, &["--lease", "10m", "--kill-after", "0s"], DEAF);
    let (command, grandchild) = (running.number(), running.number());
    force(store);
    gone(command);
    gone(grandchild);
    assert_eq!(running.end().code, 73);
}

fn where_others_may_be_in_the_grace_is_short(store: &Store) {
    let mut running = start(store, &["--lease", "10m", "--kill-after", "3m"], DEAF);
    let (command, grandchild) = (running.number(), running.number());
    force(store);
    // Three minutes beside the next holder would be three minutes of double work.
    gone(command);
    gone(grandchild);
    assert_eq!(running.end().code, 73);
}

fn grandchildren_are_stopped_too(store: &Store) {
    let mut running = start(store, &[], WITH_GRANDCHILD);
    let (command, grandchild) = (running.number(), running.number());
    let asked = Instant::now();
    force(store);
    gone(command);
    gone(grandchild);
    assert!(asked.elapsed() < Duration::from_secs(5), "nobody had to wait for the grace: {:?}", asked.elapsed());
    assert_eq!(running.end().code, 73);
}

fn the_grace_is_for_grandchildren_as_well(store: &Store) {
    // The command dies of SIGTERM at once; its grandchild needs a moment to put things in order.
    let script = "(trap 'echo tidying; sleep 0.1; echo tidy; exit' TERM; echo up; while :; do sleep 0.05; done) & wait";
    let args = ["run", "--kill-after", "5s", "k", "--", "bash", "-c", script];
    let mut running = Running::start(store.tenure(&args));
    assert_eq!(running.line(), "up");
    force(store);
    let said = running.end();
    assert_eq!((said.code, said.out.as_str()), (73, "tidying\ntidy\n"), "{said:?}");
}

fn on_lost_is_run(store: &Store) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("lost");
    let hook = format!("echo \"$TENURE_KEY $TENURE_TOKEN $TENURE_LOST\" >{}", file.display());
    let mut running = start(store, &["--on-lost", &hook], "echo $TENURE_TOKEN; exec sleep 1000");
    let token = running.line();
    force(store);
    assert_eq!(running.end().code, 73);
    assert_eq!(fs::read_to_string(file).unwrap(), format!("k {token} somebody released it by force\n"));
    // Also if it is found out only when the command has ended.
    let file = dir.path().join("late");
    let hook = format!("touch {}", file.display());
    let force = format!("{} release --force k >/dev/null", env!("CARGO_BIN_EXE_tenure"));
    assert_eq!(store.run(&["run", "--on-lost", &hook, "k", "--", "sh", "-c", &force]).code, 73);
    assert!(file.exists());
    // And only then.
    let file = dir.path().join("kept");
    let hook = format!("touch {}", file.display());
    assert_eq!(store.run(&["run", "--on-lost", &hook, "k", "--", "true"]).code, 0);
    assert!(!file.exists());
}

/// The command is gone in time. The machine may pause in one of the attempts, but hardly in all.
fn in_one_of_three(limit: Duration, mut gone_after: impl FnMut() -> Duration) {
    let mut fastest = Duration::MAX;
    for _ in 0..3 {
        fastest = fastest.min(gone_after());
        if fastest < limit {
            return;
        }
    }
    panic!("gone only after {fastest:?}");
}

fn a_lease_that_is_not_renewed_ends_the_command(store: &Store) {
    // The lease begins a little later than we do.
    in_one_of_three(Duration::from_millis(2200), || {
        let began = Instant::now();
        let mut running = start(store, &["--lease", "2s", "--no-renew"], DEAF);
        let (command, grandchild) = (running.number(), running.number());
        let took = gone(command).max(gone(grandchild)) - began;
        assert!(took > Duration::from_secs(1), "it had no time to work: {took:?}");
        assert_eq!(running.end().code, 73);
        took
    });
}

fn a_killed_tenure_takes_its_command_along(store: &Store) {
    in_one_of_three(Duration::from_secs(1), || {
        let mut running = start(store, &["--lease", "6s"], DEAF);
        let (command, grandchild) = (running.number(), running.number());
        let killed = Instant::now();
        running.child.kill().unwrap();
        gone(command).max(gone(grandchild)) - killed
    });
    // The lock is free when the lease has ended.
    let next = store.run(&["run", "--wait", "8s", "k", "--", "true"]);
    assert_eq!(next.code, 0, "{next:?}");
}

fn a_stopped_tenure_does_not_outlive_its_lease(store: &Store) {
    in_one_of_three(Duration::from_secs(2), || {
        let mut running = start(store, &["--lease", "2s"], DEAF);
        let (command, grandchild) = (running.number(), running.number());
        let stopped = Instant::now();
        running.signal("STOP");
        let took = gone(command).max(gone(grandchild)) - stopped;
        running.signal("CONT");
        let said = running.end();
        assert_eq!(said.code, 73, "{said:?}");
        took
    });
}

fn a_command_that_ends_well_leaves_its_own_in_peace(store: &Store) {
    // As without us: what it put in the background goes on, without the lock.
    let said = store.run(&["run", "k", "--", "sh", "-c", "sleep 1000 >&- 2>&- & echo $!"]);
    assert_eq!(said.code, 0, "{said:?}");
    let left: u32 = said.out.trim().parse().unwrap();
    assert!(state(left).is_some(), "it was killed");
    assert!(!store.is_held("k"));
    signal(left, "KILL");
}

/// Freezes a server and tells when the lease can have ended there at the earliest.
fn freeze(server: &RedisServer) -> Instant {
    let asked = Instant::now();
    let left = server.pttl("k");
    server.pause();
    asked + Duration::from_millis(u64::try_from(left).expect("a lease"))
}

#[test]
fn a_hung_redis_ends_the_command_before_the_lease_does() {
    for script in [WITH_GRANDCHILD, DEAF] {
        let store = Store::redis();
        let mut running = start(&store, &["--lease", "4s"], script);
        let (command, grandchild) = (running.number(), running.number());
        let frozen = Instant::now();
        let lease_ends = freeze(store.server());
        let ended = gone(command).max(gone(grandchild));
        assert!(ended < lease_ends, "gone {:?} after the lease's end", ended - lease_ends);
        assert!(ended - frozen < Duration::from_secs(4));
        let said = running.end();
        assert_eq!(said.code, 73, "{said:?}");
        assert!(said.err.contains("could not be renewed in time"), "{said:?}");
        store.server().resume();
    }
}

#[test]
fn a_short_hang_is_ridden_out() {
    let store = Store::redis();
    let server = store.server();
    let mut running = start(&store, &["--lease", "4s"], "echo $$; exec sleep 1000");
    let command = running.number();
    server.pause();
    // A renewal falls due after a third of the lease.
    std::thread::sleep(Duration::from_millis(1700));
    server.resume();
    eventually("a renewal", || server.pttl("k") > 3000);
    assert!(state(command).is_some(), "it was stopped too early");
    signal(command, "TERM");
    assert_eq!(running.end().code, 143);
}
