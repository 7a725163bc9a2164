//! A majority of servers, and what must not be left on any of them, nor asked of them without end.

use crate::redlock::{backend_of, client, client_of, servers, spread, urls};
use crate::support::{PATIENCE, acquire, eventually, ms, soon, tombstones};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tenure_core::{Backend, ErrorKind, Guarantee, Key, Kind, Options, Outcome, Release};
use tenure_redis::redis::from_redis_value;
use tenure_testkit::{FaultProxy, RedisServer};
use tokio::sync::Barrier;

fn lease(seconds: u64) -> Options {
    Options::new().lease(Duration::from_secs(seconds))
}

/// Servers that are all reached through proxies.
fn proxied(servers: &[RedisServer]) -> (Vec<FaultProxy>, Vec<String>) {
    let proxies: Vec<FaultProxy> = servers.iter().map(|server| FaultProxy::start(server.addr())).collect();
    let urls = proxies.iter().map(FaultProxy::url).collect();
    (proxies, urls)
}

/// It is away for longer than a release waits for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_outage_does_not_make_a_release_forgotten() {
    let servers = servers(3);
    let (proxies, urls) = proxied(&servers);
    let client = client_of(&urls, "").await;
    let guard = client.lock("k").unwrap().lock_with(lease(60)).await.unwrap();
    eventually("all have it", PATIENCE, || spread(&servers, "k") == 3).await;
    proxies[2].drop_requests();
    let connected = proxies[2].accepted();
    guard.release().await.unwrap();
    // The request has been given up, and is made again over and over.
    eventually("it is told again", PATIENCE, || proxies[2].accepted() >= connected + 3).await;
    proxies[2].heal();
    eventually("it is free there too", PATIENCE, || spread(&servers, "k") == 0).await;
}

/// The third server's request is still on its way when the lock is given back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_comes_after_the_release_is_refused() {
    let servers = servers(3);
    let (proxies, urls) = proxied(&servers);
    let client = client_of(&urls, "").await;
    client.lock("warm").unwrap().lock().await.unwrap().release().await.unwrap();
    let late = proxies[2].hold_request("ghostly");
    let guard = client.lock("ghostly").unwrap().lock_with(lease(20)).await.unwrap();
    soon("it is on its way", late.caught()).await;
    assert_eq!(guard.release().await.unwrap(), Release::Released);
    let noted = || !servers[2].keys("tenure:cancelled:{ghostly}:*").is_empty();
    eventually("it is noted that it was given back", PATIENCE, noted).await;
    late.release();
    soon("it has arrived", late.done()).await;
    // Whatever it did, it has done before this is answered on the same server.
    client.lock("after").unwrap().lock().await.unwrap().release().await.unwrap();
    eventually("nothing is left", PATIENCE, || spread(&servers, "ghostly") == 0).await;
}

/// Each release is told to the others together with what the third may yet hear. That other locks are taken in between keeps
/// the numbers of a key's claims apart.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_a_server_hangs_the_others_remember_no_more_the_more_is_released() {
    let servers = servers(3);
    let client = client(&servers, "").await;
    let locks = ["k", "l"].map(|key| client.lock(key).unwrap());
    locks[0].lock().await.unwrap().release().await.unwrap();
    servers[2].pause();
    for cycles in [200, 2000] {
        for cycle in 0..cycles {
            locks[cycle % 2].lock_timeout(PATIENCE).await.unwrap().release().await.unwrap();
        }
        for server in &servers[..2] {
            // The last releases may still be on their way.
            eventually("few stretches are remembered", PATIENCE, || tombstones(server) <= 4).await;
        }
    }
    servers[2].resume();
}

/// It is long over when it arrives, and so is much that was asked for later.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_acquire_that_arrives_late_is_refused_while_another_server_hangs() {
    let servers = servers(3);
    let (proxies, urls) = proxied(&servers);
    let client = client_of(&urls, "").await;
    let lock = client.lock("ghostly").unwrap();
    lock.lock().await.unwrap().release().await.unwrap();
    servers[2].pause();
    let late = proxies[0].hold_request("ghostly");
    let asking = tokio::spawn({
        let lock = lock.clone();
        async move { lock.lock_with(lease(60)).await }
    });
    soon("it is on its way", late.caught()).await;
    asking.abort();
    assert!(asking.await.unwrap_err().is_cancelled());
    for _ in 0..20 {
        lock.lock_timeout(PATIENCE).await.unwrap().release().await.unwrap();
    }
    late.release();
    soon("it has arrived", late.done()).await;
    // Whatever it did, it has done before this is answered on the same server.
    client.lock("after").unwrap().lock_timeout(PATIENCE).await.unwrap().release().await.unwrap();
    eventually("nothing is left", PATIENCE, || spread(&servers[..2], "ghostly") == 0).await;
    servers[2].resume();
}

