//! A bell that tasks wait for: tokio's `Notify`, but for who calls the wakers.
//!
//! A waker is code of the application's. `Notify` calls all of them one after the other, on the thread that rings: one that hangs
//! keeps those behind it waiting, and one that panics has tokio forget them. Here whoever rings gets the wakers, and has each
//! called by itself.

use std::collections::BTreeMap;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// A bell that tasks wait for.
#[derive(Debug, Default)]
pub(crate) struct Bell(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// How often it was rung.
    rung: u64,
    last: u64,
    /// Those who wait, in the order in which they came.
    waiting: BTreeMap<u64, Waker>,
}

impl Bell {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Until it is rung. It hears from now on, and not only once it is polled.
    pub(crate) fn rung(&self) -> Rung<'_> {
        Rung { bell: self, heard: self.lock().rung, number: None }
    }

    /// Rings. The wakers of those who wait are to be called, each by itself: they are the application's, and may hang or panic.
    #[must_use = "nobody is woken but by these"]
    pub(crate) fn ring(&self) -> Vec<Waker> {
        let mut state = self.lock();
        state.rung += 1;
        std::mem::take(&mut state.waiting).into_values().collect()
    }
}

/// Calls these here and now. One that panics keeps none of the others from being called.
pub(crate) fn wake_each(wakers: Vec<Waker>) {
    for waker in wakers {
        let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
    }
}

/// Until a bell is rung.
///
/// # Cancel safety
///
/// Dropping it has no effect on others.
pub(crate) struct Rung<'a> {
    bell: &'a Bell,
    /// How often it had been rung when this was made.
    heard: u64,
    /// Of our place among those who wait, if we have one.
    number: Option<u64>,
}

impl Future for Rung<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        // Made and dropped outside of the mutex: it is code of the application's.
        let waker = context.waker().clone();
        let mut state = self.bell.lock();
        if state.rung != self.heard {
            drop(state);
            return Poll::Ready(());
        }
        let number = self.number.unwrap_or_else(|| {
            state.last += 1;
            state.last
        });
        let before = state.waiting.insert(number, waker);
        drop(state);
        drop(before);
        self.number = Some(number);
        Poll::Pending
    }
}

impl Drop for Rung<'_> {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            let waker = self.bell.lock().waiting.remove(&number);
            drop(waker);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::task::Wake;

    #[derive(Default)]
    struct Counts(AtomicU32);

    impl Wake for Counts {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    struct Panics;

    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("this panic is part of the case");
        }
    }

    fn poll(future: Pin<&mut Rung<'_>>, waker: &Waker) -> bool {
        future.poll(&mut Context::from_waker(waker)).is_ready()
    }

    #[test]
    fn who_heard_it_before_the_first_poll_does_not_wait() {
        let bell = Bell::default();
        let (before, _) = (pin!(bell.rung()), bell.ring());
        assert!(poll(before, Waker::noop()));
        assert!(!poll(pin!(bell.rung()), Waker::noop()), "what was rung before is no news");
    }

    #[test]
    fn each_is_woken_once_by_its_latest_waker_and_those_who_left_are_not() {
        let bell = Bell::default();
        let counts: Vec<Arc<Counts>> = (0..3).map(|_| Arc::default()).collect();
        let wakers: Vec<Waker> = counts.iter().map(|counts| Waker::from(Arc::clone(counts))).collect();
        let (mut stays, mut leaves) = (pin!(bell.rung()), Box::pin(bell.rung()));
        assert!(!poll(stays.as_mut(), &wakers[0]) && !poll(stays.as_mut(), &wakers[1]));
        assert!(!poll(leaves.as_mut(), &wakers[2]));
        drop(leaves);
        wake_each(bell.ring());
        wake_each(bell.ring());
        assert!(poll(stays, Waker::noop()));
        assert_eq!(counts.iter().map(|counts| counts.0.load(Ordering::SeqCst)).collect::<Vec<_>>(), [0, 1, 0]);
    }

    #[test]
    fn a_waker_that_panics_keeps_those_behind_it_from_nothing() {
        let (bell, counts) = (Bell::default(), Arc::<Counts>::default());
        let (mut first, mut second) = (pin!(bell.rung()), pin!(bell.rung()));
        assert!(!poll(first.as_mut(), &Waker::from(Arc::new(Panics))));
        assert!(!poll(second.as_mut(), &Waker::from(Arc::clone(&counts))));
        wake_each(bell.ring());
        assert_eq!(counts.0.load(Ordering::SeqCst), 1);
    }
}
