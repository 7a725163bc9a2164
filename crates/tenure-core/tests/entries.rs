//! Several guards of one hold, on a clock that is moved by hand: each lives and ends by its own terms.

use std::time::Duration;
use tenure_core::{AlarmReason, Client, ErrorKind, Guard, Loss, ManualClock, Memory, Options, Release, Retry, What};

const SECOND: Duration = Duration::from_secs(1);

/// Moves the clock on, letting the watchdog renew on the way.
async fn pass(clock: &ManualClock, client: &Client, seconds: u32, renewed: &Guard) {
    let mut events = client.events();
    for _ in 0..seconds {
        clock.advance(SECOND);
        // Leases of 3 s are renewed every second.
        while !matches!(events.next().await.unwrap().what, What::Renewed) {}
        assert!(renewed.is_held());
    }
}

#[tokio::test]
async fn an_entry_that_ends_early_leaves_the_others_renewed() {
    let clock = ManualClock::new();
    let client = Client::new(Memory::with_clock(clock.clone())).unwrap();
    let lock = client.lock("a").unwrap();
    let outer = lock.lock_with(Options::new().lease(3 * SECOND)).await.unwrap();
    let inner = outer.reenter_with(Options::new().lease(2 * SECOND).no_renew()).await.unwrap();
    pass(&clock, &client, 4, &outer).await;
    assert!(!inner.is_held(), "the inner lease is over");
    inner.lost().await;
    let error = inner.release().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Lost);
    pass(&clock, &client, 4, &outer).await;
    assert_eq!(lock.inspect().await.unwrap().unwrap().holder().count, 1);
    assert_eq!(outer.release().await.unwrap(), Release::Released);
    assert!(!lock.is_locked().await.unwrap());
}

#[tokio::test]
async fn a_lock_whose_last_entry_ended_is_given_back_before_a_longer_lease_runs_out() {
    let clock = ManualClock::new();
    let client = Client::new(Memory::with_clock(clock.clone())).unwrap();
    let lock = client.lock("a").unwrap();
    let outer = lock.lock_with(Options::new().lease(2 * SECOND).no_renew()).await.unwrap();
    let inner = outer.reenter_with(Options::new().lease(60 * SECOND).no_renew()).await.unwrap();
    assert_eq!(inner.release().await.unwrap(), Release::StillHeld(1));
    let left = lock.inspect().await.unwrap().unwrap().holder().remaining.unwrap();
    assert!(left > 50 * SECOND, "nothing shortens a lease in the store");
    clock.advance(2 * SECOND);
    assert!(!outer.is_held());
    outer.lost().await;
    lock.lock_timeout(SECOND).await.expect("the janitor gave the lock back").release().await.unwrap();
}

#[tokio::test]
async fn a_closed_client_sends_its_waiters_away() {
    let store = Memory::new();
    let (holder, waiter) = (Client::new(store.clone()).unwrap(), Client::new(store).unwrap());
    let held = holder.lock("a").unwrap().lock().await.unwrap();
    let lock = waiter.lock("a").unwrap();
    let mut events = waiter.events();
    let waiting = [
        tokio::spawn({
            let lock = lock.clone();
            async move { lock.lock().await.map(drop) }
        }),
        tokio::spawn(async move { lock.lock().await.map(drop) }),
    ];
    assert!(matches!(events.next().await.unwrap().what, What::Waiting { .. }));
    waiter.close(5 * SECOND).await.unwrap();
    for waiting in waiting {
        assert_eq!(waiting.await.unwrap().unwrap_err().kind(), ErrorKind::Unavailable);
    }
    assert!(held.is_held());
}

#[tokio::test]
async fn a_closed_client_wakes_those_who_pause_between_attempts() {
    let store = Memory::new();
    let (holder, waiter) = (Client::new(store.clone()).unwrap(), Client::new(store).unwrap());
    let _held = holder.lock("a").unwrap().lock().await.unwrap();
    let lock = waiter.lock("a").unwrap();
    let mut events = waiter.events();
    let rarely = Options::new().retry(Retry::fixed(3600 * SECOND));
    let waiting = tokio::spawn(async move { lock.lock_with(rarely).await.map(drop) });
    assert!(matches!(events.next().await.unwrap().what, What::Waiting { .. }));
    waiter.close(5 * SECOND).await.unwrap();
    assert_eq!(waiting.await.unwrap().unwrap_err().kind(), ErrorKind::Unavailable);
}

#[tokio::test]
async fn a_subscriber_that_fell_behind_can_tell_how_much_it_missed() {
    let client = Client::new(Memory::new()).unwrap();
    let lock = client.lock("a").unwrap();
    let mut events = client.events();
    for _ in 0..1000 {
        lock.lock().await.unwrap().release().await.unwrap();
    }
    assert!(events.next().await.is_some());
    // Two for every lock, and perhaps a renewal: the first hold is asked about when the client begins to listen.
    assert!((2000 - 1024..=2001 - 1024).contains(&events.missed()), "{}", events.missed());
}

