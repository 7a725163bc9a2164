//! Permits that have names.

use super::bench::{Bench, millis};
use super::cancelling::give_up_unanswered;
use super::case::cases;
use super::waiting::{eventually, soon, within};
use futures_util::future::join_all;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};
use tenure_core::{Client, ErrorKind, Kind, Options, Outcome, PermitId, Permits};

cases!("permits":
    they_are_renewed_and_given_back_by_whoever_knows_their_names,
    they_are_given_back_all_or_none,
    each_ends_by_itself,
    they_last_while_they_are_renewed,
    one_who_waits_gets_what_is_given_back,
    one_who_waits_gets_what_has_ended,
    nobody_hangs_when_nothing_is_heard,
    many_that_have_ended_are_back_and_cannot_be_given_back,
    no_more_are_taken_than_there_are,
    one_permit_is_had_by_one_at_a_time,
    how_many_there_are_can_be_changed,
    what_is_taken_and_what_is_left_add_up,
    there_may_be_fewer_than_are_taken,
    more_than_there_are_is_refused_at_once,
    the_first_to_ask_makes_them,
    one_who_gave_up_leaves_nothing_behind,
    a_request_that_was_given_up_takes_nothing_when_it_arrives,
    they_are_seen,
    kinds_do_not_mix,
    names_and_numbers_that_make_no_sense_are_refused,
);

const LONG: Duration = Duration::from_secs(60);

fn permits(bench: &Bench, client: &Client) -> Permits {
    client.permits(&bench.key("a")).unwrap()
}

async fn of(bench: &Bench, count: u32) -> Permits {
    let permits = permits(bench, &bench.client().await);
    assert!(permits.try_set_permits(count).await.unwrap());
    permits
}

async fn they_are_renewed_and_given_back_by_whoever_knows_their_names(bench: &Bench) {
    let (here, there) = (of(bench, 2).await, permits(bench, &bench.client().await));
    let id = here.acquire(LONG).await.unwrap();
    assert_eq!(id.as_str().len(), 32);
    let passed_on: PermitId = id.to_string().parse().unwrap();
    assert_eq!((here.available().await.unwrap(), here.permits().await.unwrap()), (1, Some(2)));
    there.renew(&passed_on, LONG).await.unwrap();
    there.release(&passed_on).await.unwrap();
    assert_eq!(here.available().await.unwrap(), 2);
    let error = here.release(&id).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Lost);
    assert!(error.to_string().contains(id.as_str()), "{error}");
    assert_eq!(here.renew(&id, LONG).await.unwrap_err().kind(), ErrorKind::Lost);
    assert_eq!(here.available().await.unwrap(), 2);
}

async fn they_are_given_back_all_or_none(bench: &Bench) {
    let permits = of(bench, 4).await;
    let ids = permits.acquire_many(3, LONG).await.unwrap();
    assert_eq!(ids.len(), 3);
    permits.release(&ids[1]).await.unwrap();
    assert_eq!(permits.release_many(&ids).await.unwrap_err().kind(), ErrorKind::Lost);
    assert_eq!(permits.available().await.unwrap(), 2);
    // One that is named twice is given back once.
    permits.release_many(&[ids[0].clone(), ids[2].clone(), ids[0].clone()]).await.unwrap();
    assert_eq!(permits.available().await.unwrap(), 4);
    permits.release_many(&[]).await.unwrap();
}

async fn each_ends_by_itself(bench: &Bench) {
    let permits = of(bench, 2).await;
    let (short, long) = (permits.acquire(millis(200)).await.unwrap(), permits.acquire(LONG).await.unwrap());
    eventually("the short one ends", async || permits.available().await.unwrap() == 1).await;
    assert_eq!(permits.renew(&short, LONG).await.unwrap_err().kind(), ErrorKind::Lost);
    assert_eq!(permits.release(&short).await.unwrap_err().kind(), ErrorKind::Lost);
    permits.release(&long).await.unwrap();
    assert_eq!(permits.available().await.unwrap(), 2);
}

