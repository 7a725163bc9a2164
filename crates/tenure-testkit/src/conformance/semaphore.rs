//! So many at a time.

use super::bench::{Bench, millis, renewed, unrenewed};
use super::cancelling::{give_up_after, give_up_unanswered};
use super::case::cases;
use super::waiting::{eventually, eventually_within, heard, soon, within};
use crate::History;
use futures_util::future::join_all;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tenure_core::{
    Client, Error, ErrorKind, Guard, Kind, Loss, MultiLock, Options, Outcome, Release, Retry, Semaphore, What,
};
use tokio::task::JoinHandle;

cases!("semaphore":
    permits_are_taken_and_given_back,
    no_more_are_taken_than_there_are,
    one_permit_is_had_by_one_at_a_time,
    all_or_one_of_the_most_there_can_be,
    those_who_wait_are_served_in_order,
    one_who_wants_many_is_not_passed_over,
    one_who_wants_many_gets_them_when_there_are_enough,
    several_go_in_when_several_come_back,
    one_who_waits_is_called needs PushedWakeups,
    nobody_hangs_when_nothing_is_heard,
    permits_that_are_added_go_to_those_who_wait,
    permits_can_be_added_where_there_were_none,
    there_may_be_more_and_fewer_while_all_are_taken,
    there_may_be_fewer_than_are_taken,
    what_is_drained_is_gone,
    nobody_gets_in_before_it_was_said_how_many,
    the_first_to_ask_makes_them,
    more_than_there_are_is_refused_at_once,
    one_who_waits_for_more_than_there_are_is_told,
    those_behind_one_who_wants_too_many_now_are_called needs PushedWakeups,
    permits_come_back_when_a_lease_ends,
    permits_are_renewed,
    one_who_gave_up_leaves_nothing_behind,
    a_request_that_was_given_up_takes_nothing_when_it_arrives,
    random_cancellations_lose_no_permit,
    permits_that_were_taken_by_force_are_lost,
    a_time_out_says_who_has_them,
    tokens_rise,
    one_may_poll,
    who_has_them_is_seen,
    kinds_do_not_mix,
    numbers_that_make_no_sense_are_refused,
);

fn semaphore(bench: &Bench, client: &Client) -> Semaphore {
    client.semaphore(&bench.key("a")).unwrap()
}

/// A look by oneself, and then some.
const BY_ITSELF: Duration = Duration::from_millis(1000 + 1500);

/// A semaphore of so many permits.
async fn of(bench: &Bench, permits: u32) -> Semaphore {
    let semaphore = semaphore(bench, &bench.client().await);
    assert!(semaphore.try_set_permits(permits).await.unwrap());
    semaphore
}

/// Lets a client wait; it stands in line when this returns.
async fn line_up(bench: &Bench, client: &Client, permits: u32, options: Options) -> JoinHandle<Result<Guard, Error>> {
    let (semaphore, mut events) = (semaphore(bench, client), client.events());
    let waiting = tokio::spawn(async move { semaphore.acquire_with(permits, options).await });
    heard(&mut events, "it waits", |what| matches!(what, What::Waiting { .. })).await;
    waiting
}

async fn permits_are_taken_and_given_back(bench: &Bench) {
    let semaphore = of(bench, 5).await;
    assert!(!semaphore.try_set_permits(7).await.unwrap());
    let (one, three) = (semaphore.acquire().await.unwrap(), semaphore.acquire_many(3).await.unwrap());
    assert_eq!((semaphore.available().await.unwrap(), semaphore.permits().await.unwrap()), (1, Some(5)));
    assert!(semaphore.try_acquire_many(2).await.unwrap().is_none());
    let last = semaphore.try_acquire().await.unwrap().expect("there is one");
    assert!(semaphore.try_acquire().await.unwrap().is_none());
    assert_eq!(three.release().await.unwrap(), Release::Left);
    assert_eq!(one.release().await.unwrap(), Release::Left);
    assert_eq!(last.release().await.unwrap(), Release::Released);
    assert_eq!(semaphore.available().await.unwrap(), 5);
    drop(semaphore.acquire_many(5).await.unwrap());
    eventually("they are back", async || semaphore.available().await.unwrap() == 5).await;
}

