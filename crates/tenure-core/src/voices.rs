//! The client's threads that call wakers of the application's. They do nothing else, so that one that hangs holds up nothing: when
//! the thread that called it does not come back, another takes over.

use crate::report::{keep_apart, speak_apart};
use std::collections::VecDeque;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// So many threads a client has for this at the most, should their wakers hang.
const MOST: usize = 16;
/// So many of them may hang in what nobody must act upon. The others are for losses.
const MOST_FOR_NEWS: usize = MOST / 2;
/// When no thread has taken a word for so long, they hang. Losses are due some milliseconds before the lease is over; this is to
/// be less.
const STUCK: Duration = Duration::from_millis(3);

/// What is to be called.
pub(crate) enum Word {
    Wake(Waker),
    Cancel(CancellationToken),
    /// For those who close the client.
    Ring(Arc<Notify>),
}

/// How much depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum About {
    /// Somebody must act upon it in time.
    Loss,
    /// Whoever waits for it also looks by itself, or acts upon nothing.
    News,
}

/// What is to be said, and the threads that say it. The first starts when there is something to say; one that has nothing to do
/// stays.
#[derive(Default)]
pub(crate) struct Voices {
    state: Mutex<State>,
    /// Rung for threads that are idle.
    changed: Condvar,
    /// Rung when there is more to say than threads that are idle: they may hang.
    late: Notify,
}

#[derive(Default)]
struct State {
    losses: VecDeque<Word>,
    news: VecDeque<Word>,
    threads: usize,
    idle: usize,
    /// How many of them speak of news.
    with_news: usize,
    /// Rises with every word that a thread takes.
    taken: u64,
    /// Threads that have nothing more to do end.
    ended: bool,
}

impl State {
    /// Whether a thread more would have something to do.
    fn is_wanted(&self) -> bool {
        self.idle == 0 && self.threads < MOST && (!self.losses.is_empty() || self.may_take_news())
    }

    fn may_take_news(&self) -> bool {
        !self.news.is_empty() && self.with_news < MOST_FOR_NEWS
    }

    /// Losses first.
    fn take(&mut self) -> Option<(About, Word)> {
        let word = match self.losses.pop_front() {
            Some(word) => (About::Loss, word),
            None if self.may_take_news() => (About::News, self.news.pop_front()?),
            None => return None,
        };
        self.taken += 1;
        self.with_news += usize::from(word.0 == About::News);
        Some(word)
    }
}

impl Voices {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has this said. Returns at once, and runs nothing of the application's.
    pub(crate) fn say(self: &Arc<Self>, about: About, words: impl IntoIterator<Item = Word>) {
        let mut words = words.into_iter().peekable();
        if words.peek().is_none() {
            return;
        }
        let mut state = self.lock();
        match about {
            About::Loss => state.losses.extend(words),
            About::News => state.news.extend(words),
        }
        if state.ended {
            // Nobody looks after the threads any more.
            self.start_if_wanted(&mut state);
            return;
        }
        let idle = state.idle > 0;
        drop(state);
        if idle { self.changed.notify_one() } else { self.late.notify_one() }
    }

    /// Wakes these.
    pub(crate) fn wake(self: &Arc<Self>, about: About, wakers: Vec<Waker>) {
        self.say(about, wakers.into_iter().map(Word::Wake));
    }

    /// Starts the first thread, and another whenever those there are hang, until dropped. Then they end when all is said.
    pub(crate) fn look_after(self: &Arc<Self>) -> impl Future<Output = ()> + Send + use<> {
        // Made here, and not when it is first polled, which may never be.
        let ends = Ends(Arc::clone(self));
        async move {
            let voices = &ends.0;
            loop {
                voices.late.notified().await;
                while let Some(taken) = voices.start_first() {
                    tokio::time::sleep(STUCK).await;
                    let mut state = voices.lock();
                    // While words are taken, there is no need of a thread more.
                    if state.taken == taken {
                        voices.start_if_wanted(&mut state);
                    }
                }
            }
        }
    }

    /// Starts a thread if there is none. If one more may be wanted, says how many words have been taken until now.
    fn start_first(self: &Arc<Self>) -> Option<u64> {
        let mut state = self.lock();
        if state.threads == 0 {
            self.start_if_wanted(&mut state);
        }
        state.is_wanted().then_some(state.taken)
    }

