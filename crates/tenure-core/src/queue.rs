//! The local queue: of all tasks of one client that want one key, one at a time speaks to the store.

use crate::Moment;
use crate::wakeups::Watch;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use tenure_kernel::{Holder, Key, Kind};
use tokio::sync::oneshot;

/// A lock: a key that is asked for as another kind is answered at once, not after those who wait.
pub(crate) type Name = (Kind, Key);

/// First come, first served, per lock.
#[derive(Default)]
pub(crate) struct Queue(Mutex<HashMap<Name, VecDeque<oneshot::Sender<Turn>>>>);

/// The right to speak to the store about a key. Dropping it calls the next in line.
pub(crate) struct Turn {
    line: Option<(Arc<Queue>, Name)>,
    /// The ear on the key is handed on with the turn, so that a queue subscribes once, not once per waiter.
    pub(crate) watch: Option<Watch>,
    /// What the last to have the turn left for the next; boxed, as it is rare and turns are moved about.
    pub(crate) word: Option<Box<Word>>,
}

/// The last to have the turn got the lock, and the store knows that the next waits: it need not ask to be told so.
pub(crate) struct Word {
    /// What had been heard when the lock was asked for.
    pub(crate) heard: u64,
    /// Who holds it, and since when we know.
    pub(crate) holder: (Holder, Moment),
}

impl Turn {
    /// Whether anybody stands behind.
    pub(crate) fn is_wanted(&self) -> bool {
        self.line.as_ref().is_some_and(|(queue, name)| {
            let lines = queue.0.lock().unwrap_or_else(PoisonError::into_inner);
            lines.get(name).is_some_and(|line| !line.is_empty())
        })
    }
}

impl Queue {
    /// A turn at once if nobody is before us, otherwise the place in line where it will be called.
    pub(crate) fn enter(self: &Arc<Self>, kind: Kind, key: &Key) -> Result<Turn, oneshot::Receiver<Turn>> {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match lines.entry((kind, key.clone())) {
            Entry::Occupied(mut line) => {
                let (call, called) = oneshot::channel();
                line.get_mut().push_back(call);
                Err(called)
            }
            Entry::Vacant(place) => {
                let name = place.key().clone();
                place.insert(VecDeque::new());
                Ok(Turn { line: Some((Arc::clone(self), name)), watch: None, word: None })
            }
        }
    }

    /// Whether anybody has the turn, or waits for it.
    pub(crate) fn is_in_use(&self, kind: Kind, key: &Key) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains_key(&(kind, key.clone()))
    }

    /// The next in line, or nobody and the line is closed.
    fn next(&self, name: &Name) -> Option<oneshot::Sender<Turn>> {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Entry::Occupied(mut line) = lines.entry(name.clone()) else { return None };
        let next = line.get_mut().pop_front();
        if next.is_none() {
            line.remove();
        }
        next
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let Some((queue, name)) = self.line.take() else { return };
        let (mut watch, mut word) = (self.watch.take(), self.word.take());
        while let Some(call) = queue.next(&name) {
            let line = Some((Arc::clone(&queue), name.clone()));
            let turn = Turn { line, watch: watch.take(), word: word.take() };
            // A waiter that was cancelled meanwhile gives the turn back, and the one behind it is called. One that is
            // cancelled after it was called drops the turn, which comes back here.
            match call.send(turn) {
                Ok(()) => return,
                Err(mut refused) => {
                    refused.line = None;
                    (watch, word) = (refused.watch.take(), refused.word.take());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> Key {
        Key::new("k").unwrap()
    }

    #[tokio::test]
    async fn turns_come_in_order_and_skip_those_who_left() {
        let queue = Arc::new(Queue::default());
        let first = queue.enter(Kind::Simple, &key()).ok().unwrap();
        let left = queue.enter(Kind::Simple, &key()).err().unwrap();
        let second = queue.enter(Kind::Simple, &key()).err().unwrap();
        let third = queue.enter(Kind::Simple, &key()).err().unwrap();
        drop(left);
        drop(first);
        let second = second.await.unwrap();
        let mut third = third;
        assert!(third.try_recv().is_err(), "the third was called beside the second");
        drop(second);
        drop(third.await.unwrap());
        assert!(queue.enter(Kind::Simple, &key()).is_ok());
    }

    #[tokio::test]
    async fn a_turn_that_was_called_but_not_taken_is_passed_on() {
        let queue = Arc::new(Queue::default());
        let first = queue.enter(Kind::Simple, &key()).ok().unwrap();
        let second = queue.enter(Kind::Simple, &key()).err().unwrap();
        let third = queue.enter(Kind::Simple, &key()).err().unwrap();
        drop(first);
        drop(second);
        drop(third.await.unwrap());
        assert!(queue.0.lock().unwrap().is_empty());
    }
}
