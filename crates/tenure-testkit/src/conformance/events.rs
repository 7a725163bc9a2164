//! What a client's subscribers hear, and in which order.

use super::bench::{Bench, millis, renewed, unrenewed};
use super::case::cases;
use super::waiting::{heard, soon};
use std::collections::HashSet;
use std::time::Instant;
use tenure_core::{Alarm, AlarmReason, ErrorKind, Event, Events, Loss, WaitEnd, What};

cases!("events":
    a_holder_hears_of_its_hold,
    a_waiter_hears_of_its_wait,
    a_wait_in_vain_is_heard_of,
    every_wait_is_heard_of,
    a_re_entry_is_heard_of,
    a_loss_is_heard_of,
    force_is_heard_of_on_both_sides,
    a_client_hears_nothing_of_others,
);

/// What an event says, in a word.
fn word(what: &What) -> &'static str {
    match what {
        What::Acquired { .. } => "acquired",
        What::Waiting { .. } => "waiting",
        What::Waited { end: WaitEnd::Obtained, .. } => "waited",
        What::Waited { .. } => "waited in vain",
        What::Renewed => "renewed",
        What::Jeopardy { .. } => "jeopardy",
        What::Lost { .. } => "lost",
        What::Released { .. } => "released",
        What::Forced { .. } => "forced",
        What::Alarm(_) => "alarm",
        _ => "something new",
    }
}

/// All events up to one that says this.
async fn until(events: &mut Events, last: &str) -> Vec<Event> {
    let all = async {
        let mut all = Vec::new();
        while all.last().is_none_or(|event: &Event| word(&event.what) != last) {
            all.push(events.next().await.expect("the client lives"));
        }
        all
    };
    soon(last, all).await
}

fn words(events: &[Event]) -> Vec<&'static str> {
    events.iter().map(|event| word(&event.what)).collect()
}

async fn a_holder_hears_of_its_hold(bench: &Bench) {
    let client = bench.client().await;
    let mut events = client.events();
    let lock = client.lock_of(bench.kind(), &bench.key("a")).unwrap();
    let guard = lock.lock_with(renewed(1000)).await.unwrap();
    let began = Instant::now();
    // A backend may ask about its holds once more when it has just come to hear wake-ups.
    let mut all = until(&mut events, "renewed").await;
    while began.elapsed() < millis(50) {
        all.extend(until(&mut events, "renewed").await);
    }
    let (claim, token) = (guard.claim().clone(), guard.token());
    guard.release().await.unwrap();
    all.extend(until(&mut events, "released").await);
    let mut words = words(&all);
    words.dedup();
    assert_eq!(words, ["acquired", "renewed", "released"]);
    assert!(all.iter().all(|event| event.key == *lock.key() && event.claim == claim), "{all:?}");
    assert!(matches!(all[0].what, What::Acquired { token: said } if said == token));
    assert!(matches!(all.last().unwrap().what, What::Released { left: 0, held } if held >= millis(50)), "{all:?}");
}

async fn a_waiter_hears_of_its_wait(bench: &Bench) {
    let (one, other) = (bench.lock("a").await, bench.client().await);
    let mut events = other.events();
    let lock = other.lock_of(bench.kind(), &bench.key("a")).unwrap();
    let holder = one.lock().await.unwrap();
    let waiting = tokio::spawn(async move { lock.lock().await.unwrap() });
    let mut all = until(&mut events, "waiting").await;
    assert!(
        matches!(&all[0].what, What::Waiting { holder: Some(seen), .. } if seen.claim == *holder.claim()),
        "{all:?}"
    );
    holder.release().await.unwrap();
    let guard = soon("the waiter gets in", waiting).await.unwrap();
    let claim = guard.claim().clone();
    guard.release().await.unwrap();
    all.extend(until(&mut events, "released").await);
    // Whether the end of the wait or the beginning of the hold is told first does not matter.
    assert!(
        matches!(
            *words(&all),
            ["waiting", "acquired", "waited", "released"] | ["waiting", "waited", "acquired", "released"]
        ),
        "{all:?}"
    );
    assert!(all.iter().all(|event| event.key == *one.key() && event.kind == bench.kind()), "{all:?}");
    let is_of_the_wait = |event: &&Event| matches!(event.what, What::Waiting { .. } | What::Waited { .. });
    let (wait, hold): (Vec<&Event>, Vec<&Event>) = all.iter().partition(is_of_the_wait);
    assert_eq!(wait[0].claim, wait[1].claim, "{all:?}");
    assert!(hold.iter().all(|event| event.claim == claim), "{all:?}");
}

