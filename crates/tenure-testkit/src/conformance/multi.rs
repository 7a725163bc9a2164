//! Several locks held together.

use super::bench::{Bench, millis, renewed, unrenewed};
use super::case::cases;
use super::waiting::{eventually, heard, soon, waits};
use crate::History;
use futures_util::future::join_all;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tenure_core::kernel::{Cancelled, Grant};
use tenure_core::{
    Applied, Batch, Claim, Client, ErrorKind, Key, Kind, Lock, Loss, MultiLock, Operation, Options, Outcome, Owner,
    Release, Standing, Stay, Step, StoreError, What,
};
use tokio::task::JoinSet;

cases!("multi":
    a_guard_that_becomes_a_set_still_tells_whom_it_told,
    all_are_held_until_all_are_given_back,
    a_set_that_is_free_takes_one_request,
    a_set_that_is_not_free_is_not_taken_in_part,
    a_set_of_many_is_held,
    of_many_who_try_at_once_one_is_in,
    all_are_renewed,
    a_set_is_free_when_its_leases_end,
    a_set_of_a_client_that_is_closed_is_free,
    a_set_that_is_put_out_is_free,
    the_order_in_which_keys_are_named_does_not_matter,
    sets_that_overlap_do_not_meet,
    a_lock_that_is_named_twice_is_held_once uses Read,
    kinds_can_be_mixed uses Read,
    a_member_of_another_kind_is_a_conflict uses Fair,
    a_timeout_names_the_key_and_the_holder,
    the_wait_is_one_for_all,
    those_that_are_held_are_renewed_while_others_are_waited_for,
    a_lock_that_is_lost_meanwhile_is_taken_anew,
    terms_begin_when_all_are_held,
    a_set_that_was_not_obtained_is_not_kept,
    a_set_that_is_given_up_leaves_nothing,
    a_set_that_was_granted_to_one_who_gave_up_is_freed,
    random_cancellations_leave_nothing,
    a_dropped_guard_frees_all,
    the_loss_of_one_is_the_loss_of_all,
    work_is_dropped_when_one_is_lost,
    a_release_says_what_went_wrong,
    an_owner_goes_in_again,
    a_program_goes_in_beside_its_holder,
    one_lock_of_two_clients_is_entered_by_both uses Fair,
    one_simple_lock_of_two_clients_is_a_conflict,
    clients_that_share_keys_do_not_wait_for_each_other,
    asking_again_says_the_same,
    a_cancelled_claim_refuses_all,
    locks_that_are_lost_on_the_way_are_not_taken_late,
);

fn keys(bench: &Bench, names: &[&str]) -> Vec<String> {
    names.iter().map(|name| bench.key(name)).collect()
}

/// The re-entrant locks of these names.
fn multi(bench: &Bench, client: &Client, names: &[&str]) -> MultiLock {
    client.multi(keys(bench, names)).unwrap()
}

fn lock(bench: &Bench, client: &Client, name: &str) -> Lock {
    client.lock(&bench.key(name)).unwrap()
}

async fn all_are_held_until_all_are_given_back(bench: &Bench) {
    let (client, other) = (bench.client().await, bench.client().await);
    let set = multi(bench, &client, &["b", "a", "c"]);
    assert_eq!(set.keys().map(Key::as_str).collect::<Vec<_>>(), keys(bench, &["a", "b", "c"]));
    let guard = set.lock().await.unwrap();
    assert!(guard.is_held() && guard.check().is_ok() && guard.standing() == Standing::Held);
    assert_eq!(guard.keys().map(Key::as_str).collect::<Vec<_>>(), keys(bench, &["a", "b", "c"]));
    for name in ["a", "b", "c"] {
        let one = lock(bench, &other, name);
        assert!(one.try_lock().await.unwrap().is_none(), "{name} is free");
        let seen = one.inspect().await.unwrap().unwrap();
        assert_eq!(seen.holder().token, guard.token_of(&bench.key(name)));
    }
    assert_eq!(guard.token_of("another"), None);
    assert_eq!((guard.guards().len(), guard.tokens().count()), (3, 3));
    let least = guard.guards().iter().map(tenure_core::Guard::remaining).min().unwrap();
    assert!(guard.remaining() <= least && guard.remaining() > Duration::ZERO && guard.deadline() > Instant::now());
    guard.renew().await.unwrap();
    assert_eq!(guard.release().await.unwrap(), Release::Released);
    bench.assert_nothing_left().await;
    // Tokens rise, for each key.
    let (one, guard) = (lock(bench, &other, "b").lock().await.unwrap(), set.try_lock().await.unwrap());
    assert!(guard.is_none());
    let token = one.token();
    drop(one);
    let guard = soon("all are free", set.lock()).await.unwrap();
    assert!(guard.token_of(&bench.key("b")).unwrap() > token);
}

