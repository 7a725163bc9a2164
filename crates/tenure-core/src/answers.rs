//! Answers of stores that have a thread of their own.
//!
//! Whoever answers a task wakes it, and runs a waker of the application's with that, which may block or panic. A thread that
//! leases depend on leaves it to another, which does nothing else. What such threads ask each other they answer themselves.

use crate::report::is_apart;
use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

type Word = Box<dyn FnOnce() + Send>;

/// Where a store's answers go out. Its thread is started by the first answer that needs it, and ends with this.
pub struct Answers(Arc<Outbox>);

/// What one caller waits for. One that is dropped is an answer too: that none will come.
pub struct Answer<T: Send + 'static> {
    sender: Option<oneshot::Sender<T>>,
    /// Nothing, if the caller is a thread of ours, which has no waker of the application's.
    outbox: Option<Arc<Outbox>>,
}

#[derive(Default)]
struct Outbox {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    words: VecDeque<Word>,
    /// Until when a lease may depend on the threads that answer.
    held_until: Option<Instant>,
    runs: bool,
    ended: bool,
}

impl Answers {
    /// Where a new store's answers go out.
    pub fn new() -> Self {
        Self(Arc::default())
    }

    /// An answer to the calling thread, and what it comes as: nothing, if there will be none.
    pub fn expect<T: Send + 'static>(&self) -> (Answer<T>, impl Future<Output = Option<T>> + Send + use<T>) {
        let (sender, receiver) = oneshot::channel();
        let outbox = if is_apart() { None } else { Some(Arc::clone(&self.0)) };
        (Answer { sender: Some(sender), outbox }, async { receiver.await.ok() })
    }

    /// To be called when a lease begins or is renewed, before that is answered. While nothing is held, the thread that has an
    /// answer gives it itself, which saves a waiter that does nothing half of its wake-ups.
    pub fn holds_for(&self, lease: Duration) {
        let mut state = self.0.lock();
        state.held_until = state.held_until.max(Some(Instant::now() + lease));
    }
}

impl<T: Send + 'static> Answer<T> {
    /// Answers.
    pub fn tell(mut self, answer: T) {
        if let Some(sender) = self.sender.take() {
            self.leave(move || drop(sender.send(answer)));
        }
    }

    fn leave(&self, word: impl FnOnce() + Send + 'static) {
        match &self.outbox {
            Some(outbox) => outbox.leave(word),
            None => say(word),
        }
    }
}

impl<T: Send + 'static> Drop for Answer<T> {
    fn drop(&mut self) {
        if let Some(sender) = self.sender.take() {
            self.leave(move || drop(sender));
        }
    }
}

impl Outbox {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has this said by the thread that does nothing else, or here, if no lease depends on the calling thread.
    fn leave(self: &Arc<Self>, word: impl FnOnce() + Send + 'static) {
        let mut state = self.lock();
        let is_needed = !state.ended && state.held_until.is_some_and(|until| Instant::now() < until);
        if is_needed && !state.runs {
            let outbox = Arc::clone(self);
            // Without a thread, callers are answered all the same.
            state.runs = std::thread::Builder::new().name("tenure-answers".into()).spawn(move || outbox.work()).is_ok();
        }
        if is_needed && state.runs {
            state.words.push_back(Box::new(word));
            drop(state);
            self.changed.notify_one();
        } else {
            drop(state);
            say(word);
        }
    }

    /// The thread.
    fn work(&self) {
        while let Some(word) = self.next() {
            say(word);
        }
    }

    fn next(&self) -> Option<Word> {
        let mut state = self.lock();
        loop {
            if let Some(word) = state.words.pop_front() {
                return Some(word);
            }
            if state.ended {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A waker that panics keeps nobody else from being answered.
fn say(word: impl FnOnce()) {
    let _ = catch_unwind(AssertUnwindSafe(word));
}

impl Default for Answers {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        self.0.lock().ended = true;
        self.0.changed.notify_one();
    }
}

impl fmt::Debug for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answers").finish_non_exhaustive()
    }
}

impl<T: Send + 'static> fmt::Debug for Answer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer").finish_non_exhaustive()
    }
}
