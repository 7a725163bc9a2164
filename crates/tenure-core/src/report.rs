//! Log lines from threads that leases depend on.
//!
//! A log line runs the application's subscriber, which may block (a full pipe) or panic. On a thread that renews leases, that
//! would cost every lock of the client. Such a thread [keeps apart](keep_apart), and [`report`] hands its lines to a thread
//! that does nothing else.

use crate::origin::Origin;
use crate::per_process::PerProcess;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

/// While the subscriber is stuck, this many lines wait for it. Later ones are dropped, and counted.
const MOST: usize = 10_000;

type Line = Box<dyn FnOnce() + Send>;

/// What may run on a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Apart {
    /// Anything: it is the application's.
    No,
    /// Wakers of the application's, but not its log subscriber.
    Speaks,
    /// Nothing of the application's.
    Wholly,
}

thread_local! {
    static APART: Cell<Apart> = const { Cell::new(Apart::No) };
}

/// The calling thread is one that leases depend on: its log lines are written by another, and another wakes the application's
/// tasks.
pub fn keep_apart() {
    APART.set(Apart::Wholly);
}

/// The calling thread is one that wakes the application's tasks. Its log lines are written by another.
pub(crate) fn speak_apart() {
    APART.set(Apart::Speaks);
}

/// Whether the calling thread is a client's own or a store's.
pub(crate) fn is_apart() -> bool {
    APART.get() != Apart::No
}

/// Whether nobody may be woken here who runs code of the application's.
pub(crate) fn must_not_wake() -> bool {
    APART.get() == Apart::Wholly
}

/// Writes a log line: the closure calls a macro of `tracing`. On a thread that [keeps apart](keep_apart) it returns at once,
/// and the line is written soon after.
pub fn report(line: impl FnOnce() + Send + 'static) {
    if is_apart() { hand_over(Box::new(line)) } else { line() }
}

/// The way to the thread that writes.
struct Reporter {
    origin: Origin,
    lines: Sender<Line>,
    backlog: Arc<Backlog>,
}

#[derive(Default)]
struct Backlog {
    waiting: AtomicUsize,
    dropped: AtomicUsize,
}

fn hand_over(line: Line) {
    static REPORTER: PerProcess<Reporter> = PerProcess::new();
    let Some(mut reporter) = REPORTER.lock() else { return };
    // A fork leaves the thread behind: the child starts its own. The parent's is not dropped, for its thread may have been about to
    // receive when it was copied.
    if reporter.as_ref().is_none_or(|reporter| !reporter.origin.is_here()) {
        std::mem::forget(std::mem::replace(&mut *reporter, start()));
    }
    // Without a thread there is no line: to write it here is what must not happen.
    let Some(Reporter { lines, backlog, .. }) = &*reporter else { return };
    if backlog.waiting.fetch_add(1, Ordering::Relaxed) >= MOST || lines.send(line).is_err() {
        backlog.waiting.fetch_sub(1, Ordering::Relaxed);
        backlog.dropped.fetch_add(1, Ordering::Relaxed);
    }
}

fn start() -> Option<Reporter> {
    let (lines, waiting) = channel();
    let backlog = Arc::<Backlog>::default();
    let counted = Arc::clone(&backlog);
    let write = move || write(&waiting, &counted);
    std::thread::Builder::new().name("tenure-reporter".into()).spawn(write).ok()?;
    Some(Reporter { origin: Origin::here(), lines, backlog })
}

fn write(lines: &Receiver<Line>, backlog: &Backlog) {
    while let Ok(line) = lines.recv() {
        // A subscriber that panics has had its line, and gets the next.
        let _ = catch_unwind(AssertUnwindSafe(line));
        backlog.waiting.fetch_sub(1, Ordering::Relaxed);
        let dropped = backlog.dropped.swap(0, Ordering::Relaxed);
        if dropped > 0 {
            let _ = catch_unwind(|| tracing::warn!(dropped, "the log was too slow, and lines were dropped"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_thread_that_keeps_apart_does_not_wait_for_its_lines() {
        let (open, opened) = channel::<()>();
        let (written, lines) = channel();
        std::thread::spawn(move || {
            keep_apart();
            report(move || opened.recv_timeout(Duration::from_secs(60)).unwrap());
            report(|| panic!("this panic is part of the case"));
            report(move || written.send(std::thread::current().name().map(str::to_owned)).unwrap());
        })
        .join()
        .unwrap();
        assert!(lines.try_recv().is_err(), "the first line still hangs");
        open.send(()).unwrap();
        assert_eq!(lines.recv_timeout(Duration::from_secs(60)).unwrap().as_deref(), Some("tenure-reporter"));
    }

    #[test]
    fn elsewhere_a_line_is_written_in_place() {
        let mut written = Vec::new();
        let (sender, receiver) = channel();
        report(move || sender.send(std::thread::current().id()).unwrap());
        written.extend(receiver.try_recv());
        assert_eq!(written, [std::thread::current().id()]);
    }
}
