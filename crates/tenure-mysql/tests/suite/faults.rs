//! The holder's connection is killed, cut off or silent, and the server dies or stops: the holder is told, the next one gets
//! in, and tokens only ever rise.

use crate::support::{
    LEASE, PATIENCE, blocked, client, client_for, eventually, gets_in, holding_session, ms, soon, until_blocked,
};
use std::time::{Duration, Instant};
use tenure_core::{Client, Guard, Loss, Options, What};
use tenure_testkit::{FaultProxy, MariaDbServer};
use tokio::task::JoinHandle;

/// A holder whose connection is gone is told within 350 ms, and a second more if nothing comes over it, on a
/// machine with something to spare.
const TOLD_WITHIN: Duration = Duration::from_millis(2000 + 700);

/// What a proxy is told to do.
type Fault = fn(&FaultProxy);

/// A client behind a proxy.
async fn behind(proxy: &FaultProxy, lease: Duration) -> Client {
    client_for(&format!("mysql://root@{}/tenure", proxy.addr()), lease).await
}

fn waits(client: &Client, key: &str) -> JoinHandle<Guard> {
    let lock = client.lock(key).unwrap();
    tokio::spawn(async move { lock.lock().await.unwrap() })
}

/// The holder is told in time.
async fn is_told(guard: &Guard, since: Instant) -> Loss {
    let why = soon("the holder is told", guard.lost()).await;
    let took = since.elapsed();
    assert!(took <= TOLD_WITHIN, "told only after {took:?}");
    assert!(!guard.is_held() && guard.check().is_err());
    why
}

/// Who waited is in, and so is the former holder after that, each with a larger token.
async fn goes_on(lost: Guard, waiting: JoinHandle<Guard>, holder: &Client) {
    let key = lost.key().to_string();
    let next = soon("the next one gets in", waiting).await.unwrap();
    assert!(next.token() > lost.token(), "{} after {}", next.token(), lost.token());
    let token = next.token();
    next.release().await.unwrap();
    let again = gets_in(holder, &key).await;
    assert!(again.token() > token, "{} after {token}", again.token());
    again.release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_connection_loses_the_lock_and_the_holder_is_told() {
    let server = MariaDbServer::start();
    let (holder, other) = (client(&server.url()).await, client(&server.url()).await);
    let guard = gets_in(&holder, "k").await;
    let waiting = waits(&other, "k");
    until_blocked(&server, 1).await;
    server.kill_session(holding_session(&server, "k"));
    is_told(&guard, Instant::now()).await;
    goes_on(guard, waiting, &holder).await;
}

/// However long the lease is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_closed_connection_is_noticed_long_before_the_next_renewal() {
    let server = MariaDbServer::start();
    let holder = client_for(&server.url(), Duration::from_secs(60)).await;
    for _ in 0..3 {
        let guard = gets_in(&holder, "k").await;
        let began = Instant::now();
        server.kill_session(holding_session(&server, "k"));
        assert_eq!(soon("the holder is told", guard.lost()).await, Loss::Gone);
        // Renewals are 20 s apart.
        assert!(began.elapsed() < Duration::from_secs(5), "told only after {:?}", began.elapsed());
    }
}

/// The server ends a session by when it last heard of it. A holder believes in a renewal, so a renewal has to be heard of there,
/// and not only be written down on another connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_renewal_is_heard_of_by_the_session_that_has_the_row() {
    let server = MariaDbServer::start();
    let holder = client_for(&server.url(), Duration::from_secs(60)).await;
    let guard = gets_in(&holder, "k").await;
    let session = holding_session(&server, "k");
    let idle = || {
        let idle = format!("SELECT ROUND(TIME_MS) FROM information_schema.PROCESSLIST WHERE ID = {session}");
        ms(server.one(&idle).parse().unwrap())
    };
    for _ in 0..20 {
        eventually("it was silent for a moment", PATIENCE, || idle() >= ms(50)).await;
        let began = Instant::now();
        guard.renew().await.unwrap();
        let silent = idle();
        assert!(silent <= began.elapsed() + ms(2), "silent for {silent:?}, renewed {:?} ago", began.elapsed());
    }
}

/// Who goes in again for longer is in for longer: its session lasts as long as it believes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_lasts_as_long_as_the_longest_lease_that_it_gave() {
    let server = MariaDbServer::start();
    let proxy = FaultProxy::start(server.addr());
    let (holder, other) = (behind(&proxy, ms(1000)).await, client(&server.url()).await);
    let guard = gets_in(&holder, "k").await;
    let longer = Options::new().lease(Duration::from_secs(30));
    let again = guard.reenter_with(longer).await.unwrap();
    assert!(again.remaining() > Duration::from_secs(20));
    let waiting = waits(&other, "k");
    until_blocked(&server, 1).await;
    proxy.hang();
    is_told(&again, Instant::now()).await;
    assert!(!waiting.is_finished(), "somebody was in before the holder was told");
    waiting.abort();
}