async fn no_more_are_taken_than_there_are(bench: &Bench) {
    const PERMITS: u32 = 3;
    let clients = bench.clients(4).await;
    of(bench, PERMITS).await;
    let (taken, most) = (Arc::new(AtomicI64::new(0)), Arc::new(AtomicI64::new(0)));
    let tasks = (0..40).map(|number| {
        let semaphore = semaphore(bench, &clients[number % clients.len()]);
        let (taken, most) = (Arc::clone(&taken), Arc::clone(&most));
        tokio::spawn(async move {
            for _ in 0..4 {
                let want = fastrand::u32(1..=2);
                let guard = semaphore.acquire_with(want, renewed(2000)).await.unwrap();
                let now = taken.fetch_add(i64::from(want), Ordering::SeqCst) + i64::from(want);
                most.fetch_max(now, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_micros(fastrand::u64(0..1500))).await;
                assert!(guard.is_held());
                taken.fetch_sub(i64::from(want), Ordering::SeqCst);
                if fastrand::bool() {
                    guard.release().await.unwrap();
                }
            }
        })
    });
    for task in soon("all are served", join_all(tasks)).await {
        task.unwrap();
    }
    let most = most.load(Ordering::SeqCst);
    assert!((2..=i64::from(PERMITS)).contains(&most), "{most} of {PERMITS} permits were taken at once");
    let semaphore = semaphore(bench, &clients[0]);
    eventually("they are back", async || semaphore.available().await.unwrap() == i64::from(PERMITS)).await;
}

/// One permit for many tasks of one client, and of many clients.
async fn one_permit_is_had_by_one_at_a_time(bench: &Bench) {
    const ROUNDS: usize = 5;
    let (clients, history) = (bench.clients(8).await, History::new());
    of(bench, 1).await;
    let tasks = (0..24).map(|number| {
        let semaphore = semaphore(bench, &clients[if number < 12 { 0 } else { number % clients.len() }]);
        let history = history.clone();
        tokio::spawn(async move {
            for _ in 0..ROUNDS {
                let asking = history.asking(semaphore.key().as_str(), &format!("task {number}"));
                let guard = semaphore.acquire_with(1, renewed(5000)).await.unwrap();
                let hold = asking.granted(guard.token());
                tokio::task::yield_now().await;
                assert!(guard.is_held());
                hold.ended();
                guard.release().await.unwrap();
            }
        })
    });
    for task in join_all(tasks).await {
        task.unwrap();
    }
    let report = history.check();
    report.assert_clean().assert_at_least(24 * ROUNDS);
    assert_eq!((report.by_who.len(), report.fewest()), (24, ROUNDS));
    assert_eq!(semaphore(bench, &clients[0]).available().await.unwrap(), 1);
}

/// Who has all of them is alone; nothing is counted wrong where the numbers end.
async fn all_or_one_of_the_most_there_can_be(bench: &Bench) {
    const ALL: u32 = i32::MAX.unsigned_abs();
    let clients = bench.clients(4).await;
    of(bench, ALL).await;
    let taken = Arc::new(AtomicI64::new(0));
    let tasks = (0..8).map(|number| {
        let (semaphore, taken) = (semaphore(bench, &clients[number % clients.len()]), Arc::clone(&taken));
        tokio::spawn(async move {
            for round in 0..10 {
                let want = if (number + round) % 2 == 0 { ALL } else { 1 };
                let guard = semaphore.acquire_with(want, renewed(5000)).await.unwrap();
                let now = taken.fetch_add(i64::from(want), Ordering::SeqCst) + i64::from(want);
                assert!(now <= i64::from(ALL), "{now} are taken");
                tokio::task::yield_now().await;
                taken.fetch_sub(i64::from(want), Ordering::SeqCst);
                guard.release().await.unwrap();
            }
        })
    });
    for task in join_all(tasks).await {
        task.unwrap();
    }
    assert_eq!(semaphore(bench, &clients[0]).available().await.unwrap(), i64::from(ALL));
}