async fn a_wait_in_vain_is_heard_of(bench: &Bench) {
    let (one, other) = (bench.lock("a").await, bench.client().await);
    let mut events = other.events();
    let _holder = one.lock().await.unwrap();
    let error = other.lock_of(bench.kind(), &bench.key("a")).unwrap().lock_timeout(millis(100)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    let all = until(&mut events, "waited in vain").await;
    assert_eq!(words(&all), ["waiting", "waited in vain"]);
    assert!(all.iter().all(|event| event.key == *one.key()), "{all:?}");
    let What::Waited { waited, end } = all[1].what else { panic!("{all:?}") };
    assert!(waited >= millis(100) && end == WaitEnd::TimedOut, "{all:?}");
}

/// Also of those who never come to ask the store, because others of their client are before them.
async fn every_wait_is_heard_of(bench: &Bench) {
    let (one, other) = (bench.lock("a").await, bench.client().await);
    let mut events = other.events();
    let holder = one.lock().await.unwrap();
    let lock = other.lock_of(bench.kind(), &bench.key("a")).unwrap();
    let waiting: Vec<_> = (0..20)
        .map(|_| {
            let lock = lock.clone();
            tokio::spawn(async move { lock.lock_timeout(millis(500)).await.map(drop) })
        })
        .collect();
    for waiting in waiting {
        let error = soon("the wait times out", waiting).await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    }
    let (mut began, mut ended) = (HashSet::new(), HashSet::new());
    while ended.len() < 20 {
        let event = heard(&mut events, "all have waited", |_| true).await;
        match event.what {
            What::Waiting { .. } => assert!(began.insert(event.claim), "it is said twice"),
            What::Waited { waited, end } => {
                assert!(waited >= millis(500) && end == WaitEnd::TimedOut, "{event:?}");
                assert!(ended.insert(event.claim), "it is said twice");
            }
            _ => panic!("{event:?}"),
        }
    }
    assert_eq!(began, ended);
    holder.release().await.unwrap();
}

async fn a_re_entry_is_heard_of(bench: &Bench) {
    let client = bench.client().await;
    let mut events = client.events();
    let outer = client.lock_of(bench.kind(), &bench.key("a")).unwrap().lock().await.unwrap();
    let inner = outer.reenter().await.unwrap();
    inner.release().await.unwrap();
    drop(outer);
    let mut all = until(&mut events, "released").await;
    all.extend(until(&mut events, "released").await);
    // A backend may ask about its holds once more when it has just come to hear wake-ups.
    all.retain(|event| !matches!(event.what, What::Renewed));
    assert_eq!(words(&all), ["acquired", "acquired", "released", "released"]);
    assert!(matches!(all[2].what, What::Released { left: 1, .. }), "{all:?}");
    assert!(matches!(all[3].what, What::Released { left: 0, .. }), "{all:?}");
}

async fn a_loss_is_heard_of(bench: &Bench) {
    let client = bench.client().await;
    let mut events = client.events();
    let guard = client.lock_of(bench.kind(), &bench.key("a")).unwrap().lock_with(unrenewed(200)).await.unwrap();
    let mut all = until(&mut events, "lost").await;
    let claim = guard.claim().clone();
    guard.release().await.unwrap_err();
    all.extend(until(&mut events, "alarm").await);
    assert_eq!(words(&all), ["acquired", "lost", "alarm"]);
    assert!(matches!(all[1].what, What::Lost { why: Loss::LeaseEnded }), "{all:?}");
    assert!(matches!(&all[2].what, What::Alarm(Alarm { reason: AlarmReason::OutlivedLease, .. })), "{all:?}");
    assert!(all.iter().all(|event| event.key.as_str() == bench.key("a") && event.claim == claim), "{all:?}");
}

async fn force_is_heard_of_on_both_sides(bench: &Bench) {
    let (one, other) = (bench.client().await, bench.client().await);
    let (mut near, mut far) = (one.events(), other.events());
    let guard = one.lock_of(bench.kind(), &bench.key("a")).unwrap().lock_with(renewed(1000)).await.unwrap();
    other.lock_of(bench.kind(), &bench.key("a")).unwrap().force_release().await.unwrap().expect("it was held");
    let forced = heard(&mut far, "the force", |what| matches!(what, What::Forced { .. })).await;
    assert_eq!((&forced.key, &forced.claim), (guard.key(), guard.claim()));
    assert!(matches!(&forced.what, What::Forced { holder } if holder.token == Some(guard.token())), "{forced:?}");
    let lost = heard(&mut near, "the loss", |what| matches!(what, What::Lost { .. })).await;
    assert_eq!((&lost.key, &lost.claim), (guard.key(), guard.claim()));
    assert!(matches!(lost.what, What::Lost { why: Loss::Forced | Loss::Gone }), "{lost:?}");
}

async fn a_client_hears_nothing_of_others(bench: &Bench) {
    let (one, other) = (bench.client().await, bench.client().await);
    let mut events = other.events();
    one.lock_of(bench.kind(), &bench.key("a")).unwrap().lock().await.unwrap().release().await.unwrap();
    let guard = other.lock_of(bench.kind(), &bench.key("b")).unwrap().lock().await.unwrap();
    let first = soon("an event", events.next()).await.unwrap();
    assert_eq!((&first.claim, word(&first.what)), (guard.claim(), "acquired"));
}
