//! The safety alarm.

use super::bench::{Bench, millis, renewed, unrenewed};
use super::case::cases;
use super::waiting::{heard, soon};
use tenure_core::{Alarm, AlarmReason, Client, ErrorKind, Event, Events, Guard, Options, Owner, What};

cases!("alarms":
    a_lock_held_too_long_raises_the_alarm,
    a_section_that_outlives_its_lease_raises_the_alarm,
    a_dropped_section_that_outlived_its_lease_raises_the_alarm,
    a_panicking_section_that_outlived_its_lease_raises_the_alarm,
    an_inner_section_that_outlives_its_lease_raises_the_alarm,
    a_section_in_time_raises_no_alarm,
);

async fn next_alarm(events: &mut Events) -> (Event, Alarm) {
    let event = heard(events, "the alarm", |what| matches!(what, What::Alarm(_))).await;
    let What::Alarm(alarm) = event.what.clone() else { unreachable!("just looked") };
    (event, alarm)
}

async fn locked(bench: &Bench, options: Options) -> (Client, Events, Guard) {
    let client = bench.client().await;
    let events = client.events();
    let guard = client.lock_of(bench.kind(), &bench.key("a")).unwrap().lock_with(options).await.unwrap();
    (client, events, guard)
}

async fn a_lock_held_too_long_raises_the_alarm(bench: &Bench) {
    let options = renewed(1000).warn_after(millis(1100)).owner(Owner::labelled("billing"));
    let (_client, mut events, guard) = locked(bench, options).await;
    let (event, alarm) = next_alarm(&mut events).await;
    assert_eq!((&event.key, &event.claim), (guard.key(), guard.claim()));
    assert_eq!((alarm.reason, alarm.lease), (AlarmReason::HeldTooLong, millis(1000)));
    assert!(alarm.held >= millis(1100), "{alarm:?}");
    for part in ["billing", guard.claim().as_str(), &std::process::id().to_string()] {
        assert!(alarm.owner.contains(part), "{alarm:?} does not name {part}");
    }
    assert!(guard.is_held(), "the alarm only warns");
    guard.release().await.unwrap();
}

/// Fails unless the next alarm is about a lease of 200 ms that was outlived.
async fn outlived(events: &mut Events, key: &str) {
    let (event, alarm) = next_alarm(events).await;
    assert_eq!(event.key.as_str(), key);
    assert_eq!((alarm.reason, alarm.lease), (AlarmReason::OutlivedLease, millis(200)));
    assert!(alarm.held >= millis(150), "{alarm:?}");
}

async fn a_section_that_outlives_its_lease_raises_the_alarm(bench: &Bench) {
    let (_client, mut events, guard) = locked(bench, unrenewed(200)).await;
    soon("the lease ends", guard.lost()).await;
    assert_eq!(guard.release().await.unwrap_err().kind(), ErrorKind::Lost);
    outlived(&mut events, &bench.key("a")).await;
}

async fn a_dropped_section_that_outlived_its_lease_raises_the_alarm(bench: &Bench) {
    let (_client, mut events, guard) = locked(bench, unrenewed(200)).await;
    soon("the lease ends", guard.lost()).await;
    drop(guard);
    outlived(&mut events, &bench.key("a")).await;
}

async fn a_panicking_section_that_outlived_its_lease_raises_the_alarm(bench: &Bench) {
    let (_client, mut events, guard) = locked(bench, unrenewed(200)).await;
    let section = tokio::spawn(async move {
        guard.lost().await;
        panic!("this panic is part of the case");
    });
    assert!(soon("the section ends", section).await.unwrap_err().is_panic());
    outlived(&mut events, &bench.key("a")).await;
}

async fn an_inner_section_that_outlives_its_lease_raises_the_alarm(bench: &Bench) {
    let (_client, mut events, outer) = locked(bench, Options::new()).await;
    let inner = outer.reenter_with(unrenewed(200)).await.unwrap();
    soon("the inner lease ends", inner.lost()).await;
    drop(inner);
    outlived(&mut events, &bench.key("a")).await;
    assert!(outer.is_held());
    outer.release().await.unwrap();
}

async fn a_section_in_time_raises_no_alarm(bench: &Bench) {
    let (client, mut events, guard) = locked(bench, unrenewed(2000).warn_after(millis(1500))).await;
    guard.release().await.unwrap();
    let last = client.lock_of(bench.kind(), &bench.key("last")).unwrap().lock().await.unwrap();
    let mut heard = Vec::new();
    loop {
        let event = soon("an event", events.next()).await.unwrap();
        if event.claim == *last.claim() {
            break;
        }
        heard.push(event.what);
    }
    assert!(matches!(*heard, [What::Acquired { .. }, What::Released { .. }]), "{heard:?}");
}