async fn those_who_wait_are_served_in_order(bench: &Bench) {
    let clients = bench.clients(3).await;
    let first = of(bench, 1).await.acquire().await.unwrap();
    let served = Arc::new(Mutex::new(Vec::new()));
    let mut waiters = Vec::new();
    for number in 0..12 {
        let waiting = line_up(bench, &clients[number % clients.len()], 1, Options::new()).await;
        let served = Arc::clone(&served);
        waiters.push(tokio::spawn(async move {
            let guard = waiting.await.unwrap().unwrap();
            served.lock().unwrap().push(number);
            guard.release().await.unwrap();
        }));
    }
    first.release().await.unwrap();
    for waiter in waiters {
        soon("all are served", waiter).await.unwrap();
    }
    assert_eq!(*served.lock().unwrap(), (0..12).collect::<Vec<_>>());
}

async fn one_who_wants_many_is_not_passed_over(bench: &Bench) {
    let (one, other) = (bench.client().await, bench.client().await);
    let semaphore = of(bench, 3).await;
    let (a, b) = (semaphore.acquire().await.unwrap(), semaphore.acquire().await.unwrap());
    let many = line_up(bench, &one, 3, Options::new()).await;
    // There is one to be had, but not before the one who wants three.
    assert!(semaphore.try_acquire().await.unwrap().is_none());
    let few = line_up(bench, &other, 1, Options::new()).await;
    a.release().await.unwrap();
    b.release().await.unwrap();
    let many = soon("the one who wants three gets them", many).await.unwrap().unwrap();
    assert!(!few.is_finished());
    many.release().await.unwrap();
    soon("the other gets one", few).await.unwrap().unwrap().release().await.unwrap();
}

/// Some come back one by one, or there are more of them.
async fn one_who_wants_many_gets_them_when_there_are_enough(bench: &Bench) {
    let (client, semaphore) = (bench.client().await, of(bench, 5).await);
    let (a, b) = (semaphore.acquire().await.unwrap(), semaphore.acquire().await.unwrap());
    let kept = semaphore.try_acquire().await.unwrap().expect("there are five");
    assert!(semaphore.try_acquire_many(4).await.unwrap().is_none());
    assert_eq!(semaphore.available().await.unwrap(), 2);
    for bound in [Options::new(), Options::new().wait(millis(8000))] {
        let many = line_up(bench, &client, 3, bound).await;
        semaphore.add_permits(1).await.unwrap();
        soon("there are enough", many).await.unwrap().unwrap().release().await.unwrap();
        semaphore.add_permits(-1).await.unwrap();
    }
    let many = line_up(bench, &client, 4, Options::new().wait(millis(8000))).await;
    a.release().await.unwrap();
    assert!(!many.is_finished());
    b.release().await.unwrap();
    let many = soon("there are enough", many).await.unwrap().unwrap();
    assert_eq!(semaphore.available().await.unwrap(), 0);
    assert!(semaphore.try_acquire().await.unwrap().is_none());
    drop((many, kept));
}

async fn several_go_in_when_several_come_back(bench: &Bench) {
    let clients = bench.clients(3).await;
    let all = of(bench, 3).await.acquire_many(3).await.unwrap();
    let mut waiters = Vec::new();
    for client in &clients {
        waiters.push(line_up(bench, client, 1, Options::new()).await);
    }
    all.release().await.unwrap();
    let mut guards = Vec::new();
    for waiter in waiters {
        guards.push(soon("all of them get in", waiter).await.unwrap().unwrap());
    }
    assert!(guards.iter().all(Guard::is_held));
}

/// Sooner than it would look by itself.
async fn one_who_waits_is_called(bench: &Bench) {
    let (one, other) = (bench.client().await, bench.client().await);
    let semaphore = of(bench, 1).await;
    let mut best = Duration::MAX;
    for _ in 0..5 {
        let guard = semaphore.acquire().await.unwrap();
        let first = line_up(bench, &one, 1, Options::new()).await;
        let second = line_up(bench, &other, 1, Options::new()).await;
        let began = std::time::Instant::now();
        guard.release().await.unwrap();
        soon("the first gets in", first).await.unwrap().unwrap().release().await.unwrap();
        soon("the second gets in", second).await.unwrap().unwrap().release().await.unwrap();
        best = best.min(began.elapsed());
    }
    assert!(best < millis(500), "called after {best:?}");
}

