//! Requests that make no sense.

use super::bench::{Bench, millis, renewed};
use super::case::cases;
use std::time::Duration;
use tenure_core::{Client, Error, ErrorKind, Guarantee, Kind, Memory, Options, Retry};

cases!("input":
    a_key_that_is_none_is_refused,
    options_that_make_no_sense_are_refused,
    re_entry_with_such_options_is_refused,
    a_client_with_such_options_is_refused,
    keys_are_taken_as_they_are uses Fair,
    what_a_store_does_not_promise_is_refused,
);

fn assert_invalid(error: &Error, names: &str) {
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(error.to_string().contains(names), "does not name {names}: {error}");
}

/// Options that make no sense, and what a message about them has to say.
fn senseless() -> Vec<(Options, &'static str)> {
    let day = Duration::from_secs(24 * 60 * 60);
    vec![
        (renewed(0), "lease=0s"),
        (renewed(99), "lease=99ms"),
        (Options::new().lease(day + millis(1)), "24h: lease=24h 1ms"),
        (Options::new().lease(Duration::MAX), "lease=213503982334601d 7h 15.999999999s"),
        (renewed(1000).renew_every(millis(1000)), "renew_every=1s"),
        (renewed(1000).renew_every(millis(2000)), "renew_every=2s"),
        (renewed(1000).renew_every(Duration::ZERO), "renew_every=0s"),
        (Options::new().wait(367 * day), "366d: wait=367d"),
        (Options::new().wait(Duration::MAX), "wait=213503982334601d 7h 15.999999999s"),
        (Options::new().warn_after(Duration::ZERO), "warn_after=0s"),
        (Options::new().retry(Retry::fixed(Duration::ZERO)), "retry interval=0s"),
        (Options::new().retry(Retry::exponential(Duration::MAX)), "retry interval=213503982334601d 7h 15.999999999s"),
    ]
}

async fn a_key_that_is_none_is_refused(bench: &Bench) {
    let client = bench.client().await;
    assert_invalid(&client.lock("").unwrap_err(), "empty");
    let long = bench.key(&"k".repeat(1025));
    assert_invalid(&client.lock(&long).unwrap_err(), &long.len().to_string());
    assert_invalid(&client.lock(&long).unwrap_err(), &bench.key("kkk"));
    bench.assert_nothing_left().await;
}

async fn options_that_make_no_sense_are_refused(bench: &Bench) {
    let (client, tap) = bench.tapped().await;
    let lock = client.lock(&bench.key("a")).unwrap();
    for (options, names) in senseless() {
        assert_invalid(&lock.lock_with(options.clone()).await.unwrap_err(), names);
        assert_invalid(&lock.try_lock_with(options).await.map(drop).unwrap_err(), names);
    }
    assert_eq!(tap.applied(), 0, "something was sent");
    bench.assert_nothing_left().await;
}

async fn re_entry_with_such_options_is_refused(bench: &Bench) {
    let lock = bench.lock("a").await;
    let guard = lock.lock().await.unwrap();
    for (options, names) in senseless() {
        assert_invalid(&guard.reenter_with(options).await.unwrap_err(), names);
    }
    assert_eq!(lock.inspect().await.unwrap().unwrap().holder().count, 1);
    assert!(guard.is_held());
    guard.release().await.unwrap();
    bench.assert_nothing_left().await;
}

/// The store does not come into it.
async fn a_client_with_such_options_is_refused(_: &Bench) {
    for (options, names) in senseless() {
        assert_invalid(&Client::builder().options(options).build(Memory::new()).unwrap_err(), names);
    }
    for within in [Duration::ZERO, Duration::MAX] {
        assert_invalid(&Client::builder().answer_within(within).build(Memory::new()).unwrap_err(), "answer_within=");
        assert_invalid(&Client::builder().connect_within(within).build(Memory::new()).unwrap_err(), "connect_within=");
    }
}

async fn keys_are_taken_as_they_are(bench: &Bench) {
    let client = bench.client().await;
    let longest = "l".repeat(1024 - bench.key("").len());
    let names =
        ["a", "A", " a", "a ", "a\0", "a\n", "ä", "a\u{308}", "{a}", "{a}:b:c", "{}", "a{b", "}a{", "🔒", &longest];
    for kind in [Kind::Reentrant, Kind::Simple, Kind::Fair, Kind::Read, Kind::Write] {
        let mut guards = Vec::new();
        for name in names {
            let lock = client.lock_of(kind, &bench.key(name)).unwrap();
            let guard = lock.try_lock().await.unwrap();
            guards.push(guard.unwrap_or_else(|| panic!("{name:?} is taken for another by {kind}")));
        }
        for guard in guards {
            let held = client.lock_of(kind, guard.key().as_str()).unwrap().inspect().await.unwrap();
            assert_eq!(held.map(|held| held.holder().claim.clone()).as_ref(), Some(guard.claim()));
            guard.release().await.unwrap();
        }
    }
    bench.assert_nothing_left().await;
}

async fn what_a_store_does_not_promise_is_refused(bench: &Bench) {
    let label = bench.client().await.label();
    for guarantee in [
        Guarantee::Fencing,
        Guarantee::BetweenProcesses,
        Guarantee::BetweenMachines,
        Guarantee::PushedWakeups,
        Guarantee::SurvivesRestart,
        Guarantee::SurvivesFailover,
    ] {
        match Client::builder().require(guarantee).build(bench.store()) {
            Ok(_) => assert!(label.has(guarantee), "{guarantee} was not promised"),
            Err(error) => {
                assert!(!label.has(guarantee), "{error}");
                assert_eq!(error.kind(), ErrorKind::Unsupported);
                assert!(error.to_string().contains(&guarantee.to_string()), "{error}");
            }
        }
    }
}