async fn they_last_while_they_are_renewed(bench: &Bench) {
    let permits = of(bench, 1).await;
    let id = permits.acquire(millis(1000)).await.unwrap();
    let began = Instant::now();
    while began.elapsed() < millis(1800) {
        permits.renew(&id, millis(1000)).await.unwrap();
        assert!(permits.try_acquire(LONG).await.unwrap().is_none());
        tokio::time::sleep(millis(50)).await;
    }
    // It is only ever made longer.
    permits.renew(&id, LONG).await.unwrap();
    permits.renew(&id, millis(100)).await.unwrap();
    let held = permits.inspect().await.unwrap().unwrap();
    assert!(held.holder().remaining.unwrap() > LONG / 2);
    permits.release(&id).await.unwrap();
}

async fn one_who_waits_gets_what_is_given_back(bench: &Bench) {
    let permits = of(bench, 2).await;
    let ids = permits.acquire_many(2, LONG).await.unwrap();
    let (client, tap) = bench.tapped().await;
    let other = self::permits(bench, &client);
    let waiting = tokio::spawn(async move { other.acquire_many(2, LONG).await.unwrap() });
    eventually("it asks in vain", async || tap.acquires() >= 1).await;
    permits.release(&ids[0]).await.unwrap();
    permits.release(&ids[1]).await.unwrap();
    assert_eq!(soon("it gets both", waiting).await.unwrap().len(), 2);
    let error = permits.acquire_timeout(LONG, millis(50)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
}

async fn one_who_waits_gets_what_has_ended(bench: &Bench) {
    let permits = of(bench, 1).await;
    let began = Instant::now();
    let id = permits.acquire(millis(300)).await.unwrap();
    let next = within(millis(300 + 1500), "it ends", permits.acquire(LONG)).await.unwrap();
    assert!(began.elapsed() >= millis(290), "{:?}", began.elapsed());
    assert_eq!(permits.release(&id).await.unwrap_err().kind(), ErrorKind::Lost);
    assert_eq!(permits.available().await.unwrap(), 0, "a release that came too late gave nothing back");
    permits.release(&next).await.unwrap();
}

async fn many_that_have_ended_are_back_and_cannot_be_given_back(bench: &Bench) {
    let permits = of(bench, 10).await;
    let short = permits.acquire_many(3, millis(200)).await.unwrap();
    let long = permits.try_acquire_many(6, LONG).await.unwrap().expect("there are seven");
    assert_eq!(permits.available().await.unwrap(), 1);
    eventually("the short ones end", async || permits.available().await.unwrap() == 4).await;
    let strange: PermitId = "00112233445566778899aabbccddeeff".parse().unwrap();
    let (with_ended, with_strange) = ([long[0].clone(), short[0].clone()], [long[0].clone(), strange.clone()]);
    for refused in [&short[..], &[strange], &with_ended, &with_strange] {
        assert_eq!(permits.release_many(refused).await.unwrap_err().kind(), ErrorKind::Lost);
        assert_eq!(permits.available().await.unwrap(), 4);
    }
    permits.release_many(&long[..2]).await.unwrap();
    assert_eq!(permits.available().await.unwrap(), 6);
    permits.release_many(&long[2..]).await.unwrap();
    assert_eq!(permits.release_many(&long).await.unwrap_err().kind(), ErrorKind::Lost);
    assert_eq!(permits.available().await.unwrap(), 10);
    let many = permits.acquire_many(9, millis(200)).await.unwrap();
    let one = soon("they end", permits.acquire_many(2, LONG)).await.unwrap();
    assert_eq!((many.len(), permits.available().await.unwrap()), (9, 8));
    permits.release_many(&one).await.unwrap();
    assert_eq!(permits.available().await.unwrap(), 10);
}

async fn what_is_taken_and_what_is_left_add_up(bench: &Bench) {
    let permits = of(bench, 2).await;
    let taken = async || permits.inspect().await.unwrap().map_or(0, |held| held.holders.len());
    let seen = async || (permits.available().await.unwrap(), taken().await, permits.permits().await.unwrap());
    assert_eq!(seen().await, (2, 0, Some(2)));
    let first = permits.acquire_timeout(LONG, millis(8000)).await.unwrap();
    assert_eq!(seen().await, (1, 1, Some(2)));
    let second = permits.try_acquire(LONG).await.unwrap().expect("there are two");
    assert_eq!(seen().await, (0, 2, Some(2)));
    assert!(permits.try_acquire(LONG).await.unwrap().is_none());
    assert_eq!(permits.acquire_timeout(LONG, millis(50)).await.unwrap_err().kind(), ErrorKind::Timeout);
    assert_eq!(seen().await, (0, 2, Some(2)));
    permits.release_many(&[first, second]).await.unwrap();
    permits.acquire_many(2, millis(200)).await.unwrap();
    eventually("both end", async || seen().await == (2, 0, Some(2))).await;
}

async fn how_many_there_are_can_be_changed(bench: &Bench) {
    let permits = of(bench, 10).await;
    let seen = async || (permits.available().await.unwrap(), permits.permits().await.unwrap());
    assert!(!permits.try_set_permits(15).await.unwrap());
    assert_eq!(seen().await, (10, Some(10)));
    for total in [15, 15, 5] {
        permits.set_permits(total).await.unwrap();
        assert_eq!(seen().await, (i64::from(total), Some(i64::from(total))));
    }
    let three = permits.try_acquire_many(3, LONG).await.unwrap().expect("there are five");
    assert!(permits.try_acquire_many(3, LONG).await.unwrap().is_none());
    for (total, left) in [(5, 2), (3, 0), (2, -1)] {
        permits.set_permits(total).await.unwrap();
        assert_eq!(seen().await, (left, Some(i64::from(total))));
    }
    permits.release_many(&three).await.unwrap();
    for (more, left) in [(13, 15), (-10, 5), (-10, -5)] {
        permits.add_permits(more).await.unwrap();
        assert_eq!(seen().await, (left, Some(left)));
    }
}

async fn nobody_hangs_when_nothing_is_heard(bench: &Bench) {
    let (deaf, tap) = bench.deaf().await;
    let permits = of(bench, 1).await;
    let id = permits.acquire(LONG).await.unwrap();
    let other = self::permits(bench, &deaf);
    let waiting = tokio::spawn(async move { other.acquire(LONG).await.unwrap() });
    eventually("it asks in vain", async || tap.acquires() >= 1).await;
    permits.release(&id).await.unwrap();
    within(millis(1000 + 1500), "it looks by itself", waiting).await.unwrap();
}

async fn no_more_are_taken_than_there_are(bench: &Bench) {
    crowd(bench, 3, 2).await;
}

/// And two of two by one at a time.
async fn one_permit_is_had_by_one_at_a_time(bench: &Bench) {
    crowd(bench, 1, 1).await;
    permits(bench, &bench.client().await).set_permits(2).await.unwrap();
    jostle(bench, 2, 2).await;
}

async fn crowd(bench: &Bench, there: u32, most_wanted: u32) {
    of(bench, there).await;
    jostle(bench, there, most_wanted).await;
}

async fn jostle(bench: &Bench, there: u32, most_wanted: u32) {
    let clients = bench.clients(4).await;
    let (taken, most) = (Arc::new(AtomicI64::new(0)), Arc::new(AtomicI64::new(0)));
    let tasks = (0..24).map(|number| {
        let permits = permits(bench, &clients[number % clients.len()]);
        let (taken, most) = (Arc::clone(&taken), Arc::clone(&most));
        tokio::spawn(async move {
            for _ in 0..4 {
                let want = fastrand::u32(1..=most_wanted);
                let ids = permits.acquire_many(want, LONG).await.unwrap();
                let now = taken.fetch_add(i64::from(want), Ordering::SeqCst) + i64::from(want);
                most.fetch_max(now, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_micros(fastrand::u64(0..1500))).await;
                taken.fetch_sub(i64::from(want), Ordering::SeqCst);
                permits.release_many(&ids).await.unwrap();
            }
        })
    });
    for task in within(Duration::from_secs(20), "all are served", join_all(tasks)).await {
        task.unwrap();
    }
    let most = most.load(Ordering::SeqCst);
    assert!((i64::from(most_wanted)..=i64::from(there)).contains(&most), "{most} of {there} were taken at once");
    assert_eq!(permits(bench, &clients[0]).available().await.unwrap(), i64::from(there));
}

async fn there_may_be_fewer_than_are_taken(bench: &Bench) {
    let permits = of(bench, 3).await;
    let ids = permits.acquire_many(3, LONG).await.unwrap();
    permits.set_permits(1).await.unwrap();
    assert_eq!((permits.available().await.unwrap(), permits.permits().await.unwrap()), (-2, Some(1)));
    permits.release_many(&ids).await.unwrap();
    assert_eq!(permits.available().await.unwrap(), 1);
    permits.add_permits(2).await.unwrap();
    assert_eq!((permits.available().await.unwrap(), permits.permits().await.unwrap()), (3, Some(3)));
}

async fn more_than_there_are_is_refused_at_once(bench: &Bench) {
    let permits = of(bench, 3).await;
    let error = soon("it is told", permits.acquire_many(4, LONG)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    assert_eq!(permits.available().await.unwrap(), 3);
}

async fn the_first_to_ask_makes_them(bench: &Bench) {
    let permits = permits(bench, &bench.client().await);
    assert_eq!((permits.available().await.unwrap(), permits.permits().await.unwrap()), (0, None));
    assert!(permits.try_acquire(LONG).await.unwrap().is_none());
    let nobodys: PermitId = "00112233445566778899aabbccddeeff".parse().unwrap();
    assert_eq!(permits.release(&nobodys).await.unwrap_err().kind(), ErrorKind::Lost);
    assert_eq!(permits.renew(&nobodys, LONG).await.unwrap_err().kind(), ErrorKind::Lost);
    bench.assert_nothing_left().await;
    let permits = permits.of(1).unwrap();
    let id = permits.acquire(LONG).await.unwrap();
    assert!(permits.try_acquire(LONG).await.unwrap().is_none());
    permits.release(&id).await.unwrap();
}

async fn one_who_gave_up_leaves_nothing_behind(bench: &Bench) {
    let (client, tap) = bench.tapped().await;
    let permits = of(bench, 2).await;
    give_up_unanswered(&tap, self::permits(bench, &client).acquire_many(2, LONG)).await;
    eventually("they are back", async || permits.available().await.unwrap() == 2).await;
}

async fn a_request_that_was_given_up_takes_nothing_when_it_arrives(bench: &Bench) {
    let (client, tap) = bench.tapped().await;
    let permits = of(bench, 2).await;
    tap.lose_acquires(true);
    let asking = tokio::spawn({
        let permits = self::permits(bench, &client);
        async move { permits.acquire(LONG).await.map(drop) }
    });
    eventually("it is on its way", async || !tap.lost_acquires().is_empty()).await;
    asking.abort();
    assert!(asking.await.unwrap_err().is_cancelled());
    client.close(millis(8000)).await.unwrap();
    for (kind, key, operation) in tap.lost_acquires() {
        assert_eq!(bench.apply(kind, &key, &operation).await, Outcome::Refused);
    }
    assert_eq!(permits.available().await.unwrap(), 2);
}

async fn they_are_seen(bench: &Bench) {
    let permits = of(bench, 2).await;
    assert!(permits.inspect().await.unwrap().is_none());
    let id = permits.acquire(LONG).await.unwrap();
    let held = permits.inspect().await.unwrap().expect("one is taken");
    assert_eq!((held.kind, held.holder().claim.as_str(), held.holder().token), (Kind::Permits, id.as_str(), None));
    assert!(held.holder().remaining.unwrap() > LONG / 2);
}

async fn kinds_do_not_mix(bench: &Bench) {
    let client = bench.client().await;
    let (permits, key) = (permits(bench, &client), bench.key("a"));
    let guard = client.lock(&key).unwrap().lock().await.unwrap();
    assert_eq!(permits.clone().of(3).unwrap().try_acquire(LONG).await.unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(permits.set_permits(3).await.unwrap_err().kind(), ErrorKind::Conflict);
    guard.release().await.unwrap();
    permits.set_permits(3).await.unwrap();
    let error = client.lock(&key).unwrap().lock_timeout(millis(5000)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    assert_eq!(permits.available().await.unwrap(), 3);
}

async fn names_and_numbers_that_make_no_sense_are_refused(bench: &Bench) {
    let permits = permits(bench, &bench.client().await);
    for refused in [
        permits.acquire_many(0, LONG).await.map(drop),
        permits.acquire_many(1001, LONG).await.map(drop),
        permits.acquire(Duration::ZERO).await.map(drop),
        permits.acquire_with(1, Options::new().under("a:1")).await.map(drop),
        permits.set_permits(u32::MAX).await,
        "no name".parse::<PermitId>().map(drop),
        "00112233445566778899aabbccddeeff0".parse::<PermitId>().map(drop),
    ] {
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Invalid);
    }
    bench.assert_nothing_left().await;
}