async fn a_set_that_is_free_takes_one_request(bench: &Bench) {
    let (client, tap) = bench.tapped().await;
    let simple = client.simple(&bench.key("s")).unwrap();
    let mixed = MultiLock::new([&lock(bench, &client, "a"), &simple]).unwrap();
    for set in [multi(bench, &client, &["a", "b", "c", "d"]), mixed] {
        let before = tap.applied();
        let guard = set.lock().await.unwrap();
        if tap.takes_one_by_one() {
            return;
        }
        assert_eq!(tap.applied() - before, 1, "one request for all of them");
        guard.release().await.unwrap();
        let before = tap.applied();
        let guard = set.try_lock().await.unwrap().expect("all are free");
        assert_eq!(tap.applied() - before, 1);
        guard.release().await.unwrap();
    }
    bench.assert_nothing_left().await;
}

async fn a_set_that_is_not_free_is_not_taken_in_part(bench: &Bench) {
    let (client, other) = (bench.client().await, bench.client().await);
    for (held, kind) in [("a", Kind::Reentrant), ("b", Kind::Reentrant), ("c", Kind::Simple)] {
        let kinds = [("a", Kind::Reentrant), ("b", Kind::Reentrant), ("c", Kind::Simple)];
        let locks = kinds.map(|(name, kind)| client.lock_of(kind, &bench.key(name)).unwrap());
        let set = MultiLock::new(locks).unwrap();
        let guard = other.lock_of(kind, &bench.key(held)).unwrap().lock().await.unwrap();
        assert!(set.try_lock().await.unwrap().is_none(), "{held} is held");
        for name in ["a", "b", "c"].into_iter().filter(|name| *name != held) {
            assert!(!lock(bench, &other, name).is_locked().await.unwrap(), "{name} was taken");
        }
        guard.release().await.unwrap();
        let guard = set.try_lock().await.unwrap().expect("all are free");
        guard.release().await.unwrap();
    }
    bench.assert_nothing_left().await;
}

async fn a_set_of_many_is_held(bench: &Bench) {
    let client = bench.client().await;
    // More than are taken at one moment.
    for count in [100, Batch::MOST + 1] {
        let set = client.multi((0..count).map(|number| bench.key(&format!("k{number}")))).unwrap();
        let guard = soon("all are taken", set.lock()).await.unwrap();
        assert_eq!(guard.guards().len(), count);
        assert_eq!(client.list(&bench.key("*")).await.unwrap().len(), count);
        assert_eq!(guard.release().await.unwrap(), Release::Released);
    }
    bench.assert_nothing_left().await;
}

async fn of_many_who_try_at_once_one_is_in(bench: &Bench) {
    let clients = bench.clients(2).await;
    let tries = (0..10).map(|number| {
        let set = multi(bench, &clients[number % 2], &["a", "b", "c"]);
        tokio::spawn(async move { set.try_lock().await.unwrap() })
    });
    let tried = join_all(tries).await.into_iter().map(Result::unwrap);
    let guards: Vec<_> = tried.flatten().collect();
    assert_eq!(guards.len(), 1);
    assert!(guards[0].is_held());
}

async fn all_are_renewed(bench: &Bench) {
    let client = bench.client().await;
    let mut events = client.events();
    let guard = multi(bench, &client, &["a", "b"]).lock_with(renewed(600)).await.unwrap();
    let mut times = [0, 0];
    while times.iter().any(|times| *times < 4) {
        let renewed = heard(&mut events, "it is renewed", |what| matches!(what, What::Renewed)).await;
        times[usize::from(renewed.key.as_str() == bench.key("b"))] += 1;
        assert!(guard.is_held());
    }
    assert_eq!(guard.release().await.unwrap(), Release::Released);
}

async fn a_set_is_free_when_its_leases_end(bench: &Bench) {
    let (client, other) = (bench.client().await, bench.client().await);
    let began = Instant::now();
    let guard = multi(bench, &client, &["a", "b"]).lock_with(unrenewed(1000)).await.unwrap();
    let next = multi(bench, &other, &["b", "a"]).lock_timeout(millis(5000)).await.unwrap();
    let waited = began.elapsed();
    assert!(waited >= millis(980) && waited < millis(3000), "{waited:?}");
    assert_eq!(guard.release().await.unwrap_err().kind(), ErrorKind::Lost);
    assert!(next.is_held());
    assert_eq!(next.release().await.unwrap(), Release::Released);
    bench.assert_nothing_left().await;
}

async fn a_set_of_a_client_that_is_closed_is_free(bench: &Bench) {
    let (client, other) = (bench.client().await, bench.client().await);
    let guard = multi(bench, &client, &["a", "b"]).lock_with(renewed(1000)).await.unwrap();
    soon("closing", client.close(millis(4_000))).await.unwrap();
    let next = soon("they are free", multi(bench, &other, &["a", "b"]).lock()).await.unwrap();
    let (_, why) = soon("it is lost", guard.lost()).await;
    assert_eq!((why, guard.is_held()), (Loss::Closed, false));
    assert_eq!(next.release().await.unwrap(), Release::Released);
}

