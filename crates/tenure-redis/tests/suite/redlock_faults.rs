//! A majority of servers of which some are slow, cut off or have forgotten: what is said of a lock, what is put back, and
//! what is left behind.

use crate::redlock::{backend_of, client, client_of, servers, spread, urls};
use crate::support::{PATIENCE, acquire, claim, eventually, ms, soon};
use std::time::Duration;
use tenure_core::{
    Applied, Batch, Claim, Client, ErrorKind, Key, Kind, Loss, Operation, Options, Outcome, Said, Stay, Step, What,
};
use tenure_core::{Backend, StoreErrorKind};
use tenure_redis::redis::from_redis_value;
use tenure_testkit::{FaultProxy, RedisServer};

/// The servers' own URLs, but for one that is reached through a proxy.
fn urls_by(servers: &[RedisServer], at: usize, proxy: &FaultProxy) -> Vec<String> {
    let mut urls = urls(servers);
    urls[at] = proxy.url();
    urls
}

fn long() -> Options {
    Options::new().lease(Duration::from_secs(60))
}

/// How often a claim is in, on one server.
fn count(server: &RedisServer, key: &str, claim: &Claim) -> Option<String> {
    from_redis_value(server.command(&["HGET", key, claim.as_str()])).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_held_lock_is_busy_also_if_one_server_is_down_and_one_is_slow() {
    let servers = servers(3);
    let proxy = FaultProxy::start(servers[2].addr());
    let holder = client(&servers, "").await;
    let other = client_of(&urls_by(&servers, 2, &proxy), "").await;
    let guard = holder.lock("k").unwrap().lock_with(long()).await.unwrap();
    eventually("all have it", PATIENCE, || spread(&servers, "k") == 3).await;
    servers[0].kill();
    proxy.delay(ms(40));
    for _ in 0..5 {
        let got = other.lock("k").unwrap().try_lock().await;
        assert!(matches!(got, Ok(None)), "{got:?}");
    }
    let error = other.lock("k").unwrap().lock_timeout(ms(1000)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    assert_eq!(error.holder().unwrap().claim, *guard.claim());
    let said: Vec<&str> = error.votes().iter().map(|vote| vote.said.name()).collect();
    assert_eq!(said[..2], ["silent", "held"], "{error}");
    assert!(error.to_string().contains(&servers[1].addr().to_string()), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_each_server_says_can_be_looked_at() {
    let servers = servers(3);
    let client = client(&servers, "?max_lease=60s").await;
    let lock = client.lock("k").unwrap();
    let votes = async || lock.votes().await.unwrap();
    assert_eq!(votes().await.iter().map(|vote| vote.server.clone()).collect::<Vec<_>>(), {
        servers.iter().map(|server| server.addr().to_string()).collect::<Vec<_>>()
    });
    assert!(votes().await.iter().all(|vote| vote.said == Said::Free));
    let guard = lock.lock().await.unwrap();
    eventually("all have it", PATIENCE, || spread(&servers, "k") == 3).await;
    let held = lock.inspect().await.unwrap().unwrap();
    assert!(held.votes.iter().all(|vote| vote.said == Said::Held(guard.claim().clone())), "{:?}", held.votes);

    let mut events = client.events();
    let waiter = self::client(&servers, "").await;
    let mut theirs = waiter.events();
    let waiting = tokio::spawn({
        let lock = waiter.lock("k").unwrap();
        async move { lock.lock().await.unwrap() }
    });
    let what = soon("it waits", theirs.next()).await.unwrap().what;
    let What::Waiting { votes: said, .. } = what else { panic!("{what:?}") };
    assert!(said.iter().any(|vote| vote.said == Said::Held(guard.claim().clone())), "{said:?}");

    servers[2].restart();
    eventually("it was seen to have restarted", PATIENCE, || spread(&servers, "k") == 3).await;
    let said = votes().await;
    assert!(matches!(said[2].said, Said::Abstains(left) if left > Duration::from_secs(30)), "{said:?}");
    servers[1].kill();
    servers[2].kill();
    // A majority is silent: what the first says is shown all the same.
    let error = lock.inspect().await.unwrap_err();
    assert_eq!((error.kind(), error.votes().len()), (ErrorKind::Unavailable, 3), "{error}");
    let said = votes().await;
    assert_eq!(said[0].said, Said::Held(guard.claim().clone()), "{said:?}");
    assert!(matches!(said[1].said, Said::Silent(_)) && matches!(said[2].said, Said::Silent(_)), "{said:?}");
    let jeopardy = async {
        loop {
            if let What::Jeopardy { votes, cause, .. } = events.next().await.unwrap().what {
                return (votes, cause);
            }
        }
    };
    let (said, cause) = soon("it is in jeopardy", jeopardy).await;
    assert_eq!(said.len(), 3);
    assert!(servers.iter().all(|server| cause.contains(&server.addr().to_string())), "{cause}");
    waiting.abort();
}

/// A server that cannot be reached when the lock is given back would keep it for a minute.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_was_cut_off_is_told_of_a_release_when_it_is_back() {
    let servers = servers(3);
    let proxy = FaultProxy::start(servers[2].addr());
    let client = client_of(&urls_by(&servers, 2, &proxy), "").await;
    for kind in [Kind::Reentrant, Kind::Simple] {
        let key = kind.to_string();
        let guard = client.lock_of(kind, &key).unwrap().lock_with(long()).await.unwrap();
        eventually("all have it", PATIENCE, || spread(&servers, &key) == 3).await;
        proxy.drop_requests();
        guard.release().await.unwrap();
        assert_eq!(spread(&servers, &key), 1);
        proxy.heal();
        eventually("it is free there too", PATIENCE, || spread(&servers, &key) == 0).await;
    }
}

/// The same of votes that were of no use.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_was_cut_off_is_told_of_a_vote_that_was_given_back() {
    let servers = servers(3);
    let proxy = FaultProxy::start(servers[2].addr());
    let (holder, key) = (backend_of(&urls(&servers), ""), Key::new("k").unwrap());
    let asker = client_of(&urls_by(&servers, 2, &proxy), "").await;
    asker.lock("warm").unwrap().lock().await.unwrap().release().await.unwrap();
    assert!(matches!(holder.apply_one(Kind::Reentrant, &key, &acquire(1), PATIENCE).await, Ok(Outcome::Granted(_))));
    eventually("all have it", PATIENCE, || spread(&servers, "k") == 3).await;
    // The third has forgotten, lets the asker in, and is not heard.
    servers[2].command(&["DEL", "k"]);
    proxy.drop_replies();
    let asking = tokio::spawn({
        let lock = asker.lock("k").unwrap();
        async move { lock.try_lock_with(long()).await }
    });
    eventually("it is in there", PATIENCE, || spread(&servers[2..], "k") == 1).await;
    proxy.drop_requests();
    assert!(!matches!(soon("it is told no", asking).await.unwrap(), Ok(Some(_))));
    proxy.heal();
    eventually("the vote is given back", PATIENCE, || spread(&servers[2..], "k") == 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_lost_hold_has_left_is_given_back() {
    let servers = servers(3);
    let client = client(&servers, "").await;
    let guard = client.lock("k").unwrap().lock_with(long()).await.unwrap();
    eventually("all have it", PATIENCE, || spread(&servers, "k") == 3).await;
    let lost = async {
        loop {
            servers[0].command(&["DEL", "k"]);
            servers[1].command(&["DEL", "k"]);
            // A renewal between the two gives the first one its share back, and the hold has a majority again.
            if let Err(error) = guard.renew().await {
                return error;
            }
        }
    };
    assert_eq!(soon("it is lost", lost).await.kind(), ErrorKind::Lost);
    assert_eq!(soon("it is told", guard.lost()).await, Loss::Gone);
    eventually("nothing is left", PATIENCE, || spread(&servers, "k") == 0).await;
}

/// The one that has forgotten answers last, when a majority has decided already.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_server_that_came_back_is_given_the_lock_again() {
    let servers = servers(3);
    let proxy = FaultProxy::start(servers[1].addr());
    let client = client_of(&urls_by(&servers, 1, &proxy), "").await;
    let guard = client.lock("k").unwrap().lock().await.unwrap();
    eventually("all have it", PATIENCE, || spread(&servers, "k") == 3).await;
    proxy.delay(ms(30));
    servers[1].restart();
    eventually("it is there again", PATIENCE, || spread(&servers, "k") == 3).await;
    guard.check().unwrap();
}

/// A program that a holder runs goes in beside it, and stays in when the servers restart one by one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_under_others_outlives_restarts_as_they_do() {
    let servers = servers(3);
    let options = "?max_lease=3s";
    let (outside, inside) = (client(&servers, options).await, client(&servers, options).await);
    let outer = outside.lock("k").unwrap().lock().await.unwrap();
    let under = Options::new().lease(Duration::from_secs(3)).under(&outer.lineage());
    let inner = inside.lock("k").unwrap().lock_with(under).await.unwrap();
    assert_eq!(inner.token(), outer.token());
    let everywhere = || {
        let on =
            |server: &RedisServer| [&outer, &inner].iter().all(|guard| count(server, "k", guard.claim()).is_some());
        servers.iter().all(on)
    };
    eventually("all have both", PATIENCE, everywhere).await;
    for restarted in [1, 2, 0] {
        servers[restarted].restart();
        eventually("it has both again", PATIENCE, everywhere).await;
        let fence: String = from_redis_value(servers[restarted].command(&["HGET", "k", "fence"])).unwrap();
        assert_eq!(fence, outer.token().to_string());
        // Before the next one, it counts again.
        let votes = async || outside.lock("k").unwrap().votes().await.unwrap();
        let counts = async { while votes().await.iter().any(|vote| matches!(vote.said, Said::Abstains(_))) {} };
        soon("it votes again", counts).await;
    }
    outer.check().unwrap();
    inner.check().unwrap();
    inner.release().await.unwrap();
    outer.release().await.unwrap();
    eventually("nothing is left", PATIENCE, || spread(&servers, "k") == 0).await;
}

/// Beside one who was let in since, both might come to a majority.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_is_put_back_beside_one_who_was_let_in_meanwhile() {
    let servers = servers(3);
    let (backend, key, lease) = (backend_of(&urls(&servers), ""), Key::new("k").unwrap(), Duration::from_secs(30));
    let apply =
        async |operation: &Operation| backend.apply_one(Kind::Reentrant, &key, operation, PATIENCE).await.unwrap();
    let (outer, one, sibling) = (claim(1), Claim::nested(claim(1).client(), 2), Claim::nested(claim(1).client(), 3));
    let under = vec![outer.clone()];
    let goes_in =
        |claim: &Claim| Operation::Acquire { claim: claim.clone(), under: under.clone(), lease, stay: Stay::No };
    assert!(matches!(apply(&acquire(1)).await, Outcome::Granted(_)));
    assert!(matches!(apply(&goes_in(&one)).await, Outcome::Granted(_)));
    eventually("all have both", PATIENCE, || servers.iter().all(|server| count(server, "k", &one).is_some())).await;
    // The third forgets both, and a sibling that asks is let in there alone.
    servers[2].command(&["DEL", "k"]);
    let third = tenure_redis::Config::from_url(&servers[2].url()).unwrap().into_backend();
    let let_in = third.apply_one(Kind::Reentrant, &key, &goes_in(&sibling), PATIENCE).await.unwrap();
    assert!(matches!(let_in, Outcome::Granted(_)), "{let_in:?}");
    for claim in [&outer, &one] {
        assert_eq!(apply(&Operation::Renew { claim: claim.clone(), lease }).await, Outcome::Renewed);
    }
    // Whatever was to be put back is there by the time these are answered.
    let warm = Key::new("warm").unwrap();
    assert!(matches!(backend.apply_one(Kind::Reentrant, &warm, &acquire(9), PATIENCE).await, Ok(Outcome::Granted(_))));
    eventually("all have it", PATIENCE, || spread(&servers, "warm") == 3).await;
    assert_eq!((count(&servers[2], "k", &outer), count(&servers[2], "k", &one)), (None, None));
    assert!(count(&servers[2], "k", &sibling).is_some());
}

/// One hold of which too little is known is not to cost others their renewal.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hold_that_few_know_of_leaves_the_others_in_peace() {
    let servers = servers(3);
    let (backend, lease) = (backend_of(&urls(&servers), ""), Duration::from_secs(30));
    let key = |name: &str| Key::new(name).unwrap();
    for (name, number) in [("forgotten", 1), ("known", 2)] {
        let granted = backend.apply_one(Kind::Reentrant, &key(name), &acquire(number), PATIENCE).await.unwrap();
        assert!(matches!(granted, Outcome::Granted(_)), "{granted:?}");
        eventually("all have it", PATIENCE, || spread(&servers, name) == 3).await;
    }
    servers[0].command(&["DEL", "forgotten"]);
    servers[2].kill();
    let renewal =
        |name, number| Step::new(Kind::Reentrant, &key(name), Operation::Renew { claim: claim(number), lease });
    let renewals = [renewal("forgotten", 1), renewal("known", 2)];
    let applied = backend.apply(Batch::each(&renewals), ms(500)).await.unwrap();
    let Applied::Each(answers) = &applied else { panic!("{applied:?}") };
    let [Err(error), Ok(Outcome::Renewed)] = &answers[..] else { panic!("{answers:?}") };
    assert_eq!((error.kind, error.votes.len()), (StoreErrorKind::Unanswered, 3));
    assert_eq!(error.votes[1].said, Said::Held(claim(1)), "{error}");
}