    fn start_if_wanted(self: &Arc<Self>, state: &mut State) {
        if state.is_wanted() {
            let voices = Arc::clone(self);
            let speak = move || voices.speak();
            // Without a thread it is tried again, by whoever looks after them.
            state.threads += usize::from(std::thread::Builder::new().name("tenure-voice".into()).spawn(speak).is_ok());
        }
    }

    /// The thread.
    fn speak(&self) {
        keep_apart();
        speak_apart();
        let mut said = None;
        while let Some((about, word)) = self.next(said) {
            // A waker that panics keeps nobody else from being told.
            let _ = catch_unwind(AssertUnwindSafe(|| match word {
                Word::Wake(waker) => waker.wake(),
                Word::Cancel(token) => token.cancel(),
                Word::Ring(bell) => bell.notify_waiters(),
            }));
            said = Some(about);
        }
    }

    /// The next word; none if the thread is to end.
    fn next(&self, said: Option<About>) -> Option<(About, Word)> {
        let mut state = self.lock();
        state.with_news -= usize::from(said == Some(About::News));
        loop {
            if let Some(word) = state.take() {
                // Nobody else hears of those behind it, should this one hang.
                if state.is_wanted() {
                    self.late.notify_one();
                }
                return Some(word);
            }
            // One that is idle is enough: others were wanted while it hung.
            if state.ended || state.idle > 0 {
                state.threads -= 1;
                return None;
            }
            state.idle += 1;
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
    }
}

/// Nobody looks after the threads any more.
struct Ends(Arc<Voices>);

impl Drop for Ends {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.ended = true;
        self.0.start_if_wanted(&mut state);
        drop(state);
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::task::Wake;

    /// However busy the machine is.
    const SOON: Duration = Duration::from_secs(20);

    /// Says that it was called, and hangs until the sender of what it waits for is gone.
    struct Hangs(Mutex<Option<Receiver<()>>>, Sender<()>);

    impl Wake for Hangs {
        fn wake(self: Arc<Self>) {
            self.1.send(()).unwrap();
            let until = self.0.lock().unwrap().take();
            let _ = until.map(|until| until.recv_timeout(SOON * 6));
        }
    }

    struct Tells(Sender<()>);

    impl Wake for Tells {
        fn wake(self: Arc<Self>) {
            self.0.send(()).unwrap();
        }
    }

    #[test]
    fn however_many_hang_there_are_so_many_threads_and_losses_are_told() {
        let voices = Arc::<Voices>::default();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        runtime.spawn(voices.look_after());
        let (hang, hung) = channel();
        let mut opens = Vec::new();
        let mut hanging = || {
            let (open, opened) = channel();
            opens.push(open);
            Waker::from(Arc::new(Hangs(Mutex::new(Some(opened)), hang.clone())))
        };
        voices.wake(About::News, (0..MOST * 2).map(|_| hanging()).collect());
        for _ in 0..MOST_FOR_NEWS {
            hung.recv_timeout(SOON).expect("as many hang as may");
        }
        // News may not have all of the threads, and this is told past those who hang.
        let (tell, told) = channel();
        voices.wake(About::Loss, vec![Waker::from(Arc::new(Tells(tell.clone())))]);
        told.recv_timeout(SOON).expect("the loss is told");
        assert!(hung.try_recv().is_err(), "news has more threads than it may");
        // However many hang, there are no more threads; and all is said when they come back.
        voices.wake(About::Loss, (0..MOST).map(|_| hanging()).collect());
        for _ in MOST_FOR_NEWS..MOST {
            hung.recv_timeout(SOON).expect("as many hang as may");
        }
        assert_eq!(voices.lock().threads, MOST);
        voices.wake(About::News, vec![Waker::from(Arc::new(Tells(tell)))]);
        drop(opens);
        told.recv_timeout(SOON).expect("the last is told");
        // Dropped, the runtime drops the task as well, and the last thread goes.
        drop(runtime);
        let began = std::time::Instant::now();
        while voices.lock().threads > 0 {
            assert!(began.elapsed() < SOON, "threads stay");
            std::thread::yield_now();
        }
    }

    #[test]
    fn what_is_said_when_nobody_looks_after_the_threads_is_said_all_the_same() {
        let voices = Arc::<Voices>::default();
        drop(voices.look_after());
        let (tell, told) = channel();
        voices.wake(About::News, vec![Waker::from(Arc::new(Tells(tell)))]);
        told.recv_timeout(SOON).expect("it is told");
    }
}