async fn a_set_that_is_put_out_is_free(bench: &Bench) {
    let (client, other) = (bench.client().await, bench.client().await);
    let guard = multi(bench, &client, &["a", "b"]).lock_with(renewed(1000)).await.unwrap();
    for name in ["a", "b"] {
        let forced = lock(bench, &other, name).force_release().await.unwrap().expect("it is held");
        assert_eq!(forced.holder().token, guard.token_of(&bench.key(name)));
        assert!(!lock(bench, &other, name).is_locked().await.unwrap());
    }
    let (_, why) = soon("it is lost", guard.lost()).await;
    assert!(matches!(why, Loss::Forced | Loss::Gone), "{why:?}");
    let next = multi(bench, &other, &["a", "b"]).try_lock().await.unwrap().expect("all are free");
    assert_eq!(guard.release().await.unwrap_err().kind(), ErrorKind::Lost);
    assert!(next.is_held());
    assert_eq!(next.release().await.unwrap(), Release::Released);
    bench.assert_nothing_left().await;
}

/// Takes a set, and records the hold of each of its keys.
async fn hold_once(set: &MultiLock, history: &History, who: &str) {
    let asking: Vec<_> = set.keys().map(|key| history.asking(key.as_str(), who)).collect();
    let guard = set.lock_with(renewed(5000)).await.unwrap();
    let tokens = guard.tokens().map(|(_, token)| token);
    let holds: Vec<_> = asking.into_iter().zip(tokens).map(|(asking, token)| asking.granted(token)).collect();
    tokio::task::yield_now().await;
    assert!(guard.is_held());
    for hold in holds {
        hold.ended();
    }
    guard.release().await.unwrap();
}

async fn the_order_in_which_keys_are_named_does_not_matter(bench: &Bench) {
    const ROUNDS: usize = 50;
    let (clients, history) = (bench.clients(2).await, History::new());
    let tasks = [["a", "b", "c"], ["c", "b", "a"], ["b", "c", "a"], ["c", "a", "b"]].into_iter().enumerate();
    let tasks: Vec<_> = tasks
        .map(|(number, names)| {
            let (set, history) = (multi(bench, &clients[number % 2], &names), history.clone());
            tokio::spawn(async move {
                for _ in 0..ROUNDS {
                    hold_once(&set, &history, &format!("task {number}")).await;
                }
            })
        })
        .collect();
    for task in join_all(tasks).await {
        task.unwrap();
    }
    history.check().assert_clean().assert_at_least(4 * 3 * ROUNDS);
    bench.assert_nothing_left().await;
}