/// The holder's claim came before all those that a server is told to refuse.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_holder_is_put_back_where_much_that_came_after_it_is_refused() {
    let servers = servers(3);
    let client = client(&servers, "").await;
    let guard = client.lock("k").unwrap().lock_with(lease(60)).await.unwrap();
    eventually("all have it", PATIENCE, || spread(&servers, "k") == 3).await;
    servers[2].pause();
    for _ in 0..10 {
        let rival = client.lock("k").unwrap();
        assert!(tokio::spawn(async move { rival.try_lock().await }).await.unwrap().unwrap().is_none());
    }
    servers[2].resume();
    eventually("it was told of them", PATIENCE, || tombstones(&servers[2]) > 0).await;
    servers[2].command(&["DEL", "k"]);
    guard.renew().await.unwrap();
    eventually("it is put back", PATIENCE, || spread(&servers, "k") == 3).await;
    guard.release().await.unwrap();
    eventually("nothing is left", PATIENCE, || spread(&servers, "k") == 0).await;
}

/// Its answer was lost, so that nobody has told it the token that the others agreed on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_whose_grant_was_not_heard_is_told_the_token_at_the_next_renewal() {
    let servers = servers(3);
    let (proxies, urls) = proxied(&servers);
    let client = client_of(&urls, "").await;
    let fence =
        |server: &RedisServer| from_redis_value::<Option<String>>(server.command(&["HGET", "k", "fence"])).unwrap();
    loop {
        // All are connected, and know the script.
        client.lock("k").unwrap().lock().await.unwrap().release().await.unwrap();
        eventually("it is free", PATIENCE, || spread(&servers, "k") == 0).await;
        proxies[2].drop_replies();
        let guard = client.lock("k").unwrap().lock_with(lease(3)).await.unwrap();
        let token = Some(guard.token().to_string());
        eventually("the third has it too", PATIENCE, || fence(&servers[2]).is_some()).await;
        // It may have handed out the largest itself.
        let differed = fence(&servers[2]) != token;
        proxies[2].heal();
        eventually("all have the same token", PATIENCE, || servers.iter().all(|server| fence(server) == token)).await;
        guard.release().await.unwrap();
        eventually("nothing is left", PATIENCE, || spread(&servers, "k") == 0).await;
        if differed {
            break;
        }
    }
}

/// A renewal is under way of which one server has said that it has forgotten the lock.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_put_back_after_a_release() {
    let servers = servers(3);
    let (proxies, urls) = proxied(&servers);
    let client = client_of(&urls, "").await;
    for _ in 0..3 {
        let guard = Arc::new(client.lock("k").unwrap().lock_with(lease(60)).await.unwrap());
        eventually("all have it", PATIENCE, || spread(&servers, "k") == 3).await;
        servers[2].command(&["DEL", "k"]);
        servers[2].reset_stats();
        proxies[..2].iter().for_each(|proxy| proxy.delay(ms(60)));
        let renewing = tokio::spawn({
            let guard = Arc::clone(&guard);
            async move { guard.renew().await }
        });
        eventually("it was asked", PATIENCE, || servers[2].command_calls("evalsha") > 0).await;
        let release = tokio::spawn(async move { drop(guard) });
        release.await.unwrap();
        let _ = renewing.await.unwrap();
        eventually("nothing is left", PATIENCE, || spread(&servers, "k") == 0).await;
        proxies[..2].iter().for_each(FaultProxy::heal);
    }
}

/// One server lets in whoever waits, for it has forgotten the holder.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_is_woken_by_votes_of_its_own() {
    let servers = servers(3);
    let (holder, key) = (backend_of(&urls(&servers), ""), Key::new("k").unwrap());
    assert!(matches!(holder.apply_one(Kind::Reentrant, &key, &acquire(1), PATIENCE).await, Ok(Outcome::Granted(_))));
    eventually("all have it", PATIENCE, || spread(&servers, "k") == 3).await;
    servers[2].command(&["DEL", "k"]);
    let waiter = client(&servers, "").await;
    let lock = waiter.lock("k").unwrap();
    let waiting = tokio::spawn(async move { lock.lock_timeout(ms(2000)).await });
    servers[0].reset_stats();
    assert_eq!(soon("it gives up", waiting).await.unwrap().unwrap_err().kind(), ErrorKind::Timeout);
    let calls = servers[0].command_calls("evalsha");
    // Without a pause it would be thousands.
    assert!(calls < 200, "{calls} calls in two seconds of waiting");
}