/// An administrator who ends whoever waits costs nobody a lock.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_wait_is_taken_up_again() {
    let server = MariaDbServer::start();
    let (holder, other) = (client(&server.url()).await, client(&server.url()).await);
    let guard = gets_in(&holder, "k").await;
    let waiting = waits(&other, "k");
    let mut killed = Vec::new();
    for kill in [true, true, true, false] {
        // Who was killed is seen to wait for a little longer.
        let living = || blocked(&server).iter().map(|session| session.id).find(|id| !killed.contains(id));
        eventually("it waits", PATIENCE, || living().is_some()).await;
        if let (true, Some(session)) = (kill, living()) {
            server.kill_session(session);
            killed.push(session);
        }
    }
    assert!(guard.is_held());
    let token = guard.token();
    guard.release().await.unwrap();
    assert!(soon("who waited gets in", waiting).await.unwrap().token() > token);
}

/// Every connection at once, those that lie idle included.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_connections_are_killed() {
    let server = MariaDbServer::start();
    server.add_user("app", "hunter2-canary", "ALL ON tenure.*");
    let url = server.url_as("app", "hunter2-canary");
    let (holder, other) = (client(&url).await, client(&url).await);
    let guard = gets_in(&holder, "k").await;
    let waiting = waits(&other, "k");
    until_blocked(&server, 1).await;
    server.execute("KILL USER app");
    is_told(&guard, Instant::now()).await;
    goes_on(guard, waiting, &holder).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_killed_or_stopped_loses_the_lock_and_no_token() {
    let server = MariaDbServer::start();
    let (holder, other) = (client(&server.url()).await, client(&server.url()).await);
    for graceful in [false, true] {
        let guard = gets_in(&holder, "k").await;
        let waiting = waits(&other, "k");
        until_blocked(&server, 1).await;
        let began = Instant::now();
        if graceful {
            server.stop();
        }
        server.restart();
        is_told(&guard, began).await;
        goes_on(guard, waiting, &holder).await;
    }
}

/// Nothing arrives any more, in both directions or in one, and no connection is closed: the holder is told before anybody
/// else is in.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_holder_that_is_cut_off_is_told_before_the_next_one_is_in() {
    let server = MariaDbServer::start();
    let other = client(&server.url()).await;
    let faults: [(&str, Fault); 4] = [
        ("both", |proxy| {
            proxy.drop_requests();
            proxy.drop_replies();
        }),
        ("requests", FaultProxy::drop_requests),
        ("replies", FaultProxy::drop_replies),
        ("held", FaultProxy::hang),
    ];
    let mut running = Vec::new();
    for (key, begin) in faults {
        let (proxy, waiting) = (FaultProxy::start(server.addr()), other.lock(key).unwrap());
        running.push(tokio::spawn(async move {
            let holder = behind(&proxy, LEASE).await;
            let guard = gets_in(&holder, key).await;
            let waiting = tokio::spawn(async move { waiting.lock().await.unwrap() });
            let began = Instant::now();
            begin(&proxy);
            is_told(&guard, began).await;
            assert!(!waiting.is_finished(), "{key}: somebody was in before the holder was told");
            let next = soon(&format!("the next one gets in: {key}"), waiting).await.unwrap();
            let took = began.elapsed();
            assert!(took <= LEASE + ms(6000), "{key}: freed only after {took:?}");
            assert!(next.token() > guard.token());
            let token = next.token();
            proxy.heal();
            next.release().await.unwrap();
            let again = gets_in(&holder, key).await;
            assert!(again.token() > token);
        }));
    }
    for task in running {
        task.await.unwrap();
    }
}

/// A reset is as good as a killed connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_holder_whose_connections_are_reset_is_told() {
    let server = MariaDbServer::start();
    let proxy = FaultProxy::start(server.addr());
    let (holder, other) = (behind(&proxy, LEASE).await, client(&server.url()).await);
    let guard = gets_in(&holder, "k").await;
    let waiting = waits(&other, "k");
    until_blocked(&server, 1).await;
    proxy.reset();
    is_told(&guard, Instant::now()).await;
    goes_on(guard, waiting, &holder).await;
}

/// The server answers nobody for longer than the lease.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_frozen_for_longer_than_the_lease_loses_the_lock_in_time() {
    let lease = ms(1500);
    let server = MariaDbServer::start();
    let (holder, other) = (client_for(&server.url(), lease).await, client_for(&server.url(), lease).await);
    for kind in [tenure_core::Kind::Reentrant, tenure_core::Kind::Fair] {
        let lock = holder.lock_of(kind, "k").unwrap();
        let guard = soon("it is free", lock.lock()).await.unwrap();
        let next = other.lock_of(kind, "k").unwrap();
        let waiting = tokio::spawn(async move { next.lock_timeout(PATIENCE).await.unwrap() });
        let began = Instant::now();
        server.pause();
        soon("the holder is told", guard.lost()).await;
        let took = began.elapsed();
        assert!(took <= lease + ms(500), "told only after {took:?}");
        assert!(!waiting.is_finished());
        // What matters is what becomes of it when a lease and more is over.
        tokio::time::sleep((lease + ms(500)).saturating_sub(took)).await;
        server.resume();
        let next = soon("the next one gets in", waiting).await.unwrap();
        assert!(next.token() > guard.token());
        next.release().await.unwrap();
    }
}