async fn sets_that_overlap_do_not_meet(bench: &Bench) {
    let (clients, history) = (bench.clients(3).await, History::new());
    let mut tasks = JoinSet::new();
    for number in 0..12 {
        let client = clients[number % 3].clone();
        let (names, history) = ((0..6).map(|key| bench.key(&format!("k{key}"))).collect::<Vec<_>>(), history.clone());
        tasks.spawn(async move {
            for _ in 0..15 {
                let mut names = names.clone();
                fastrand::shuffle(&mut names);
                names.truncate(fastrand::usize(1..5));
                hold_once(&client.multi(names).unwrap(), &history, &format!("task {number}")).await;
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    history.check().assert_clean().assert_at_least(12 * 15);
    bench.assert_nothing_left().await;
}

async fn a_lock_that_is_named_twice_is_held_once(bench: &Bench) {
    let client = bench.client().await;
    let guard = multi(bench, &client, &["a", "b", "a"]).lock().await.unwrap();
    assert_eq!(guard.guards().len(), 2);
    assert_eq!(lock(bench, &client, "a").inspect().await.unwrap().unwrap().holder().count, 1);
    guard.release().await.unwrap();
    let both = client.rw_lock(&bench.key("c")).unwrap();
    let guard = MultiLock::new([both.read(), both.write()]).unwrap().lock().await.unwrap();
    assert_eq!(guard.guards().iter().map(tenure_core::Guard::kind).collect::<Vec<_>>(), [Kind::Write]);
    guard.release().await.unwrap();
    bench.assert_nothing_left().await;
}

async fn kinds_can_be_mixed(bench: &Bench) {
    let (client, other) = (bench.client().await, bench.client().await);
    let (read, write) = (client.rw_lock(&bench.key("r")).unwrap(), client.rw_lock(&bench.key("w")).unwrap());
    let (fair, simple) = (client.fair(&bench.key("f")).unwrap(), client.simple(&bench.key("s")).unwrap());
    let set = MultiLock::new([read.read(), write.write(), &fair, &simple, &lock(bench, &client, "a")]).unwrap();
    let guard = set.lock().await.unwrap();
    assert_eq!(guard.guards().len(), 5);
    let of = |name: &str| other.rw_lock(&bench.key(name)).unwrap();
    let beside = of("r").read().try_lock().await.unwrap().expect("another reader");
    assert!(of("r").write().try_lock().await.unwrap().is_none());
    assert!(of("w").read().try_lock().await.unwrap().is_none());
    assert!(set.try_lock().await.unwrap().is_none(), "somebody writes");
    drop(guard);
    // The other set waits for the one reader that is left.
    let writes = MultiLock::new([of("r").write().clone(), other.fair(&bench.key("f")).unwrap()]).unwrap();
    let mut events = other.events();
    let waiting = tokio::spawn(async move { writes.lock().await.unwrap() });
    heard(&mut events, "it waits", |what| matches!(what, What::Waiting { .. })).await;
    beside.release().await.unwrap();
    let guard = soon("the reader is gone", waiting).await.unwrap();
    assert_eq!(guard.release().await.unwrap(), Release::Released);
    eventually("nothing is left", async || bench.keys_left().await.is_empty()).await;
}

async fn a_member_of_another_kind_is_a_conflict(bench: &Bench) {
    let (client, other) = (bench.client().await, bench.client().await);
    for kind in [Kind::Simple, Kind::Fair, Kind::Write] {
        let held = other.lock_of(kind, &bench.key("b")).unwrap().lock().await.unwrap();
        let set = multi(bench, &client, &["a", "b", "c"]);
        for error in [set.try_lock().await.unwrap_err(), set.lock_timeout(millis(5000)).await.unwrap_err()] {
            assert_eq!(error.kind(), ErrorKind::Conflict, "{kind}: {error}");
            assert_eq!(error.key().map(Key::as_str), Some(&*bench.key("b")));
            assert!(error.to_string().contains(&format!("held as={kind}")), "{error}");
        }
        for name in ["a", "c"] {
            assert!(!lock(bench, &other, name).is_locked().await.unwrap(), "{name} was taken");
        }
        held.release().await.unwrap();
    }
    eventually("nothing is left", async || bench.keys_left().await.is_empty()).await;
}

async fn a_timeout_names_the_key_and_the_holder(bench: &Bench) {
    let (client, other) = (bench.client().await, bench.client().await);
    let held = lock(bench, &other, "b").lock().await.unwrap();
    let set = multi(bench, &client, &["c", "b", "a"]);
    let error = soon("it gives up", set.lock_timeout(millis(200))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    assert_eq!(error.key().map(Key::as_str), Some(&*bench.key("b")));
    assert_eq!(error.holder().map(|holder| &holder.claim), Some(held.claim()), "{error}");
    for name in ["a", "c"] {
        assert!(!lock(bench, &other, name).is_locked().await.unwrap(), "{name} is left");
    }
    held.release().await.unwrap();
    eventually("nothing is left", async || bench.keys_left().await.is_empty()).await;
}

/// Two locks that are each free in time, but not both.
async fn the_wait_is_one_for_all(bench: &Bench) {
    let (client, other) = (bench.client().await, bench.client().await);
    let mut events = client.events();
    let (first, second) =
        (lock(bench, &other, "a").lock().await.unwrap(), lock(bench, &other, "b").lock().await.unwrap());
    let set = multi(bench, &client, &["a", "b"]);
    let (bound, began) = (millis(1000), Instant::now());
    let waiting = tokio::spawn(async move { set.lock_timeout(bound).await });
    let waits = |what: &What| matches!(what, What::Waiting { .. });
    assert_eq!(heard(&mut events, "it waits for the first", waits).await.key.as_str(), bench.key("a"));
    tokio::time::sleep(millis(600)).await;
    first.release().await.unwrap();
    assert_eq!(heard(&mut events, "it waits for the second", waits).await.key.as_str(), bench.key("b"));
    let error = soon("it gives up", waiting).await.unwrap().unwrap_err();
    let waited = began.elapsed();
    assert_eq!((error.kind(), error.key()), (ErrorKind::Timeout, Some(second.key())));
    assert!(waited >= bound && waited < bound + millis(500), "{waited:?}");
    assert!(!lock(bench, &other, "a").is_locked().await.unwrap());
}

async fn those_that_are_held_are_renewed_while_others_are_waited_for(bench: &Bench) {
    let (client, other) = (bench.client().await, bench.client().await);
    let mut events = client.events();
    let held = lock(bench, &other, "b").lock().await.unwrap();
    let set = multi(bench, &client, &["a", "b"]);
    // One that is not renewed when it is held is renewed until then.
    let waiting = tokio::spawn(async move { set.lock_with(unrenewed(300)).await });
    for _ in 0..4 {
        let renewed = heard(&mut events, "it is renewed", |what| matches!(what, What::Renewed)).await;
        assert_eq!(renewed.key.as_str(), bench.key("a"));
    }
    assert!(!waiting.is_finished());
    held.release().await.unwrap();
    let guard = soon("it gets in", waiting).await.unwrap().unwrap();
    assert!(guard.is_held());
}

async fn a_lock_that_is_lost_meanwhile_is_taken_anew(bench: &Bench) {
    let (client, other) = (bench.client().await, bench.client().await);
    let mut events = client.events();
    let held = lock(bench, &other, "b").lock().await.unwrap();
    let set = multi(bench, &client, &["a", "b"]);
    let waiting = tokio::spawn(async move { set.lock_with(renewed(1000)).await });
    let waits = |what: &What| matches!(what, What::Waiting { .. });
    heard(&mut events, "it waits for the second", waits).await;
    let first = lock(bench, &other, "a").force_release().await.unwrap().expect("it has the first");
    let token = first.holder().token.unwrap();
    let is_lost = |what: &What| matches!(what, What::Lost { .. });
    heard(&mut events, "it sees the loss", is_lost).await;
    held.release().await.unwrap();
    let guard = soon("it gets in", waiting).await.unwrap().unwrap();
    assert!(guard.is_held() && guard.token_of(&bench.key("a")).unwrap() > token);
    assert_eq!(guard.release().await.unwrap(), Release::Released);
    eventually("nothing is left", async || bench.keys_left().await.is_empty()).await;
}

async fn terms_begin_when_all_are_held(bench: &Bench) {
    let (client, other) = (bench.client().await, bench.client().await);
    for options in [unrenewed(1000), renewed(5000).max_hold(millis(1000))] {
        let mut events = client.events();
        let held = lock(bench, &other, "b").lock().await.unwrap();
        let (set, limited) = (multi(bench, &client, &["a", "b"]), options.clone());
        let waiting = tokio::spawn(async move { set.lock_with(limited).await.unwrap() });
        heard(&mut events, "it waits", |what| matches!(what, What::Waiting { .. })).await;
        tokio::time::sleep(millis(700)).await;
        held.release().await.unwrap();
        let guard = soon("it gets in", waiting).await.unwrap();
        let left = guard.remaining();
        assert!(left > millis(700) && left < millis(1000), "{left:?} of {options:?}");
        let (_, why) = soon("it ends", guard.lost()).await;
        assert!(matches!(why, Loss::LeaseEnded | Loss::HeldTooLong), "{why:?}");
        assert_eq!(guard.release().await.unwrap_err().kind(), ErrorKind::Lost);
        eventually("nothing is left", async || bench.keys_left().await.is_empty()).await;
    }
    let guard = multi(bench, &client, &["a", "b"]).lock_with(renewed(1000).at_least(millis(20_000))).await.unwrap();
    assert!(matches!(guard.release().await.unwrap(), Release::Kept(_)));
    assert!(lock(bench, &other, "a").is_locked().await.unwrap());
}

/// What was taken in vain was not used, so that nobody need wait for it.
async fn a_set_that_was_not_obtained_is_not_kept(bench: &Bench) {
    let (client, other) = (bench.client().await, bench.client().await);
    let held = lock(bench, &other, "b").lock().await.unwrap();
    let kept = renewed(2000).at_least(millis(60_000)).wait(millis(150));
    let error = multi(bench, &client, &["a", "b"]).lock_with(kept).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(!lock(bench, &other, "a").is_locked().await.unwrap());
    drop(held);
}

async fn a_set_that_is_given_up_leaves_nothing(bench: &Bench) {
    let (client, other) = (bench.client().await, bench.client().await);
    let mut events = client.events();
    let held = lock(bench, &other, "b").lock().await.unwrap();
    let set = multi(bench, &client, &["a", "b", "c"]);
    let waiting = tokio::spawn(async move { set.lock().await.map(drop) });
    heard(&mut events, "it waits", |what| matches!(what, What::Waiting { .. })).await;
    assert!(lock(bench, &other, "a").is_locked().await.unwrap(), "it has the first");
    waiting.abort();
    eventually("the first is free", async || !lock(bench, &other, "a").is_locked().await.unwrap()).await;
    held.release().await.unwrap();
    drop(soon("all are free", multi(bench, &other, &["a", "b", "c"]).lock()).await.unwrap());
    eventually("nothing is left", async || bench.keys_left().await.is_empty()).await;
}

async fn a_set_that_was_granted_to_one_who_gave_up_is_freed(bench: &Bench) {
    let ((client, tap), other) = (bench.tapped().await, bench.client().await);
    let set = multi(bench, &client, &["a", "b"]);
    for attempt in [true, false] {
        tap.withhold_grants(true);
        let before = tap.withheld();
        let done = eventually("the store has done it", async || tap.withheld() > before);
        let asking = async {
            if attempt { set.try_lock().await.map(|guard| drop(guard.unwrap())) } else { set.lock().await.map(drop) }
        };
        tokio::select! {
            _ = asking => panic!("the answer was to be withheld"),
            () = done => {}
        }
        tap.withhold_grants(false);
        let guard = soon("all are free", multi(bench, &other, &["a", "b"]).lock()).await.unwrap();
        assert_eq!(guard.release().await.unwrap(), Release::Released);
    }
}

/// Two hundred times, somebody gives up at a moment that nobody chose.
async fn random_cancellations_leave_nothing(bench: &Bench) {
    let (clients, history) = (bench.clients(2).await, History::new());
    let mut tasks = JoinSet::new();
    for number in 0..8 {
        let (client, history) = (clients[number % 2].clone(), history.clone());
        let names: Vec<String> = (0..5).map(|key| bench.key(&format!("k{key}"))).collect();
        tasks.spawn(async move {
            for round in 0..50 {
                let mut names = names.clone();
                fastrand::shuffle(&mut names);
                names.truncate(fastrand::usize(1..4));
                let (set, who) = (client.multi(names).unwrap(), format!("task {number}"));
                let held = hold_once(&set, &history, &who);
                if round % 2 == 0 {
                    let moment = Duration::from_micros(fastrand::u64(0..5000));
                    let _ = tokio::time::timeout(moment, held).await;
                } else {
                    held.await;
                }
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    let all = clients[0].multi((0..5).map(|key| bench.key(&format!("k{key}")))).unwrap();
    // Sooner than any lease would end it.
    let guard = all.lock_timeout(millis(2000)).await.unwrap();
    guard.release().await.unwrap();
    history.check().assert_clean().assert_at_least(8 * 25);
    eventually("nothing is left", async || bench.keys_left().await.is_empty()).await;
}

async fn a_dropped_guard_frees_all(bench: &Bench) {
    let (client, other) = (bench.client().await, bench.client().await);
    let guard = multi(bench, &client, &["a", "b"]).lock().await.unwrap();
    drop(guard);
    let guard = soon("all are free", multi(bench, &other, &["b", "a"]).lock()).await.unwrap();
    // One who panics drops its guard as well.
    let panicking = tokio::spawn(async move {
        let _guard = guard;
        panic!("this panic is part of the case");
    });
    assert!(panicking.await.unwrap_err().is_panic());
    drop(soon("all are free", multi(bench, &client, &["b", "a"]).lock()).await.unwrap());
}

async fn the_loss_of_one_is_the_loss_of_all(bench: &Bench) {
    let (client, other) = (bench.client().await, bench.client().await);
    let guard = multi(bench, &client, &["a", "b", "c"]).lock_with(renewed(1000)).await.unwrap();
    let token = guard.cancellation_token();
    let mut lost = Box::pin(guard.lost());
    assert!(waits(&mut lost).await && !token.is_cancelled());
    lock(bench, &other, "b").force_release().await.unwrap().expect("it is held");
    let (key, why) = soon("it is lost", lost).await;
    assert_eq!(key.as_str(), bench.key("b"));
    assert!(matches!(why, Loss::Forced | Loss::Gone), "{why:?}");
    assert!(token.is_cancelled() && !guard.is_held() && guard.remaining().is_zero());
    assert!(matches!(guard.standing(), Standing::Lost(_)));
    let error = guard.check().unwrap_err();
    assert_eq!((error.kind(), error.key().map(Key::as_str)), (ErrorKind::Lost, Some(&*bench.key("b"))));
    assert!(guard.guards()[0].is_held() && guard.guards()[2].is_held());
}

async fn work_is_dropped_when_one_is_lost(bench: &Bench) {
    let client = bench.client().await;
    let set = multi(bench, &client, &["a", "b"]);
    let guard = set.lock().await.unwrap();
    assert_eq!(guard.run(async { 7 }).await.unwrap(), 7);
    let alive = Arc::new(());
    let kept = Arc::clone(&alive);
    let work = async move {
        std::future::pending::<()>().await;
        drop(kept);
    };
    let forced = lock(bench, &client, "b");
    let (error, _) = tokio::join!(soon("the work is stopped", guard.run(work)), forced.force_release());
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Lost);
    assert_eq!(Arc::strong_count(&alive), 1, "the work was not dropped");
    let error = guard.run(async { panic!("the work was begun") }).await.unwrap_err();
    assert_eq!(error.key().map(Key::as_str), Some(&*bench.key("b")));
}

async fn a_release_says_what_went_wrong(bench: &Bench) {
    let (client, other) = (bench.client().await, bench.client().await);
    let guard = multi(bench, &client, &["a", "b", "c"]).lock().await.unwrap();
    lock(bench, &other, "b").force_release().await.unwrap();
    let error = guard.release().await.unwrap_err();
    assert_eq!((error.kind(), error.key().map(Key::as_str)), (ErrorKind::Lost, Some(&*bench.key("b"))));
    bench.assert_nothing_left().await;
}

async fn an_owner_goes_in_again(bench: &Bench) {
    let client = bench.client().await;
    let mine = Options::new().owner(Owner::new());
    let single = lock(bench, &client, "b").lock_with(mine.clone()).await.unwrap();
    let set = multi(bench, &client, &["a", "b"]);
    assert!(set.try_lock().await.unwrap().is_none(), "nobody else");
    let outer = soon("it is in already", set.lock_with(mine.clone())).await.unwrap();
    let inner = soon("it is in already", set.lock_with(mine.clone())).await.unwrap();
    assert_eq!(inner.token_of(&bench.key("b")), Some(single.token()));
    assert_eq!(inner.release().await.unwrap(), Release::StillHeld(2));
    assert_eq!(single.release().await.unwrap(), Release::StillHeld(1));
    assert!(outer.is_held());
    assert_eq!(outer.release().await.unwrap(), Release::Released);
    bench.assert_nothing_left().await;
}

async fn a_program_goes_in_beside_its_holder(bench: &Bench) {
    let (client, other) = (bench.client().await, bench.client().await);
    let guard = multi(bench, &client, &["a", "b"]).lock().await.unwrap();
    let under = Options::new().under(&guard.lineage()).wait(millis(5000));
    let inner = multi(bench, &other, &["b", "c"]).lock_with(under.clone()).await.unwrap();
    assert_eq!(inner.token_of(&bench.key("b")), guard.token_of(&bench.key("b")));
    let sibling = multi(bench, &client, &["b", "c"]).try_lock_with(under).await.unwrap();
    assert!(sibling.is_none(), "its sibling waits");
    assert_eq!(inner.release().await.unwrap(), Release::Left);
    assert_eq!(guard.release().await.unwrap(), Release::Released);
    bench.assert_nothing_left().await;
}

async fn one_lock_of_two_clients_is_entered_by_both(bench: &Bench) {
    let clients = bench.clients(3).await;
    for kind in [Kind::Reentrant, Kind::Fair, Kind::Write] {
        let of = |client: &Client| client.lock_of(kind, &bench.key("a")).unwrap();
        let set = MultiLock::new([of(&clients[0]), of(&clients[1]), lock(bench, &clients[0], "b")]).unwrap();
        let guard = soon("it does not wait for itself", set.lock()).await.unwrap();
        assert_eq!(guard.guards().len(), 3);
        assert!(of(&clients[2]).try_lock().await.unwrap().is_none());
        assert_eq!(guard.release().await.unwrap(), Release::Released, "{kind}");
        let guard = set.try_lock().await.unwrap().expect("it is free");
        drop(guard);
        soon("it is free", of(&clients[2]).lock()).await.unwrap().release().await.unwrap();
    }
    eventually("nothing is left", async || bench.keys_left().await.is_empty()).await;
}

async fn one_simple_lock_of_two_clients_is_a_conflict(bench: &Bench) {
    let clients = bench.clients(2).await;
    let of = |client: &Client| client.simple(&bench.key("a")).unwrap();
    let set = MultiLock::new([of(&clients[0]), of(&clients[1])]).unwrap();
    for error in [set.try_lock().await.unwrap_err(), soon("it does not wait for itself", set.lock()).await.unwrap_err()]
    {
        assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
        assert!(error.to_string().contains("already held by the one who asks"), "{error}");
    }
    let mixed = MultiLock::new([of(&clients[0]), lock(bench, &clients[1], "a")]).unwrap();
    assert_eq!(soon("kinds do not mix", mixed.lock()).await.unwrap_err().kind(), ErrorKind::Conflict);
    eventually("nothing is left", async || bench.keys_left().await.is_empty()).await;
}

async fn clients_that_share_keys_do_not_wait_for_each_other(bench: &Bench) {
    let (clients, history) = (bench.clients(4).await, History::new());
    let mut tasks = JoinSet::new();
    for number in 0..6 {
        // Two clients, in an order that differs from task to task.
        let pair = [&clients[number % 4], &clients[(number * 3 + 1) % 4]];
        let locks: Vec<Lock> =
            pair.iter().flat_map(|client| ["a", "b"].map(|name| lock(bench, client, name))).collect();
        let (set, history) = (MultiLock::new(locks).unwrap(), history.clone());
        tasks.spawn(async move {
            for _ in 0..10 {
                let who = format!("task {number}");
                let guard = soon("nobody waits for ever", set.lock_with(renewed(5000))).await.unwrap();
                let key = guard.keys().next().unwrap().to_string();
                let hold = history.asking(&key, &who).granted(guard.token_of(&key).unwrap());
                tokio::task::yield_now().await;
                hold.ended();
                guard.release().await.unwrap();
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    history.check().assert_clean().assert_at_least(60);
    eventually("nothing is left", async || bench.keys_left().await.is_empty()).await;
}

/// Claims of a client that is not there.
fn wanted(bench: &Bench, names: &[&str], number: u64) -> Vec<Step> {
    let acquire = |at: usize| Operation::Acquire {
        claim: Claim::new("00000000-0000-4000-8000-00000000000a", number + at as u64),
        under: Vec::new(),
        lease: millis(2000),
        stay: Stay::No,
    };
    let one = |(at, name): (usize, &&str)| {
        let kind = if at % 2 == 0 { Kind::Reentrant } else { Kind::Simple };
        Step::new(kind, &Key::new(&bench.key(name)).unwrap(), acquire(at))
    };
    names.iter().enumerate().map(one).collect()
}

fn claim(one: &Step) -> &Claim {
    let Operation::Acquire { claim, .. } = &one.operation else { panic!("{one:?}") };
    claim
}

async fn asking_again_says_the_same(bench: &Bench) {
    let all = wanted(bench, &["a", "b", "c"], 1);
    let first = bench.take_all(&all).await;
    if first == Applied::Apart {
        return;
    }
    let Applied::Each(answers) = &first else { panic!("all are free: {first:?}") };
    let granted = |answer: &Result<Outcome, StoreError>| match answer {
        Ok(Outcome::Granted(grant)) => *grant,
        other => panic!("all are free: {other:?}"),
    };
    let grants: Vec<Grant> = answers.iter().map(granted).collect();
    let mut tokens: Vec<u64> = grants.iter().map(|grant| grant.token).collect();
    tokens.dedup();
    assert_eq!((tokens.len(), grants.iter().all(|grant| grant.count == 1)), (3, true));
    assert_eq!(bench.take_all(&all).await, first);
    for (one, grant) in all.iter().zip(grants) {
        assert_eq!(bench.apply(one.kind, &one.key, &one.operation).await, Outcome::Granted(grant));
    }
    let others = wanted(bench, &["d", "b", "c"], 11);
    let applied = bench.take_all(&others).await;
    let Applied::Stopped { at: 1, answer: Ok(Outcome::Busy(busy)) } = applied else {
        panic!("the second is held: {applied:?}")
    };
    assert_eq!(busy.holder.unwrap().claim, *claim(&all[1]));
    assert_eq!(bench.apply(Kind::Reentrant, &others[0].key, &Operation::Inspect).await, Outcome::Seen(None));
}

fn cancel(one: &Step) -> Operation {
    Operation::Release {
        claim: claim(one).clone(),
        left: 0,
        change: u32::MAX,
        lease: millis(2000),
        keep: Duration::ZERO,
        cancel: Some(Cancelled::one(claim(one), 0, millis(60_000))),
    }
}

async fn a_cancelled_claim_refuses_all(bench: &Bench) {
    for at in 0..3 {
        let all = wanted(bench, &["a", "b", "c"], 10 * at as u64);
        bench.apply(all[at].kind, &all[at].key, &cancel(&all[at])).await;
        let applied = bench.take_all(&all).await;
        if applied == Applied::Apart {
            return;
        }
        assert_eq!(applied, Applied::Stopped { at, answer: Ok(Outcome::Refused) });
        for one in &all {
            assert_eq!(bench.apply(one.kind, &one.key, &Operation::Inspect).await, Outcome::Seen(None));
        }
    }
}

/// A request that was given up arrives after all.
async fn locks_that_are_lost_on_the_way_are_not_taken_late(bench: &Bench) {
    let ((client, tap), other) = (bench.tapped().await, bench.client().await);
    let set = multi(bench, &client, &["a", "b"]);
    tap.lose_acquires(true);
    let mut asking = Box::pin(set.lock());
    assert!(waits(&mut asking).await);
    eventually("it was asked for", async || tap.lost_acquires().len() >= 2).await;
    drop(asking);
    tap.lose_acquires(false);
    client.close(millis(5000)).await.unwrap();
    for (kind, key, operation) in tap.lost_acquires() {
        assert_eq!(bench.apply(kind, &key, &operation).await, Outcome::Refused);
    }
    let guard = multi(bench, &other, &["a", "b"]).try_lock().await.unwrap().expect("all are free");
    guard.release().await.unwrap();
}

/// Work that was handed the guard's token must end with the lock, whoever has the guard since.
async fn a_guard_that_becomes_a_set_still_tells_whom_it_told(bench: &Bench) {
    let client = bench.client().await;
    let lock = client.lock(&bench.key("a")).unwrap();
    let guard = lock.lock().await.unwrap();
    let handed_out = guard.cancellation_token();
    let set = tenure_core::MultiGuard::from(guard);
    lock.force_release().await.unwrap();
    soon("the work is told", handed_out.cancelled()).await;
    soon("the set is told", set.cancellation_token().cancelled()).await;
}