#[tokio::test]
async fn a_lock_that_may_not_be_held_for_ever_is_renewed_until_then_and_given_back() {
    let clock = ManualClock::new();
    let client = Client::new(Memory::with_clock(clock.clone())).unwrap();
    let lock = client.lock("a").unwrap();
    let options = Options::new().lease(3 * SECOND).max_hold(8 * SECOND);
    let guard = lock.lock_with(options.clone()).await.unwrap();
    // Renewed after 1, 2, 3, 4 and 5 s; from then on the lease runs to the end as it is.
    pass(&clock, &client, 5, &guard).await;
    clock.advance(2 * SECOND);
    assert!(guard.is_held(), "the last renewal reaches to the end");
    guard.renew().await.unwrap();
    let left = lock.inspect().await.unwrap().unwrap().holder().remaining.unwrap();
    assert!(left <= SECOND, "renewing by hand does not reach beyond it: {left:?}");
    clock.advance(SECOND);
    assert_eq!(guard.lost().await, Loss::HeldTooLong);
    let next = lock.lock_timeout(SECOND).await.expect("it is free by now");
    assert_eq!(guard.release().await.unwrap_err().kind(), ErrorKind::Lost);
    next.release().await.unwrap();

    let short = lock.lock_with(options.max_hold(SECOND)).await.unwrap();
    let left = lock.inspect().await.unwrap().unwrap().holder().remaining.unwrap();
    assert_eq!(left, SECOND, "the store is not asked for more");
    clock.advance(SECOND);
    assert_eq!(short.lost().await, Loss::HeldTooLong);
}

#[tokio::test]
async fn who_looks_late_is_still_told_that_it_was_held_too_long() {
    let clock = ManualClock::new();
    let client = Client::new(Memory::with_clock(clock.clone())).unwrap();
    let options = Options::new().lease(3 * SECOND).max_hold(3 * SECOND);
    let mut events = client.events();
    let guard = client.lock("a").unwrap().lock_with(options).await.unwrap();
    // The lease is over by then as well.
    clock.advance(10 * SECOND);
    let told = loop {
        if let What::Lost { why } = events.next().await.unwrap().what {
            break why;
        }
    };
    assert_eq!((told, guard.lost().await), (Loss::HeldTooLong, Loss::HeldTooLong));
    // Whatever it went on doing, it did without the lock.
    assert_eq!(guard.release().await.unwrap_err().kind(), ErrorKind::Lost);
    let What::Alarm(alarm) = events.next().await.unwrap().what else { panic!("no alarm") };
    assert_eq!(alarm.reason, AlarmReason::OutlivedLease);
}

#[tokio::test]
async fn a_lock_that_is_taken_for_a_least_time_stays_taken_until_then() {
    let clock = ManualClock::new();
    let client = Client::new(Memory::with_clock(clock.clone())).unwrap();
    let lock = client.lock("a").unwrap();
    let options = || Options::new().at_least(10 * SECOND);
    let guard = lock.lock_with(options()).await.unwrap();
    clock.advance(4 * SECOND);
    assert_eq!(guard.release().await.unwrap(), Release::Kept(6 * SECOND));
    clock.advance(5 * SECOND);
    assert!(lock.try_lock().await.unwrap().is_none(), "taken for nine seconds so far");
    clock.advance(SECOND);
    let late = lock.lock_with(options()).await.unwrap();
    clock.advance(11 * SECOND);
    assert_eq!(late.release().await.unwrap(), Release::Released);
    drop(lock.lock_with(options()).await.unwrap());
    clock.advance(9 * SECOND);
    assert!(lock.try_lock().await.unwrap().is_none(), "a drop keeps it too");
}

#[tokio::test]
async fn a_section_that_took_longer_than_warn_after_raises_the_alarm_however_late_the_watchdog_is() {
    let clock = ManualClock::new();
    let client = Client::new(Memory::with_clock(clock.clone())).unwrap();
    let lock = client.lock("a").unwrap();
    for _ in 0..50 {
        let mut events = client.events();
        let guard = lock.lock_with(Options::new().warn_after(SECOND)).await.unwrap();
        clock.advance(SECOND + SECOND / 2);
        guard.release().await.unwrap();
        while !matches!(events.next().await.unwrap().what, What::Alarm(_)) {}
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guard_that_is_dropped_beside_a_close_is_given_back() {
    for _ in 0..1000 {
        let store = Memory::new();
        let client = Client::new(store.clone()).unwrap();
        let guard = client.lock("a").unwrap().lock().await.unwrap();
        let dropping = std::thread::spawn(move || drop(guard));
        client.close(5 * SECOND).await.unwrap();
        dropping.join().unwrap();
        let looker = Client::new(store).unwrap();
        assert!(!looker.lock("a").unwrap().is_locked().await.unwrap());
    }
}

#[tokio::test]
async fn a_renewal_that_would_always_come_too_late_is_refused() {
    let lock = Client::new(Memory::new()).unwrap().lock("a").unwrap();
    let options = Options::new().lease(SECOND).renew_every(Duration::from_millis(990));
    assert_eq!(lock.lock_with(options).await.unwrap_err().kind(), ErrorKind::Invalid);
}