async fn nobody_hangs_when_nothing_is_heard(bench: &Bench) {
    let (deaf, _tap) = bench.deaf().await;
    let guard = of(bench, 1).await.acquire().await.unwrap();
    let waiting = line_up(bench, &deaf, 1, Options::new()).await;
    guard.release().await.unwrap();
    within(BY_ITSELF, "it looks by itself", waiting).await.unwrap().unwrap().release().await.unwrap();
}

async fn permits_that_are_added_go_to_those_who_wait(bench: &Bench) {
    let (one, other) = (bench.client().await, bench.client().await);
    let semaphore = of(bench, 0).await;
    let waiting = line_up(bench, &one, 2, Options::new()).await;
    semaphore.add_permits(2).await.unwrap();
    let guard = soon("there are enough", waiting).await.unwrap().unwrap();
    let waiting = line_up(bench, &other, 1, Options::new()).await;
    semaphore.set_permits(3).await.unwrap();
    let next = soon("there are enough", waiting).await.unwrap().unwrap();
    assert_eq!((semaphore.available().await.unwrap(), semaphore.permits().await.unwrap()), (0, Some(3)));
    drop((guard, next));
}

async fn permits_can_be_added_where_there_were_none(bench: &Bench) {
    let semaphore = semaphore(bench, &bench.client().await);
    assert_eq!(semaphore.drain().await.unwrap(), 0);
    bench.assert_nothing_left().await;
    semaphore.add_permits(1).await.unwrap();
    assert_eq!(semaphore.available().await.unwrap(), 1);
    semaphore.add_permits(1).await.unwrap();
    let both = soon("there are two", semaphore.acquire_many(2)).await.unwrap();
    assert_eq!((semaphore.available().await.unwrap(), both.is_held()), (0, true));
}

async fn there_may_be_more_and_fewer_while_all_are_taken(bench: &Bench) {
    let semaphore = of(bench, 10).await;
    let available = async || semaphore.available().await.unwrap();
    for (more, left) in [(4, 14), (-9, 5)] {
        let there = u32::try_from(available().await).unwrap();
        let all = semaphore.acquire_many(there).await.unwrap();
        assert_eq!(available().await, 0);
        semaphore.add_permits(more).await.unwrap();
        assert_eq!(available().await, i64::from(more));
        all.release().await.unwrap();
        assert_eq!(available().await, left);
    }
    let five = semaphore.acquire_many(5).await.unwrap();
    assert_eq!((available().await, semaphore.permits().await.unwrap()), (0, Some(5)));
    drop(five);
}

async fn there_may_be_fewer_than_are_taken(bench: &Bench) {
    let semaphore = of(bench, 3).await;
    let (a, b) = (semaphore.acquire_many(2).await.unwrap(), semaphore.acquire().await.unwrap());
    semaphore.set_permits(1).await.unwrap();
    assert_eq!((semaphore.available().await.unwrap(), semaphore.permits().await.unwrap()), (-2, Some(1)));
    assert!(a.is_held() && b.is_held());
    b.release().await.unwrap();
    assert_eq!(semaphore.available().await.unwrap(), -1);
    assert!(semaphore.try_acquire().await.unwrap().is_none());
    a.release().await.unwrap();
    assert_eq!(semaphore.available().await.unwrap(), 1);
    semaphore.add_permits(-3).await.unwrap();
    assert_eq!(semaphore.available().await.unwrap(), -2);
    assert!(semaphore.try_acquire().await.unwrap().is_none());
}

async fn what_is_drained_is_gone(bench: &Bench) {
    let semaphore = of(bench, 5).await;
    let guard = semaphore.acquire_many(2).await.unwrap();
    assert_eq!(semaphore.drain().await.unwrap(), 3);
    assert_eq!((semaphore.drain().await.unwrap(), semaphore.available().await.unwrap()), (0, 0));
    guard.release().await.unwrap();
    assert_eq!((semaphore.available().await.unwrap(), semaphore.permits().await.unwrap()), (2, Some(2)));
}

async fn nobody_gets_in_before_it_was_said_how_many(bench: &Bench) {
    let client = bench.client().await;
    let semaphore = semaphore(bench, &client);
    assert!(semaphore.try_acquire().await.unwrap().is_none());
    assert_eq!((semaphore.available().await.unwrap(), semaphore.permits().await.unwrap()), (0, None));
    let waiting = line_up(bench, &client, 1, Options::new()).await;
    semaphore.set_permits(1).await.unwrap();
    soon("it is said", waiting).await.unwrap().unwrap().release().await.unwrap();
}