#[tokio::test]
async fn two_names_of_one_server_are_refused() {
    let servers = servers(3);
    let twin = servers[0].url().replace("127.0.0.1", "localhost");
    let urls = [servers[0].url(), twin, servers[1].url()];
    let error = Client::builder().connect(backend_of(&urls, "")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(error.to_string().contains("the same server"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_that_do_not_let_us_in_are_no_silence() {
    let servers: Vec<RedisServer> = (0..3)
        .map(|_| RedisServer::builder().acl("user less on >hunter2-canary ~* &* +@all -evalsha -eval").start())
        .collect();
    let urls: Vec<String> = servers.iter().map(|server| server.url_as("less", "hunter2-canary")).collect();
    let client = client_of(&urls, "").await;
    let error = client.lock("k").unwrap().lock_timeout(PATIENCE).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    let wrong: Vec<String> = servers.iter().map(|server| server.url_as("less", "wrong-canary")).collect();
    let error = Client::builder().connect(backend_of(&wrong, "")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    assert!(!error.to_string().contains("canary"), "{error}");
}

/// The user of the documentation, who may lock and nothing else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_documented_user_has_every_right_it_needs() {
    let readme = include_str!("../../README.md");
    let line = readme.lines().find_map(|line| line.strip_prefix("ACL SETUSER locker on >PASSWORD ")).unwrap();
    let with = |more: &str| {
        let acl = format!("user locker on >hunter2-canary {line} {more}");
        let servers: Vec<RedisServer> = (0..3).map(|_| RedisServer::builder().acl(&acl).start()).collect();
        let urls: Vec<String> = servers.iter().map(|server| server.url_as("locker", "hunter2-canary")).collect();
        (servers, urls)
    };
    let (servers, urls) = with("+info");
    let client = client_of(&urls, "").await;
    for kind in [Kind::Reentrant, Kind::Simple] {
        let key = format!("app:{kind}");
        let lock = client.lock_of(kind, &key).unwrap();
        let guard = lock.lock().await.unwrap();
        eventually("all have it", PATIENCE, || spread(&servers, &key) == 3).await;
        let under = Options::new().lease(Duration::from_secs(3)).under(&guard.lineage());
        let inner = if kind == Kind::Reentrant { Some(lock.lock_with(under).await.unwrap()) } else { None };
        servers[2].command(&["DEL", &key]);
        eventually("it is put back", PATIENCE, || spread(&servers, &key) == 3).await;
        let error = client.lock_of(kind, &key).unwrap().lock_timeout(ms(200)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
        for guard in inner.into_iter().chain([guard]) {
            guard.release().await.unwrap();
        }
    }
    let (_servers, urls) = with("");
    let error = Client::builder().connect(backend_of(&urls, "")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    assert!(error.to_string().contains("info"), "{error}");
}