/// Whoever is cut off while it waits is out of the way soon, and no lock comes to it that nobody frees.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_that_is_cut_off_holds_nobody_up_for_long() {
    let server = MariaDbServer::start();
    let proxy = FaultProxy::start(server.addr());
    let (holder, cut_off, other) =
        (client(&server.url()).await, behind(&proxy, LEASE).await, client(&server.url()).await);
    let guard = gets_in(&holder, "k").await;
    let deaf = cut_off.lock("k").unwrap();
    let waiting = tokio::spawn(async move { deaf.lock().await });
    until_blocked(&server, 1).await;
    proxy.drop_requests();
    proxy.drop_replies();
    let next = waits(&other, "k");
    until_blocked(&server, 2).await;
    guard.release().await.unwrap();
    // The server leaves a session that has just got a row alone for five seconds.
    let next = tokio::time::timeout(ms(8000), next).await.expect("the next one gets in").unwrap();
    assert!(next.is_held());
    waiting.abort();
}

/// One who asks again under the same claim, as after an answer that was lost, is not told of a session that has ended
/// meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_whose_session_was_ended_may_come_again() {
    use tenure_core::{Backend, Claim, Key, Kind, Operation, Outcome, Stay};
    let server = MariaDbServer::start();
    let backend = crate::support::backend(&server.url());
    let key = Key::new("k").unwrap();
    let claim = Claim::new("01234567-89ab-cdef-0123-456789abcdef", 1);
    let acquire = Operation::Acquire { claim, under: Vec::new(), lease: ms(30_000), stay: Stay::No };
    let mut last = 0;
    for _ in 0..2 {
        let outcome = backend.apply_one(Kind::Reentrant, &key, &acquire, PATIENCE).await.unwrap();
        let Outcome::Granted(grant) = outcome else { panic!("{outcome:?}") };
        assert!(grant.token > last);
        last = grant.token;
        server.kill_session(holding_session(&server, "k"));
        eventually("it is gone", PATIENCE, || {
            server.one("SELECT IS_USED_LOCK(seat_session) FROM tenure_locks WHERE lock_key = 'k'") == "NULL"
        })
        .await;
    }
}

/// A step is a transaction of two statements, and the client is cut off between them: what it has locked by the first is in
/// nobody's way for long.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_is_cut_off_in_the_middle_of_a_step_holds_nobody_up_for_long() {
    let server = MariaDbServer::start();
    let proxy = FaultProxy::start(server.addr());
    let lease = Duration::from_secs(30);
    let (holder, other) = (behind(&proxy, lease).await, client(&server.url()).await);
    let guard = holder.simple("k").unwrap().lock().await.unwrap();
    for _ in 0..3 {
        guard.renew().await.unwrap();
    }
    let is_locked = || {
        let free = server.rows("SELECT name FROM tenure_locks WHERE name = 'k' FOR UPDATE SKIP LOCKED");
        free.is_empty()
    };
    proxy.drop_replies();
    let renewing = tokio::spawn(async move { guard.renew().await });
    eventually("the first statement has locked the record", PATIENCE, is_locked).await;
    // Nor is the server told that the client has given up.
    proxy.drop_requests();
    eventually("it is not locked any more", ms(8000), || !is_locked()).await;
    assert!(other.simple("k").unwrap().try_lock().await.unwrap().is_none(), "the lease is much longer");
    renewing.abort();
}

/// Many locks are renewed in one call, and the session of one of them says nothing more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_session_keeps_no_other_lock_from_being_renewed() {
    let server = MariaDbServer::start();
    let proxy = FaultProxy::start(server.addr());
    let holder = behind(&proxy, ms(1500)).await;
    let guards = [gets_in(&holder, "a").await, gets_in(&holder, "b").await];
    // A sign of life.
    let silent = proxy.pause_before_reply("\u{1}\0\0\0\u{e}");
    silent.caught().await;
    let (mut events, mut renewed) = (holder.events(), Vec::new());
    let lost = loop {
        let event = soon("one is lost", events.next()).await.unwrap();
        match event.what {
            What::Renewed => renewed.push(event.key),
            What::Lost { .. } => break event.key,
            _ => {}
        }
    };
    let other = guards.iter().find(|guard| *guard.key() != lost).unwrap();
    assert!(renewed.contains(other.key()), "the other waited for it: {renewed:?}");
    other.check().unwrap();
}
