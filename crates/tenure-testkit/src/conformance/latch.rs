//! What is waited for until it was counted down.

use super::bench::{Bench, millis};
use super::case::cases;
use super::waiting::{eventually, soon, waits, within};
use futures_util::future::join_all;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tenure_core::{Client, ErrorKind, Kind, Latch, WaitEnd, What};

cases!("latch":
    it_opens_when_it_was_counted_down,
    all_who_wait_go_on_when_it_opens,
    nobody_goes_on_before_all_have_counted,
    nobody_waits_for_a_latch_that_is_not_there,
    one_that_is_deleted_is_open_to_those_who_wait,
    one_that_is_shut_is_not_set_again_by_chance,
    those_who_wait_go_on_waiting_when_it_is_set,
    one_that_was_open_in_between_was_open,
    an_id_counts_once,
    it_is_not_counted_below_zero,
    a_wait_may_be_bounded,
    every_wait_is_heard_of,
    nobody_hangs_when_nothing_is_heard,
    a_wait_ends_when_the_client_is_closed,
    one_who_gives_up_lets_the_others_look,
    kinds_do_not_mix,
    what_makes_no_sense_is_refused,
);

/// A look by oneself, and then some.
const BY_ITSELF: Duration = Duration::from_millis(1000 + 1500);

fn latch(bench: &Bench, client: &Client) -> Latch {
    client.latch(&bench.key("a")).unwrap()
}

/// Lets a client wait; it has looked when this returns.
async fn wait_for(latch: &Latch) -> tokio::task::JoinHandle<Result<(), tenure_core::Error>> {
    let mut waiting = Box::pin({
        let latch = latch.clone();
        async move { latch.wait().await }
    });
    for _ in 0..3 {
        assert!(waits(&mut waiting).await);
        tokio::task::yield_now().await;
    }
    tokio::spawn(waiting)
}

async fn it_opens_when_it_was_counted_down(bench: &Bench) {
    let latch = latch(bench, &bench.client().await);
    assert!(latch.try_set(3).await.unwrap());
    assert_eq!((latch.count().await.unwrap(), latch.down().await.unwrap()), (3, 2));
    let waiting = wait_for(&latch).await;
    assert_eq!(latch.down().await.unwrap(), 1);
    assert!(!waiting.is_finished());
    assert_eq!(latch.down().await.unwrap(), 0);
    soon("it is open", waiting).await.unwrap().unwrap();
    assert_eq!(latch.count().await.unwrap(), 0);
    eventually("nothing is left", async || bench.keys_left().await.is_empty()).await;
}

async fn all_who_wait_go_on_when_it_opens(bench: &Bench) {
    let clients = bench.clients(3).await;
    let first = latch(bench, &clients[0]);
    first.try_set(1).await.unwrap();
    let mut waiters = Vec::new();
    for number in 0..15 {
        waiters.push(wait_for(&latch(bench, &clients[number % clients.len()])).await);
    }
    first.down().await.unwrap();
    for waiter in soon("all go on", join_all(waiters)).await {
        waiter.unwrap().unwrap();
    }
}

/// As many count as wait, all at once.
async fn nobody_goes_on_before_all_have_counted(bench: &Bench) {
    const TASKS: usize = 12;
    let (clients, counted) = (bench.clients(2).await, Arc::new(AtomicUsize::new(0)));
    assert!(latch(bench, &clients[0]).try_set(u32::try_from(TASKS).unwrap()).await.unwrap());
    let waiters = (0..TASKS).map(|number| {
        let (latch, counted) = (latch(bench, &clients[number % 2]), Arc::clone(&counted));
        tokio::spawn(async move {
            if number % 4 < 2 {
                latch.wait().await.unwrap();
            } else {
                latch.wait_timeout(Duration::from_secs(60)).await.unwrap();
            }
            assert_eq!((counted.load(Ordering::SeqCst), latch.count().await.unwrap()), (TASKS, 0));
        })
    });
    let counters = (0..TASKS).map(|number| {
        let (latch, counted) = (latch(bench, &clients[number % 2]), Arc::clone(&counted));
        tokio::spawn(async move {
            counted.fetch_add(1, Ordering::SeqCst);
            latch.down().await.unwrap();
        })
    });
    let tasks: Vec<_> = waiters.chain(counters).collect();
    for task in soon("all go on", join_all(tasks)).await {
        task.unwrap();
    }
}

async fn nobody_waits_for_a_latch_that_is_not_there(bench: &Bench) {
    let latch = latch(bench, &bench.client().await);
    assert_eq!(latch.count().await.unwrap(), 0);
    soon("it is open", latch.wait()).await.unwrap();
    assert_eq!(latch.down().await.unwrap(), 0);
    soon("it is open", latch.wait_timeout(millis(100))).await.unwrap();
    eventually("nothing is left", async || bench.keys_left().await.is_empty()).await;
}