async fn the_first_to_ask_makes_them(bench: &Bench) {
    let clients = bench.clients(2).await;
    let two = semaphore(bench, &clients[0]).of(2).unwrap();
    let (a, b) = (two.acquire().await.unwrap(), two.acquire().await.unwrap());
    // Who says otherwise later changes nothing.
    let five = semaphore(bench, &clients[1]).of(5).unwrap();
    assert!(five.try_acquire().await.unwrap().is_none());
    assert_eq!(five.permits().await.unwrap(), Some(2));
    drop((a, b));
}

async fn more_than_there_are_is_refused_at_once(bench: &Bench) {
    let semaphore = of(bench, 3).await;
    let guard = semaphore.acquire().await.unwrap();
    let error = soon("it is told", semaphore.acquire_many(4)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.to_string().contains("asked for=4 permits=3"), "{error}");
    assert_eq!(semaphore.available().await.unwrap(), 2);
    drop(guard);
}

/// It would stand in everyone's way for ever.
async fn one_who_waits_for_more_than_there_are_is_told(bench: &Bench) {
    let (one, other) = (bench.client().await, bench.client().await);
    let semaphore = of(bench, 3).await;
    let guard = semaphore.acquire_many(3).await.unwrap();
    let many = line_up(bench, &one, 3, Options::new()).await;
    let few = line_up(bench, &other, 1, Options::new()).await;
    semaphore.set_permits(2).await.unwrap();
    guard.release().await.unwrap();
    let error = soon("it is told", many).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    drop(soon("the one behind it gets in", few).await.unwrap().unwrap());
}

async fn those_behind_one_who_wants_too_many_now_are_called(bench: &Bench) {
    let (one, other) = (bench.client().await, bench.client().await);
    let semaphore = of(bench, 5).await;
    let mut best = Duration::MAX;
    for _ in 0..5 {
        semaphore.set_permits(5).await.unwrap();
        let guard = semaphore.acquire().await.unwrap();
        let all = line_up(bench, &one, 5, Options::new()).await;
        let few = line_up(bench, &other, 2, Options::new()).await;
        let began = std::time::Instant::now();
        semaphore.set_permits(4).await.unwrap();
        soon("the one behind it gets in", few).await.unwrap().unwrap().release().await.unwrap();
        assert_eq!(soon("it is told", all).await.unwrap().unwrap_err().kind(), ErrorKind::Conflict);
        best = best.min(began.elapsed());
        guard.release().await.unwrap();
    }
    assert!(best < millis(500), "called after {best:?}");
}

async fn permits_come_back_when_a_lease_ends(bench: &Bench) {
    let (one, other) = (bench.client().await, bench.client().await);
    let semaphore = of(bench, 2).await;
    let guard = semaphore.acquire_with(2, unrenewed(300)).await.unwrap();
    let waiting = line_up(bench, &one, 2, Options::new()).await;
    let next = within(millis(300 + 1500), "the lease ends", waiting).await.unwrap().unwrap();
    assert_eq!(soon("it is told", guard.lost()).await, Loss::LeaseEnded);
    assert_eq!(guard.release().await.unwrap_err().kind(), ErrorKind::Lost);
    assert!(semaphore.try_acquire().await.unwrap().is_none(), "a release that came too late gave nothing back");
    next.release().await.unwrap();
    let guard = semaphore.acquire_with(1, unrenewed(200)).await.unwrap();
    std::mem::forget(guard);
    let both = self::semaphore(bench, &other);
    drop(soon("nobody waits, and they come back", both.acquire_many(2)).await.unwrap());
}

async fn permits_are_renewed(bench: &Bench) {
    let client = bench.client().await;
    of(bench, 2).await;
    let (mut events, semaphore) = (client.events(), semaphore(bench, &client));
    let guards = [
        semaphore.acquire_with(1, renewed(400)).await.unwrap(),
        semaphore.acquire_with(1, renewed(400)).await.unwrap(),
    ];
    for _ in 0..12 {
        heard(&mut events, "a lease is renewed", |what| matches!(what, What::Renewed)).await;
    }
    assert!(guards.iter().all(Guard::is_held));
    assert!(semaphore.try_acquire().await.unwrap().is_none());
}

