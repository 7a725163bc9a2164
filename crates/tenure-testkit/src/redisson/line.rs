//! The line to the driver: commands go out with a number, and answers find those who wait for them.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// Both directions; used from any runtime, because it belongs to none.
pub(super) struct Line {
    commands: Mutex<ChildStdin>,
    callers: Mutex<Callers>,
}

#[derive(Default)]
struct Callers {
    last: u64,
    waiting: HashMap<u64, oneshot::Sender<String>>,
    /// No answer will come any more.
    hung_up: bool,
}

impl Line {
    pub(super) fn new(commands: ChildStdin) -> Self {
        Self { commands: Mutex::new(commands), callers: Mutex::default() }
    }

    /// Sends a command at once; its answer's text is still to come.
    ///
    /// # Panics
    ///
    /// The returned future panics if the driver ends before it answers.
    pub(super) fn send(&self, command: &str) -> impl Future<Output = String> + Send + use<> {
        assert!(!command.contains('\n'), "a command is one line: {command:?}");
        let (caller, answer) = oneshot::channel();
        let mut callers = lock(&self.callers);
        callers.last += 1;
        let id = callers.last;
        // Otherwise the caller is dropped here, as those were who waited when the line went dead.
        if !callers.hung_up {
            callers.waiting.insert(id, caller);
        }
        drop(callers);
        // If the driver is gone, whoever reads its answers finds out.
        let _ = writeln!(lock(&self.commands), "{id} {command}");
        let command = command.to_owned();
        async move { answer.await.unwrap_or_else(|_| panic!("the driver has ended and owes an answer to: {command}")) }
    }

    /// Hands answers to those who wait for them, until the driver has ended.
    pub(super) fn hand_out(&self, answers: BufReader<ChildStdout>) {
        for answer in answers.lines() {
            let Ok(answer) = answer else { break };
            let known = answer.split_once(' ').and_then(|(id, text)| {
                let caller = lock(&self.callers).waiting.remove(&id.parse().ok()?)?;
                Some((caller, text.to_owned()))
            });
            let Some((caller, text)) = known else {
                eprintln!("the driver answered what nobody asked: {answer}");
                break;
            };
            // One who was cancelled waits no longer.
            let _ = caller.send(text);
        }
        let mut callers = lock(&self.callers);
        callers.hung_up = true;
        callers.waiting.clear();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