async fn one_that_is_deleted_is_open_to_those_who_wait(bench: &Bench) {
    let (latch, other) = (latch(bench, &bench.client().await), latch(bench, &bench.client().await));
    latch.try_set(5).await.unwrap();
    let waiting = wait_for(&other).await;
    assert!(latch.delete().await.unwrap());
    soon("it is open", waiting).await.unwrap().unwrap();
    assert!(!latch.delete().await.unwrap());
    eventually("nothing is left", async || bench.keys_left().await.is_empty()).await;
}

async fn one_that_is_shut_is_not_set_again_by_chance(bench: &Bench) {
    let latch = latch(bench, &bench.client().await);
    assert!(latch.try_set(2).await.unwrap());
    assert!(!latch.try_set(7).await.unwrap());
    assert_eq!(latch.count().await.unwrap(), 2);
    latch.down().await.unwrap();
    latch.down().await.unwrap();
    assert!(latch.try_set(7).await.unwrap());
    assert_eq!(latch.count().await.unwrap(), 7);
}

async fn those_who_wait_go_on_waiting_when_it_is_set(bench: &Bench) {
    let (latch, other) = (latch(bench, &bench.client().await), latch(bench, &bench.client().await));
    latch.try_set(1).await.unwrap();
    let waiting = wait_for(&other).await;
    latch.set(2).await.unwrap();
    latch.down().await.unwrap();
    assert!(!waiting.is_finished());
    latch.down().await.unwrap();
    soon("it is open", waiting).await.unwrap().unwrap();
}

/// It hears nothing, and finds the latch shut whenever it looks.
async fn one_that_was_open_in_between_was_open(bench: &Bench) {
    let (deaf, tap) = bench.deaf().await;
    let (latch, deaf) = (latch(bench, &bench.client().await), latch(bench, &deaf));
    latch.try_set(1).await.unwrap();
    let before = tap.applied();
    let waiting = tokio::spawn(async move { deaf.wait().await });
    eventually("it has looked", async || tap.applied() >= before + 2).await;
    latch.down().await.unwrap();
    assert!(latch.try_set(5).await.unwrap());
    within(BY_ITSELF, "it need not wait for that", waiting).await.unwrap().unwrap();
    assert_eq!(latch.count().await.unwrap(), 5);
}

async fn an_id_counts_once(bench: &Bench) {
    let (latch, other) = (latch(bench, &bench.client().await), latch(bench, &bench.client().await));
    latch.try_set(3).await.unwrap();
    assert_eq!(latch.down_once("shard 1").await.unwrap(), 2);
    assert_eq!(other.down_once("shard 1").await.unwrap(), 2);
    assert_eq!(other.down_once("shard 2").await.unwrap(), 1);
    latch.set(2).await.unwrap();
    assert_eq!(latch.down_once("shard 1").await.unwrap(), 1);
    assert_eq!(latch.down_once("shard 2").await.unwrap(), 0);
    assert!(latch.try_set(2).await.unwrap());
    assert_eq!(latch.down_once("shard 1").await.unwrap(), 1);
}

async fn it_is_not_counted_below_zero(bench: &Bench) {
    let latch = latch(bench, &bench.client().await);
    latch.try_set(1).await.unwrap();
    for _ in 0..3 {
        assert_eq!(latch.down().await.unwrap(), 0);
    }
    assert!(latch.try_set(2).await.unwrap());
    assert_eq!(latch.count().await.unwrap(), 2);
}

async fn a_wait_may_be_bounded(bench: &Bench) {
    let latch = latch(bench, &bench.client().await);
    latch.try_set(2).await.unwrap();
    let began = Instant::now();
    let error = latch.wait_timeout(millis(100)).await.unwrap_err();
    assert_eq!((error.kind(), error.key()), (ErrorKind::Timeout, Some(latch.key())));
    assert!(error.to_string().contains("still to count=2"), "{error}");
    assert!(began.elapsed() >= millis(100));
    // A wait of nothing is one look.
    let error = latch.wait_timeout(Duration::ZERO).await.unwrap_err();
    assert_eq!((error.kind(), error.key()), (ErrorKind::Timeout, Some(latch.key())));
    assert!(error.to_string().contains("still to count=2"), "{error}");
    let waiting = tokio::spawn({
        let latch = latch.clone();
        async move { latch.wait_timeout(Duration::from_secs(60)).await }
    });
    latch.down().await.unwrap();
    latch.down().await.unwrap();
    soon("it is open", waiting).await.unwrap().unwrap();
    latch.wait_timeout(Duration::ZERO).await.unwrap();
}