/// Tokens are ahead of the clock by which servers say for how long somebody has held a lock.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_vote_that_was_left_behind_is_no_rival_for_ever() {
    let servers = servers(3);
    let ahead = u64::try_from(std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_micros()).unwrap() + 600_000_000;
    for server in &servers {
        server.command(&["SET", "tenure:fence", &ahead.to_string()]);
    }
    let waiter = client(&servers, "").await;
    let key = Key::new("k").unwrap();
    let (proxies, urls) = proxied(&servers);
    let holder = backend_of(&urls, "");
    assert!(matches!(holder.apply_one(Kind::Reentrant, &key, &acquire(1), PATIENCE).await, Ok(Outcome::Granted(_))));
    eventually("all have it", PATIENCE, || spread(&servers, "k") == 3).await;
    let lock = waiter.lock("k").unwrap();
    let waiting = tokio::spawn(async move { lock.lock_timeout(PATIENCE).await });
    let mut events = waiter.events();
    soon("it waits", events.next()).await;
    // The first keeps the vote of one who is gone.
    drop(proxies);
    for server in &servers[1..] {
        server.command(&["DEL", "k"]);
    }
    let began = Instant::now();
    drop(soon("it gets in", waiting).await.unwrap().unwrap());
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

/// Whoever looks only once, at the same moment as others, is not sent away by votes that are split.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_several_single_attempts_one_gets_in() {
    let servers = servers(3);
    let mut clients = Vec::new();
    for _ in 0..5 {
        let client = client(&servers, "").await;
        client.lock("warm").unwrap().lock().await.unwrap().release().await.unwrap();
        clients.push(client);
    }
    for round in 0..30 {
        let (key, together) = (format!("k{round}"), Arc::new(Barrier::new(clients.len())));
        let attempts: Vec<_> = clients
            .iter()
            .map(|client| {
                let (lock, together) = (client.lock(&key).unwrap(), Arc::clone(&together));
                tokio::spawn(async move {
                    together.wait().await;
                    lock.try_lock().await.unwrap()
                })
            })
            .collect();
        let mut won = Vec::new();
        for attempt in attempts {
            won.extend(attempt.await.unwrap());
        }
        assert_eq!(won.len(), 1, "round {round}");
    }
}

/// Neither the runtime that asked nor the client lives on.
#[test]
fn a_refused_attempt_leaves_no_vote_behind() {
    let servers = servers(3);
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let holding = runtime();
    let key = Key::new("k").unwrap();
    let holder = backend_of(&urls(&servers), "");
    let granted = holding.block_on(holder.apply_one(Kind::Reentrant, &key, &acquire(1), PATIENCE));
    assert!(matches!(granted, Ok(Outcome::Granted(_))), "{granted:?}");
    holding.block_on(eventually("all have it", PATIENCE, || spread(&servers, "k") == 3));
    servers[2].command(&["DEL", "k"]);
    let asking = runtime();
    let got = asking.block_on(async {
        let asker = client(&servers, "").await;
        asker.lock("k").unwrap().try_lock_with(lease(60)).await.unwrap().is_some()
    });
    drop(asking);
    assert!(!got);
    holding.block_on(eventually("its vote is given back", PATIENCE, || spread(&servers[2..], "k") == 0));
}

/// Restarts that are as far apart as servers abstain would open it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_kept_for_longer_than_servers_abstain() {
    let servers = servers(3);
    let client = client(&servers, "?max_lease=5s").await;
    let lock = client.lock("k").unwrap();
    for options in [lease(6), lease(3).at_least(Duration::from_secs(60))] {
        let error = lock.lock_with(options.clone()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert!(error.to_string().contains("`max_lease`"), "{error}");
        assert_eq!(
            client.multi(["k", "l"]).unwrap().lock_with(options).await.unwrap_err().kind(),
            ErrorKind::Unsupported
        );
    }
    assert_eq!(spread(&servers, "k"), 0);
}

/// Whoever was put out by force is so on a server that was away, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forced_release_reaches_a_server_that_was_away() {
    let servers = servers(3);
    let (proxies, urls) = proxied(&servers);
    let (holder, key) = (backend_of(&self::urls(&servers), ""), Key::new("k").unwrap());
    assert!(matches!(holder.apply_one(Kind::Reentrant, &key, &acquire(1), PATIENCE).await, Ok(Outcome::Granted(_))));
    eventually("all have it", PATIENCE, || spread(&servers, "k") == 3).await;
    let operator = client_of(&urls, "").await;
    proxies[1].drop_requests();
    assert!(operator.lock("k").unwrap().force_release().await.unwrap().is_some());
    proxies[1].heal();
    eventually("nothing is left", PATIENCE, || spread(&servers, "k") == 0).await;
}

#[test]
fn wake_ups_are_promised_only_where_there_are_any() {
    let label = |urls: &[&str]| {
        let urls: Vec<String> = urls.iter().map(ToString::to_string).collect();
        backend_of(&urls, "").label().has(Guarantee::PushedWakeups)
    };
    assert!(label(&["redis://a", "redis://b?wakeups=off", "redis://c?wakeups=off"]));
    assert!(!label(&["redis://a?wakeups=off", "redis://b?wakeups=off", "redis://c?wakeups=off"]));
}
