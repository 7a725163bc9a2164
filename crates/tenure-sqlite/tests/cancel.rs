//! The cancel sweep: acquire, wait, re-enter and release are dropped after every number of polls, and afterwards the
//! file holds what the surviving guards justify, no more and no less.

mod support;

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use support::{LEASE, PATIENCE, Place, eventually, ms, soon};
use tenure_core::{Client, Guard, Release, What};

/// When a future is dropped after its last poll.
#[derive(Debug, Clone, Copy)]
enum Dropped {
    /// Before anybody else runs: what it wanted done may never be begun.
    AtOnce,
    /// When what it wanted has been done, and it was not polled again to hear of it.
    Later,
}

/// So many polls, and then it is dropped.
#[derive(Clone, Copy)]
struct Cut {
    polls: usize,
    dropped: Dropped,
}

impl Cut {
    /// Polls a future so often, each time it asks for it, and drops it. What it came to, if it was done by then.
    async fn off<F: Future>(self, future: F) -> Option<F::Output> {
        let mut future = pin!(future);
        let mut left = self.polls;
        let output = poll_fn(|context| {
            if left == 0 {
                return Poll::Ready(None);
            }
            left -= 1;
            match future.as_mut().poll(context) {
                Poll::Ready(output) => Poll::Ready(Some(output)),
                Poll::Pending if left == 0 => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            }
        })
        .await;
        if output.is_none() && matches!(self.dropped, Dropped::Later) {
            tokio::time::sleep(ms(20)).await;
        }
        output
    }
}

/// Cuts something off later and later, until it says that it was done before.
async fn sweep(what: &str, mut is_done: impl AsyncFnMut(Cut) -> bool) {
    for dropped in [Dropped::AtOnce, Dropped::Later] {
        for polls in 0.. {
            eprintln!("{what}: {polls} polls, dropped {dropped:?}");
            if is_done(Cut { polls, dropped }).await {
                break;
            }
        }
    }
}

async fn gets_in(client: &Client) -> Guard {
    soon("it gets in", client.lock("k").unwrap().lock()).await.unwrap()
}

async fn releases(guard: Guard) {
    assert_eq!(guard.release().await.unwrap(), Release::Released);
}

/// The lock is free before its lease has ended, and each of these can have it.
async fn is_free_for(place: &Place, clients: &[&Client]) {
    eventually("the lock is free", LEASE / 2, || !place.is_held("k")).await;
    for client in clients {
        let guard = gets_in(client).await;
        assert_eq!(place.count_of(&guard), Some(1));
        releases(guard).await;
    }
}

/// Closes a client that was the last to hold anything.
async fn leaves_nothing(place: &Place, client: Client) {
    client.close(PATIENCE).await.unwrap();
    drop(client);
    eventually("nothing is left", PATIENCE, || place.litter().is_empty()).await;
}

#[tokio::test]
async fn an_acquire_cancelled_at_any_poll_leaves_nothing() {
    let place = Place::new();
    let other = place.client().await;
    for warm in [false, true] {
        sweep(if warm { "a warm acquire" } else { "a cold acquire" }, async |cut| {
            let client = Client::new(place.backend()).unwrap();
            let lock = client.lock("k").unwrap();
            if warm {
                releases(lock.lock().await.unwrap()).await;
            }
            if let Some(guard) = cut.off(lock.lock()).await {
                releases(guard.unwrap()).await;
                return true;
            }
            is_free_for(&place, &[&other, &client]).await;
            leaves_nothing(&place, client).await;
            false
        })
        .await;
    }
}

/// Here the cancelled one has waited, been called, or just been granted what the holder left.
#[tokio::test]
async fn a_wait_cancelled_at_any_poll_leaves_nothing() {
    let place = Place::new();
    let other = place.client().await;
    sweep("a wait", async |cut| {
        let client = place.client().await;
        let held = gets_in(&other).await;
        let mut events = client.events();
        let releasing = tokio::spawn(async move {
            let waits = async { while !matches!(events.next().await.unwrap().what, What::Waiting { .. }) {} };
            // The first polls do not get as far as to wait.
            let _ = tokio::time::timeout(ms(50), waits).await;
            releases(held).await;
        });
        let done = cut.off(client.lock("k").unwrap().lock()).await;
        soon("the holder leaves", releasing).await.unwrap();
        if let Some(guard) = done {
            releases(guard.unwrap()).await;
            return true;
        }
        is_free_for(&place, &[&client]).await;
        leaves_nothing(&place, client).await;
        false
    })
    .await;
}

#[tokio::test]
async fn a_re_entry_cancelled_at_any_poll_leaves_the_guard_as_it_was() {
    let place = Place::new();
    let client = place.client().await;
    sweep("a re-entry", async |cut| {
        let guard = gets_in(&client).await;
        let token = guard.token();
        let done = cut.off(guard.reenter()).await;
        let is_done = done.is_some();
        if let Some(again) = done {
            assert_eq!(place.count_of(&guard), Some(2));
            assert_eq!(again.unwrap().release().await.unwrap(), Release::StillHeld(1));
        }
        eventually("one guard is in", LEASE / 2, || place.count_of(&guard) == Some(1)).await;
        assert!(guard.is_held() && guard.token() == token);
        releases(guard).await;
        eventually("the lock is free", LEASE / 2, || !place.is_held("k")).await;
        is_done
    })
    .await;
    leaves_nothing(&place, client).await;
}

#[tokio::test]
async fn a_release_cancelled_at_any_poll_is_finished() {
    let place = Place::new();
    let (client, other) = (place.client().await, place.client().await);
    sweep("a release", async |cut| {
        let done = cut.off(gets_in(&client).await.release()).await;
        let is_done = done.is_some();
        assert!(done.is_none_or(|done| done.unwrap() == Release::Released));
        is_free_for(&place, &[&other]).await;
        is_done
    })
    .await;
    leaves_nothing(&place, client).await;
}

#[tokio::test]
async fn an_inner_release_cancelled_at_any_poll_is_finished() {
    let place = Place::new();
    let (client, other) = (place.client().await, place.client().await);
    sweep("an inner release", async |cut| {
        let guard = gets_in(&client).await;
        let again = guard.reenter().await.unwrap();
        let done = cut.off(again.release()).await;
        let is_done = done.is_some();
        assert!(done.is_none_or(|done| done.unwrap() == Release::StillHeld(1)));
        eventually("one guard is in", LEASE / 2, || place.count_of(&guard) == Some(1)).await;
        assert!(guard.is_held());
        releases(guard).await;
        is_free_for(&place, &[&other]).await;
        is_done
    })
    .await;
    leaves_nothing(&place, client).await;
}
