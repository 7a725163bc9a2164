//! The cancel sweep: acquire, wait, re-enter and release are dropped after every number of polls, and afterwards the
//! server holds what the surviving guards justify, no more and no less.

use crate::support::{PATIENCE, client_of, count_of, eventually, is_held, locked_rows, ms, soon};
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;
use tenure_core::{Client, Guard, Kind, Lock, Release, What};
use tenure_testkit::MariaDbServer;

/// Long before any lease has ended by itself.
const SOON: Duration = Duration::from_secs(5);

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

const KINDS: [Kind; 2] = [Kind::Reentrant, Kind::Fair];

fn lock(client: &Client, kind: Kind) -> Lock {
    client.lock_of(kind, "k").unwrap()
}

async fn gets_in(client: &Client, kind: Kind) -> Guard {
    soon("it gets in", lock(client, kind).lock()).await.unwrap()
}

async fn releases(guard: Guard) {
    assert_eq!(guard.release().await.unwrap(), Release::Released);
}

/// The lock is free before its lease has ended, and each of these can have it.
async fn is_free_for(server: &MariaDbServer, kind: Kind, clients: &[&Client]) {
    eventually("the lock is free", SOON, || !is_held(server, "k") && locked_rows(server) == 0).await;
    for client in clients {
        let guard = gets_in(client, kind).await;
        assert_eq!(count_of(server, &guard), Some(1));
        releases(guard).await;
    }
}

/// Closes a client that was the last to hold anything.
async fn leaves_nothing(server: &MariaDbServer, client: Client) {
    client.close(PATIENCE).await.unwrap();
    drop(client);
    eventually("nothing is left", PATIENCE, || !is_held(server, "k") && locked_rows(server) == 0).await;
}

#[tokio::test]
async fn an_acquire_cancelled_at_any_poll_leaves_nothing() {
    let server = MariaDbServer::start();
    let other = client_of(&server).await;
    for (kind, warm) in KINDS.into_iter().flat_map(|kind| [(kind, false), (kind, true)]) {
        sweep(if warm { "a warm acquire" } else { "a cold acquire" }, async |cut| {
            let client = Client::new(crate::support::backend(&server.url())).unwrap();
            if warm {
                releases(gets_in(&client, kind).await).await;
            }
            if let Some(guard) = cut.off(lock(&client, kind).lock()).await {
                releases(guard.unwrap()).await;
                return true;
            }
            is_free_for(&server, kind, &[&other, &client]).await;
            leaves_nothing(&server, client).await;
            false
        })
        .await;
    }
}

/// Here the cancelled one has waited, been called, or just been granted what the holder left.
#[tokio::test]
async fn a_wait_cancelled_at_any_poll_leaves_nothing() {
    let server = MariaDbServer::start();
    let other = client_of(&server).await;
    for kind in KINDS {
        sweep("a wait", async |cut| {
            let client = client_of(&server).await;
            let held = gets_in(&other, kind).await;
            let mut events = client.events();
            let releasing = tokio::spawn(async move {
                let waits = async { while !matches!(events.next().await.unwrap().what, What::Waiting { .. }) {} };
                // The first polls do not get as far as to wait.
                let _ = tokio::time::timeout(ms(50), waits).await;
                releases(held).await;
            });
            let done = cut.off(lock(&client, kind).lock()).await;
            soon("the holder leaves", releasing).await.unwrap();
            if let Some(guard) = done {
                releases(guard.unwrap()).await;
                return true;
            }
            is_free_for(&server, kind, &[&client]).await;
            leaves_nothing(&server, client).await;
            false
        })
        .await;
    }
}

/// One of the set is held for a while, so that the cancelled one asks for all, takes some, waits, and takes the rest.
#[tokio::test]
async fn a_set_cancelled_at_any_poll_leaves_nothing() {
    let server = MariaDbServer::start();
    let other = client_of(&server).await;
    for busy in [false, true] {
        sweep(if busy { "a set that is not free" } else { "a set" }, async |cut| {
            let client = client_of(&server).await;
            let (mut events, set) = (client.events(), client.multi(["j", "k", "l"]).unwrap());
            let releasing = if busy {
                let held = gets_in(&other, Kind::Reentrant).await;
                Some(tokio::spawn(async move {
                    let waits = async { while !matches!(events.next().await.unwrap().what, What::Waiting { .. }) {} };
                    // The first polls do not get as far as to wait.
                    let _ = tokio::time::timeout(ms(50), waits).await;
                    releases(held).await;
                }))
            } else {
                None
            };
            let done = cut.off(set.lock()).await;
            if let Some(releasing) = releasing {
                soon("the holder leaves", releasing).await.unwrap();
            }
            if let Some(guard) = done {
                assert_eq!(guard.unwrap().release().await.unwrap(), Release::Released);
                return true;
            }
            let free = || ["j", "k", "l"].iter().all(|key| !is_held(&server, key)) && locked_rows(&server) == 0;
            eventually("all are free", SOON, free).await;
            leaves_nothing(&server, client).await;
            false
        })
        .await;
    }
}

#[tokio::test]
async fn a_re_entry_cancelled_at_any_poll_leaves_the_guard_as_it_was() {
    let server = MariaDbServer::start();
    let client = client_of(&server).await;
    for kind in KINDS {
        sweep("a re-entry", async |cut| {
            let guard = gets_in(&client, kind).await;
            let token = guard.token();
            let done = cut.off(guard.reenter()).await;
            let is_done = done.is_some();
            if let Some(again) = done {
                assert_eq!(count_of(&server, &guard), Some(2));
                assert_eq!(again.unwrap().release().await.unwrap(), Release::StillHeld(1));
            }
            eventually("one guard is in", SOON, || count_of(&server, &guard) == Some(1)).await;
            assert!(guard.is_held() && guard.token() == token);
            releases(guard).await;
            eventually("the lock is free", SOON, || !is_held(&server, "k") && locked_rows(&server) == 0).await;
            is_done
        })
        .await;
    }
    leaves_nothing(&server, client).await;
}

#[tokio::test]
async fn a_release_cancelled_at_any_poll_is_finished() {
    let server = MariaDbServer::start();
    let (client, other) = (client_of(&server).await, client_of(&server).await);
    for kind in KINDS {
        sweep("a release", async |cut| {
            let done = cut.off(gets_in(&client, kind).await.release()).await;
            let is_done = done.is_some();
            assert!(done.is_none_or(|done| done.unwrap() == Release::Released));
            is_free_for(&server, kind, &[&other]).await;
            is_done
        })
        .await;
    }
    leaves_nothing(&server, client).await;
}

#[tokio::test]
async fn an_inner_release_cancelled_at_any_poll_is_finished() {
    let server = MariaDbServer::start();
    let (client, other) = (client_of(&server).await, client_of(&server).await);
    sweep("an inner release", async |cut| {
        let guard = gets_in(&client, Kind::Reentrant).await;
        let again = guard.reenter().await.unwrap();
        let done = cut.off(again.release()).await;
        let is_done = done.is_some();
        assert!(done.is_none_or(|done| done.unwrap() == Release::StillHeld(1)));
        eventually("one guard is in", SOON, || count_of(&server, &guard) == Some(1)).await;
        assert!(guard.is_held());
        releases(guard).await;
        is_free_for(&server, Kind::Reentrant, &[&other]).await;
        is_done
    })
    .await;
    leaves_nothing(&server, client).await;
}
