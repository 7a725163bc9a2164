//! The gate over random histories, across restarts, and between processes that are killed.

use proptest::prelude::*;
use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;
use tenure_core::fence::{FenceGate, Refused};

/// Where a process that this test starts finds its gate and what it writes to.
const WRITER: &str = "TENURE_GATE_WRITER";
const PATIENCE: Duration = Duration::from_secs(20);

/// Passes by resource and token, and now and then a restart.
fn history() -> impl Strategy<Value = Vec<Option<(usize, u64)>>> {
    prop::collection::vec(prop_oneof![9 => (0..3usize, 0..12u64).prop_map(Some), 1 => Just(None)], 1..60)
}

/// Goes through a history and compares every answer with what the rule says.
fn replay(history: &[Option<(usize, u64)>], mut open: impl FnMut() -> FenceGate) {
    const RESOURCES: [&str; 3] = ["a", "A", "../a:b"];
    let mut gate = open();
    let mut accepted: HashMap<usize, u64> = HashMap::new();
    for step in history {
        let Some((resource, token)) = *step else {
            gate = open();
            continue;
        };
        let newest = accepted.get(&resource).copied().unwrap_or(0);
        match gate.guard(RESOURCES[resource], token, || 'w') {
            Ok('w') if token >= newest => _ = accepted.insert(resource, token),
            Err(Refused::Late { token: came, newest: Some(seen) }) if token < newest => {
                assert_eq!((came, seen), (token, newest));
            }
            other => panic!("{token} after {newest}: {other:?}"),
        }
    }
}

proptest! {
    #[test]
    fn accepted_tokens_never_decrease(history in history()) {
        let steps: Vec<_> = history.into_iter().flatten().map(Some).collect();
        replay(&steps, FenceGate::new);
    }
}

proptest! {
    // Each pass is a flush to the disk.
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn accepted_tokens_never_decrease_across_restarts(history in history()) {
        let dir = tempfile::tempdir().unwrap();
        replay(&history, || FenceGate::persistent(dir.path().join("deep/gate")).unwrap());
    }
}

#[test]
fn long_names_are_resources_like_others() {
    let dir = tempfile::tempdir().unwrap();
    let gate = FenceGate::persistent(dir.path()).unwrap();
    let long = "é".repeat(512);
    gate.pass(&long, 7).unwrap();
    gate.pass(&long[2..], 5).unwrap();
    assert!(matches!(gate.pass(&long, 6), Err(Refused::Late { newest: Some(7), .. })));
}

#[test]
fn a_write_that_panics_has_been_here() {
    let dir = tempfile::tempdir().unwrap();
    for gate in [FenceGate::new(), FenceGate::persistent(dir.path()).unwrap()] {
        let write = || gate.guard("a", 7, || panic!("a write that fails"));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(write)).is_err());
        assert!(matches!(gate.pass("a", 6), Err(Refused::Late { newest: Some(7), .. })));
        gate.pass("a", 7).unwrap();
    }
}

#[test]
fn a_slow_write_holds_up_its_own_resource_alone() {
    let dir = tempfile::tempdir().unwrap();
    for gate in [FenceGate::new(), FenceGate::persistent(dir.path()).unwrap()] {
        std::thread::scope(|scope| {
            let ((inside, is_inside), (go, goes)) = (mpsc::channel(), mpsc::channel::<()>());
            let (passed, has_passed) = mpsc::channel();
            let gate = &gate;
            scope.spawn(move || {
                gate.guard("slow", 5, || {
                    inside.send(()).unwrap();
                    goes.recv_timeout(PATIENCE).unwrap();
                })
                .unwrap();
            });
            is_inside.recv_timeout(PATIENCE).unwrap();
            scope.spawn(move || passed.send(gate.pass("slow", 7)).unwrap());
            gate.pass("other", 1).unwrap();
            assert!(has_passed.try_recv().is_err(), "one is still inside");
            go.send(()).unwrap();
            has_passed.recv_timeout(PATIENCE).unwrap().unwrap();
        });
    }
}