async fn one_who_gave_up_leaves_nothing_behind(bench: &Bench) {
    let ((client, tap), other) = (bench.tapped().await, bench.client().await);
    let semaphore = of(bench, 2).await;
    give_up_unanswered(&tap, self::semaphore(bench, &client).acquire_many(2)).await;
    let both = soon("they are back", self::semaphore(bench, &other).acquire_many(2)).await.unwrap();
    let waiting = line_up(bench, &client, 2, Options::new()).await;
    let behind = line_up(bench, &other, 1, Options::new()).await;
    waiting.abort();
    assert!(waiting.await.unwrap_err().is_cancelled());
    both.release().await.unwrap();
    // Sooner than the place of one who died would be lost.
    within(millis(2500), "the next gets in", behind).await.unwrap().unwrap().release().await.unwrap();
    eventually("all are back", async || semaphore.available().await.unwrap() == 2).await;
}

async fn a_request_that_was_given_up_takes_nothing_when_it_arrives(bench: &Bench) {
    let semaphore = of(bench, 2).await;
    let (client, tap) = bench.tapped().await;
    tap.lose_acquires(true);
    let asking = tokio::spawn({
        let semaphore = self::semaphore(bench, &client);
        async move { semaphore.acquire().await.map(drop) }
    });
    eventually("it is on its way", async || !tap.lost_acquires().is_empty()).await;
    asking.abort();
    assert!(asking.await.unwrap_err().is_cancelled());
    client.close(millis(8000)).await.unwrap();
    for (kind, key, operation) in tap.lost_acquires() {
        assert_eq!(bench.apply(kind, &key, &operation).await, Outcome::Refused);
    }
    assert_eq!(semaphore.available().await.unwrap(), 2);
}

async fn random_cancellations_lose_no_permit(bench: &Bench) {
    let (clients, semaphore) = (bench.clients(2).await, of(bench, 3).await);
    let obtained = Arc::new(AtomicUsize::new(0));
    let tasks = (0..10).map(|number| {
        let (semaphore, obtained) = (self::semaphore(bench, &clients[number % 2]), Arc::clone(&obtained));
        tokio::spawn(async move {
            for _ in 0..30 {
                let attempt = semaphore.acquire_with(fastrand::u32(1..=3), renewed(2000));
                let moment = Duration::from_micros(fastrand::u64(0..5000));
                let outcome = if fastrand::bool() {
                    tokio::time::timeout(moment, attempt).await.ok()
                } else {
                    give_up_after(fastrand::u32(1..5), attempt).await
                };
                if let Some(guard) = outcome {
                    assert!(guard.unwrap().is_held());
                    obtained.fetch_add(1, Ordering::SeqCst);
                }
            }
        })
    });
    for task in join_all(tasks).await {
        task.unwrap();
    }
    // Sooner than any lease would give them back.
    eventually_within(millis(1000), "all are back", async || semaphore.available().await.unwrap() == 3).await;
    assert!(obtained.load(Ordering::SeqCst) > 0);
}

async fn permits_that_were_taken_by_force_are_lost(bench: &Bench) {
    let (client, semaphore) = (bench.client().await, of(bench, 2).await);
    let guards = [
        self::semaphore(bench, &client).acquire().await.unwrap(),
        self::semaphore(bench, &client).acquire().await.unwrap(),
    ];
    let held = semaphore.force_release().await.unwrap().expect("some were taken");
    assert_eq!((held.kind, held.holders.len()), (Kind::Semaphore, 2));
    for guard in &guards {
        let why = soon("it is told", guard.lost()).await;
        assert!(matches!(why, Loss::Forced | Loss::Gone), "{why:?}");
    }
    assert_eq!(semaphore.available().await.unwrap(), 2);
    drop(guards);
    assert!(semaphore.force_release().await.unwrap().is_none());
    assert_eq!(semaphore.available().await.unwrap(), 2);
}

async fn a_time_out_says_who_has_them(bench: &Bench) {
    let (client, semaphore) = (bench.client().await, of(bench, 1).await);
    let guard = semaphore.acquire().await.unwrap();
    let error = self::semaphore(bench, &client).acquire_timeout(millis(300)).await.unwrap_err();
    assert_eq!((error.kind(), error.holder().map(|holder| &holder.claim)), (ErrorKind::Timeout, Some(guard.claim())));
    assert!(error.to_string().starts_with("there were too few permits in time"), "{error}");
    eventually("nobody waits", async || semaphore.inspect().await.unwrap().unwrap().line.is_empty()).await;
}

