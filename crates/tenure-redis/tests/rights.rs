//! Users who may lock but not be told: that costs them speed, and never the truth.

mod support;

use support::{PATIENCE, client, eventually, exists, soon};
use tenure_core::{Guard, Options, Release};
use tenure_testkit::RedisServer;

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