#[test]
fn a_gate_that_cannot_tell_lets_nobody_through() {
    let dir = tempfile::tempdir().unwrap();
    let gate = FenceGate::persistent(dir.path().join("gate")).unwrap();
    gate.pass("a", 5).unwrap();

    fs::write(dir.path().join("gate/a.fence"), [b'x'; 64]).unwrap();
    let refused = gate.guard("a", 7, || panic!("the write must not run")).unwrap_err();
    assert!(matches!(&refused, Refused::Shut { path, .. } if path.ends_with("a.fence")), "{refused}");

    fs::remove_dir_all(dir.path().join("gate")).unwrap();
    assert!(matches!(gate.pass("b", 7), Err(Refused::Shut { .. })), "it would have forgotten `a`");

    fs::write(dir.path().join("file"), "").unwrap();
    assert!(matches!(FenceGate::persistent(dir.path().join("file")), Err(Refused::Shut { .. })));
}

/// A process that writes, with tokens of its own choice, to a file that a gate guards.
struct Writer {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Writer {
    fn start(dir: &Path, tokens: impl Iterator<Item = u64>) -> Self {
        let tokens: Vec<String> = tokens.map(|token| token.to_string()).collect();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "writes_when_told_to", "--nocapture"])
            .env(WRITER, format!("{}\n{}", dir.display(), tokens.join(" ")))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// How often it was let through, when it has come to its end.
    fn finish(mut self) -> usize {
        let passed = self.lines.by_ref().map(Result::unwrap).filter(|line| line.starts_with("passed")).count();
        assert!(self.child.wait().unwrap().success());
        passed
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Not a test of its own: a process of the two below.
#[test]
fn writes_when_told_to() {
    let Ok(told) = std::env::var(WRITER) else { return };
    let (dir, tokens) = told.split_once('\n').unwrap();
    let dir = PathBuf::from(dir);
    let gate = FenceGate::persistent(dir.join("gate")).unwrap();
    println!("ready");
    for token in tokens.split(' ') {
        let token: u64 = token.parse().unwrap();
        let written = gate.guard("file", token, || {
            // In two parts, which others would come between if they could.
            let mut file = OpenOptions::new().append(true).create(true).open(dir.join("file")).unwrap();
            file.write_all(token.to_string().as_bytes()).unwrap();
            file.write_all(b"\n").unwrap();
        });
        match written {
            Ok(()) => println!("passed {token}"),
            Err(Refused::Late { .. }) => println!("late {token}"),
            Err(refused) => panic!("{refused}"),
        }
    }
}

fn tokens_in(file: &Path) -> Vec<u64> {
    let text = fs::read_to_string(file).unwrap();
    text.lines().map(|line| line.parse().unwrap_or_else(|_| panic!("two wrote at once: {line:?}"))).collect()
}

#[test]
fn two_processes_write_in_the_order_of_their_tokens() {
    let dir = tempfile::tempdir().unwrap();
    // Neither only rises: each comes late now and then, by itself and behind the other.
    let tokens = |step: u64| (0..300u64).map(move |n| n + (n * step) % 7);
    let writers = [Writer::start(dir.path(), tokens(3)), Writer::start(dir.path(), tokens(5))];
    let passed: usize = writers.into_iter().map(Writer::finish).sum();
    let written = tokens_in(&dir.path().join("file"));
    assert_eq!(written.len(), passed);
    assert!(written.is_sorted(), "an older one came after a newer one: {written:?}");
}

#[test]
fn a_killed_process_leaves_the_gate_whole() {
    let dir = tempfile::tempdir().unwrap();
    let gate = FenceGate::persistent(dir.path().join("gate")).unwrap();
    let file = dir.path().join("file");
    let mut newest = 0;
    for round in 0..8u64 {
        let first = newest + 1;
        let mut writer = Writer::start(dir.path(), first..first + 10_000);
        let wanted = 1 + round * 3;
        let passed = writer.lines.by_ref().map(Result::unwrap).filter(|line| line.starts_with("passed"));
        assert_eq!(passed.take(usize::try_from(wanted).unwrap()).count() as u64, wanted);
        drop(writer);
        // What may have been cut short is the last line; all before it were let through.
        let mut text = fs::read_to_string(&file).unwrap();
        text.truncate(text.rfind('\n').map_or(0, |end| end + 1));
        fs::write(&file, &text).unwrap();
        newest = *tokens_in(&file).last().unwrap();
        assert!(newest >= first + wanted - 1);
        assert!(matches!(gate.pass("file", newest - 1), Err(Refused::Late { .. })), "round {round}");
        // Whoever was killed between its token and its write was seen as well.
        newest += 1;
        gate.pass("file", newest).unwrap();
    }
    assert!(tokens_in(&file).is_sorted());
}