async fn every_wait_is_heard_of(bench: &Bench) {
    let (client, waiter) = (bench.client().await, bench.client().await);
    let (latch, mut events) = (latch(bench, &waiter), waiter.events());
    let mut next = async |what| {
        let event = soon(what, events.next()).await.unwrap();
        assert_eq!((event.kind, event.key.as_str()), (Kind::Latch, latch.key().as_str()));
        event
    };
    // Neither of these two waits.
    latch.wait().await.unwrap();
    latch.set(1).await.unwrap();
    assert_eq!(latch.wait_timeout(Duration::ZERO).await.unwrap_err().kind(), ErrorKind::Timeout);
    assert_eq!(latch.wait_timeout(millis(300)).await.unwrap_err().kind(), ErrorKind::Timeout);
    let began = next("a wait begins").await;
    assert!(matches!(began.what, What::Waiting { .. }), "{began:?}");
    let ended = next("it ends").await;
    let timed_out = matches!(ended.what, What::Waited { waited, end: WaitEnd::TimedOut } if waited >= millis(300));
    assert!(timed_out && ended.claim == began.claim, "{began:?} {ended:?}");
    let opened = wait_for(&latch).await;
    let first = next("one waits until it is open").await;
    assert!(matches!(first.what, What::Waiting { .. }), "{first:?}");
    let given_up = wait_for(&latch).await;
    let second = next("another one waits").await;
    assert!(matches!(second.what, What::Waiting { .. }), "{second:?}");
    given_up.abort();
    let ended = next("it is given up").await;
    let cancelled = matches!(ended.what, What::Waited { end: WaitEnd::Cancelled, .. });
    assert!(cancelled && ended.claim == second.claim, "{second:?} {ended:?}");
    self::latch(bench, &client).down().await.unwrap();
    let ended = next("it opens").await;
    let obtained = matches!(ended.what, What::Waited { end: WaitEnd::Obtained, .. });
    assert!(obtained && ended.claim == first.claim, "{first:?} {ended:?}");
    soon("it is open", opened).await.unwrap().unwrap();
}

async fn nobody_hangs_when_nothing_is_heard(bench: &Bench) {
    let (deaf, tap) = bench.deaf().await;
    let opener = latch(bench, &bench.client().await);
    opener.try_set(1).await.unwrap();
    let before = tap.applied();
    let waiters: Vec<_> = (0..3)
        .map(|_| {
            let latch = latch(bench, &deaf);
            tokio::spawn(async move { latch.wait().await })
        })
        .collect();
    eventually("they have looked", async || tap.applied() >= before + 4).await;
    opener.down().await.unwrap();
    for waiter in within(BY_ITSELF, "they look by themselves", join_all(waiters)).await {
        waiter.unwrap().unwrap();
    }
}

async fn a_wait_ends_when_the_client_is_closed(bench: &Bench) {
    let client = bench.client().await;
    let latch = latch(bench, &client);
    latch.try_set(1).await.unwrap();
    let waiting = wait_for(&latch).await;
    soon("closing", client.close(millis(8000))).await.unwrap();
    assert_eq!(soon("it ends", waiting).await.unwrap().unwrap_err().kind(), ErrorKind::Unavailable);
}

/// Of a client's tasks, one looks for all.
async fn one_who_gives_up_lets_the_others_look(bench: &Bench) {
    let client = bench.client().await;
    let (latch, opener) = (latch(bench, &client), latch(bench, &bench.client().await));
    latch.try_set(1).await.unwrap();
    let first = wait_for(&latch).await;
    let second = wait_for(&latch).await;
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    opener.down().await.unwrap();
    soon("it is open", second).await.unwrap().unwrap();
}

async fn kinds_do_not_mix(bench: &Bench) {
    let client = bench.client().await;
    let latch = latch(bench, &client);
    let guard = client.lock(&bench.key("a")).unwrap().lock().await.unwrap();
    assert_eq!(latch.try_set(2).await.unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(latch.wait().await.unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(latch.down().await.unwrap_err().kind(), ErrorKind::Conflict);
    assert!(guard.is_held());
    guard.release().await.unwrap();
    latch.try_set(2).await.unwrap();
    let error = client.lock(&bench.key("a")).unwrap().lock_timeout(millis(5000)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    assert_eq!(latch.count().await.unwrap(), 2);
}

async fn what_makes_no_sense_is_refused(bench: &Bench) {
    let latch = latch(bench, &bench.client().await);
    for refused in [
        latch.try_set(0).await.map(drop),
        latch.set(u32::MAX).await,
        latch.down_once("").await.map(drop),
        latch.down_once("a\nb").await.map(drop),
        latch.down_once(&"x".repeat(257)).await.map(drop),
        latch.wait_timeout(Duration::MAX).await,
    ] {
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Invalid);
    }
    bench.assert_nothing_left().await;
}