async fn tokens_rise(bench: &Bench) {
    let semaphore = of(bench, 3).await;
    let mut guards = Vec::new();
    for _ in 0..3 {
        guards.push(semaphore.acquire().await.unwrap());
    }
    assert!(guards.is_sorted_by(|one, next| one.token() < next.token()));
}

async fn one_may_poll(bench: &Bench) {
    let (client, semaphore) = (bench.client().await, of(bench, 1).await);
    let guard = semaphore.acquire().await.unwrap();
    let polls = line_up(bench, &client, 1, Options::new().retry(Retry::fixed(millis(20)))).await;
    guard.release().await.unwrap();
    drop(soon("it gets in", polls).await.unwrap().unwrap());
    let guard = soon("it is back", semaphore.acquire()).await.unwrap();
    let tired = Options::new().retry(Retry::fixed(millis(10)).times(2));
    let error = self::semaphore(bench, &client).acquire_with(1, tired).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    drop(guard);
}

async fn who_has_them_is_seen(bench: &Bench) {
    let (client, semaphore) = (bench.client().await, of(bench, 3).await);
    assert!(semaphore.inspect().await.unwrap().is_none());
    let guard = self::semaphore(bench, &client).acquire_many(2).await.unwrap();
    let waiting = line_up(bench, &client, 2, Options::new()).await;
    let held = semaphore.inspect().await.unwrap().expect("some are taken");
    assert_eq!(
        (held.kind, held.holder().claim.clone(), held.holder().count),
        (Kind::Semaphore, guard.claim().clone(), 2)
    );
    assert_eq!((held.holder().token, held.waiters, held.line.len()), (Some(guard.token()), Some(1), 1));
    assert!(client.list(&bench.key("a")).await.unwrap().iter().any(|held| held.kind == Kind::Semaphore));
    waiting.abort();
}

async fn kinds_do_not_mix(bench: &Bench) {
    let client = bench.client().await;
    let (semaphore, key) = (semaphore(bench, &client), bench.key("a"));
    let guard = client.lock(&key).unwrap().lock().await.unwrap();
    assert_eq!(semaphore.clone().of(3).unwrap().try_acquire().await.unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(semaphore.set_permits(3).await.unwrap_err().kind(), ErrorKind::Conflict);
    guard.release().await.unwrap();
    semaphore.set_permits(3).await.unwrap();
    let taken = semaphore.acquire().await.unwrap();
    for kind in [Kind::Reentrant, Kind::Simple, Kind::Fair, Kind::Write, Kind::Fenced] {
        let error = client.lock_of(kind, &key).unwrap().lock_timeout(millis(5000)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{kind}: {error}");
        let free = client.lock(&bench.key("b")).unwrap();
        let set = MultiLock::new([&free, &client.lock_of(kind, &key).unwrap()]).unwrap();
        for error in [set.try_lock().await.unwrap_err(), set.lock_timeout(millis(5000)).await.unwrap_err()] {
            assert!(error.to_string().contains("as=semaphore"), "{kind}: {error}");
        }
    }
    assert_eq!((semaphore.available().await.unwrap(), taken.is_held()), (2, true));
}

async fn numbers_that_make_no_sense_are_refused(bench: &Bench) {
    let client = bench.client().await;
    let semaphore = semaphore(bench, &client);
    for refused in [
        semaphore.acquire_many(0).await.map(drop),
        semaphore.acquire_many(u32::MAX).await.map(drop),
        semaphore.set_permits(u32::MAX).await,
        semaphore.clone().of(u32::MAX).map(drop),
        semaphore.acquire_timeout(Duration::MAX).await.map(drop),
        semaphore.acquire_with(1, Options::new().under("a:1")).await.map(drop),
        client.semaphore("").map(drop),
    ] {
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Invalid);
    }
    assert_eq!(client.lock_of(Kind::Semaphore, "a").unwrap_err().kind(), ErrorKind::Unsupported);
    bench.assert_nothing_left().await;
}
