//! Answers of stores that have a thread of their own.
//!
//! Whoever answers a task wakes it, and runs a waker of the application's with that, which may block or panic. A thread that
//! leases depend on leaves it to another, which does nothing else. What such threads ask each other they answer themselves.

use crate::report::is_apart;
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use tokio::sync::oneshot;

type Word = Box<dyn FnOnce() + Send>;

/// The way to the thread that answers a store's callers. It is started by the first of them, and ends with this.
#[derive(Default)]
pub struct Answers(Mutex<Option<Sender<Word>>>);

/// What one caller waits for. One that is dropped is an answer too: that none will come.
pub struct Answer<T: Send + 'static> {
    sender: Option<oneshot::Sender<T>>,
    /// Who tells it; nobody else, if the caller is a thread of ours.
    teller: Option<Sender<Word>>,
}

impl Answers {
    /// An answer to the calling thread, and what it comes as: nothing, if there will be none.
    pub fn expect<T: Send + 'static>(&self) -> (Answer<T>, impl Future<Output = Option<T>> + Send + use<T>) {
        let (sender, receiver) = oneshot::channel();
        let teller = if is_apart() { None } else { self.teller() };
        (Answer { sender: Some(sender), teller }, async { receiver.await.ok() })
    }

    fn teller(&self) -> Option<Sender<Word>> {
        let mut teller = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if teller.is_none() {
            let (sender, words) = channel();
            let tell = move || tell(&words);
            // Without a thread, callers are answered all the same.
            *teller = std::thread::Builder::new().name("tenure-answers".into()).spawn(tell).ok().map(|_| sender);
        }
        teller.clone()
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
        match &self.teller {
            // It lives for as long as there is somebody to send.
            Some(teller) => drop(teller.send(Box::new(word))),
            None => word(),
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

fn tell(words: &Receiver<Word>) {
    while let Ok(word) = words.recv() {
        // A waker that panics keeps nobody else from being answered.
        let _ = catch_unwind(AssertUnwindSafe(word));
    }
}
