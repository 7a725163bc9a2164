//! The local queue: of all tasks of one client that want one key, one at a time speaks to the store.

use crate::Moment;
use crate::wakeups::Watch;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tenure_kernel::{Holder, Key, Kind};
use tokio::sync::oneshot;

/// A lock: a key that is asked for as another kind is answered at once, not after those who wait.
pub(crate) type Name = (Kind, Key);

/// First come, first served, per lock.
#[derive(Default)]
pub(crate) struct Queue(Mutex<HashMap<Name, Line>>);

/// Those who wait for one lock, by the number of their ticket.
#[derive(Default)]
struct Line {
    last: u64,
    waiting: BTreeMap<u64, oneshot::Sender<Turn>>,
}

/// A place in line. Dropping it leaves the line, with nothing left behind however many do.
pub(crate) struct Ticket {
    queue: Arc<Queue>,
    name: Name,
    number: u64,
    called: oneshot::Receiver<Turn>,
}

impl Ticket {
    /// Waits for the turn.
    pub(crate) async fn called(&mut self) -> Option<Turn> {
        // The sender is dropped only with the turn inside, so a call always comes.
        (&mut self.called).await.ok()
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let call = self.queue.lock().get_mut(&self.name).and_then(|line| line.waiting.remove(&self.number));
        // Outside of the mutex, because it may wake somebody.
        drop(call);
    }
}

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
        self.line
            .as_ref()
            .is_some_and(|(queue, name)| queue.lock().get(name).is_some_and(|line| !line.waiting.is_empty()))
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, HashMap<Name, Line>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A turn at once if nobody is before us, otherwise the place in line where it will be called.
    pub(crate) fn enter(self: &Arc<Self>, kind: Kind, key: &Key) -> Result<Turn, Ticket> {
        match self.lock().entry((kind, key.clone())) {
            Entry::Occupied(mut line) => {
                let (name, line) = (line.key().clone(), line.get_mut());
                let (call, called) = oneshot::channel();
                line.last += 1;
                line.waiting.insert(line.last, call);
                Err(Ticket { queue: Arc::clone(self), name, number: line.last, called })
            }
            Entry::Vacant(place) => {
                let name = place.key().clone();
                place.insert(Line::default());
                Ok(Turn { line: Some((Arc::clone(self), name)), watch: None, word: None })
            }
        }
    }

    /// Whether anybody has the turn, or waits for it.
    pub(crate) fn is_in_use(&self, kind: Kind, key: &Key) -> bool {
        self.lock().contains_key(&(kind, key.clone()))
    }

    /// The next in line, or nobody and the line is closed.
    fn next(&self, name: &Name) -> Option<oneshot::Sender<Turn>> {
        let mut lines = self.lock();
        let Entry::Occupied(mut line) = lines.entry(name.clone()) else { return None };
        let next = line.get_mut().waiting.pop_first();
        if next.is_none() {
            line.remove();
        }
        next.map(|(_, call)| call)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let Some((queue, name)) = self.line.take() else { return };
        let (mut watch, mut word) = (self.watch.take(), self.word.take());
        while let Some(call) = queue.next(&name) {
            let line = Some((Arc::clone(&queue), name.clone()));
            let turn = Turn { line, watch: watch.take(), word: word.take() };
            // A waiter that is cancelled at this moment gives the turn back, and the one behind it is called. One that is
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
        let mut second = queue.enter(Kind::Simple, &key()).err().unwrap();
        let mut third = queue.enter(Kind::Simple, &key()).err().unwrap();
        drop(left);
        drop(first);
        let second = second.called().await.unwrap();
        assert!(third.called.try_recv().is_err(), "the third was called beside the second");
        drop(second);
        drop(third.called().await.unwrap());
        assert!(queue.enter(Kind::Simple, &key()).is_ok());
    }

    #[tokio::test]
    async fn a_turn_that_was_called_but_not_taken_is_passed_on() {
        let queue = Arc::new(Queue::default());
        let first = queue.enter(Kind::Simple, &key()).ok().unwrap();
        let second = queue.enter(Kind::Simple, &key()).err().unwrap();
        let mut third = queue.enter(Kind::Simple, &key()).err().unwrap();
        drop(first);
        drop(second);
        drop(third.called().await.unwrap());
        assert!(queue.0.lock().unwrap().is_empty());
    }
    #[tokio::test]
    async fn those_who_left_leave_nothing_behind() {
        let queue = Arc::new(Queue::default());
        let first = queue.enter(Kind::Simple, &key()).ok().unwrap();
        let mut patient = queue.enter(Kind::Simple, &key()).err().unwrap();
        for _ in 0..10_000 {
            drop(queue.enter(Kind::Simple, &key()).err().unwrap());
        }
        assert_eq!(queue.lock()[&(Kind::Simple, key())].waiting.len(), 1, "they wait on");
        drop(first);
        let turn = patient.called().await.unwrap();
        assert!(!turn.is_wanted());
    }
}
