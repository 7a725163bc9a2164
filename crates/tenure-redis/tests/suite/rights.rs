//! Users who may lock but not be told: that costs them speed, and never the truth.

use crate::support::{self, PATIENCE, backend, builder, client, eventually, exists, ms, soon};
use std::time::Instant;
use tenure_core::{Client, Guard, Options, Release};
use tenure_testkit::{FaultProxy, RedisServer};
use tokio::task::JoinSet;

/// A server with a user who may do everything but this, and that user's URL.
fn without(rights: &str) -> (RedisServer, String) {
    let server = RedisServer::builder().acl(&format!("user less on >pw ~* &* +@all {rights}")).start();
    let url = server.url_as("less", "pw");
    (server, url)
}

/// A release whose news cannot be spread has freed the lock all the same, and that is what its holder must hear: an error
/// would say that nothing was done.
#[tokio::test]
async fn a_release_that_nobody_can_be_told_of_is_a_release() {
    for rights in ["resetchannels", "-publish"] {
        let (server, url) = without(rights);
        let client = client(&url).await;
        let released = async |guard: Guard, how: Release| {
            let kind = guard.kind();
            let said = guard.release().await;
            assert_eq!(said.as_ref().ok(), Some(&how), "{kind} without `{rights}`: {said:?}");
        };
        let (lock, simple) = (client.lock("k").unwrap(), client.simple("s").unwrap());
        released(lock.lock().await.unwrap(), Release::Released).await;
        released(simple.lock().await.unwrap(), Release::Released).await;
        let outer = lock.lock().await.unwrap();
        let under = lock.lock_with(Options::new().under(&outer.lineage())).await.unwrap();
        released(under, Release::Left).await;
        released(outer, Release::Released).await;
        for lock in [&lock, &simple] {
            let _guard = lock.lock().await.unwrap();
            let forced = lock.force_release().await;
            assert!(matches!(forced, Ok(Some(_))), "without `{rights}`: {forced:?}");
        }
        assert!(!exists(&server, "k") && !exists(&server, "s"));
        // And whoever waits looks by itself.
        let guard = lock.lock_with(Options::new()).await.unwrap();
        let other = support::client(&url).await.lock("k").unwrap();
        let waiting = tokio::spawn(async move { other.lock().await.unwrap().release().await.unwrap() });
        eventually("it stands in line", PATIENCE, || exists(&server, "tenure:line:{k}")).await;
        released(guard, Release::Released).await;
        soon("it gets in", waiting).await.unwrap();
    }
}

/// Twenty keys are waited for and given up.
async fn wait_in_vain(client: &Client) {
    let mut waiting = JoinSet::new();
    for n in 0..20 {
        let lock = client.lock(&format!("k{n}")).unwrap();
        waiting.spawn(async move { lock.lock_timeout(ms(100)).await.unwrap_err() });
    }
    while let Some(done) = soon("all give up", waiting.join_next()).await {
        done.unwrap();
    }
}

/// A client that may not listen asks for it ever more rarely, and then only for what is waited for at the time.
#[tokio::test]
async fn without_the_right_to_subscribe_nothing_piles_up() {
    let (server, url) = without("-subscribe");
    let proxy = FaultProxy::start(server.addr());
    let holder = Client::builder().connect(backend(&server.url())).await.unwrap();
    let mut guards = Vec::new();
    for n in 0..20 {
        guards.push(holder.lock(&format!("k{n}")).unwrap().lock().await.unwrap());
    }
    let url = url.replace(&server.addr().to_string(), &proxy.addr().to_string());
    let client = builder().connect(backend(&url)).await.unwrap();
    let began = Instant::now();
    wait_in_vain(&client).await;
    // This one is still waited for, so that there is something to ask for.
    let lock = client.lock("k0").unwrap();
    let waiting = tokio::spawn(async move { lock.lock().await });
    let asked = |key: &str| proxy.requests_seen(&format!("redisson_lock__channel:{{{key}}}"));
    let mut before = (asked("k0"), asked("k7"));
    loop {
        eventually("it asks again", PATIENCE, || asked("k0") > before.0).await;
        let now = (asked("k0"), asked("k7"));
        if now.1 == before.1 {
            break;
        }
        assert!(began.elapsed() < PATIENCE, "what nobody waits for any more is still asked for");
        before = now;
    }
    let opened = proxy.accepted();
    eprintln!("{opened} connections in {:?}", began.elapsed());
    assert!(opened <= 8, "{opened} connections in {:?}", began.elapsed());
    drop(guards);
    drop(soon("it gets in", waiting).await.unwrap().unwrap());
}
