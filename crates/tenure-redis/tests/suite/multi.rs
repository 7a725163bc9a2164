//! Several locks by one script: what it sends, what is lost on the way, and what is in the way.

use crate::support::scripts::TOGETHER;
use crate::support::{LEASE, PATIENCE, ask, backend, client, client_of, eventually, exists, litter, ms, soon};
use tenure_core::{Client, ErrorKind, Key, Kind, MultiLock, Release};
use tenure_testkit::{FaultProxy, RedisServer};

fn set(client: &Client) -> MultiLock {
    let locks = [("a", Kind::Reentrant), ("b", Kind::Simple), ("c", Kind::Reentrant)];
    MultiLock::new(locks.map(|(key, kind)| client.lock_of(kind, key).unwrap())).unwrap()
}

/// A client whose answers come through a proxy, with the scripts known to the server.
async fn behind_proxy(server: &RedisServer) -> (FaultProxy, Client) {
    let proxy = FaultProxy::start(server.addr());
    let client = Client::builder().answer_within(ms(300)).connect(backend(&proxy.url())).await.unwrap();
    set(&client).lock().await.unwrap().release().await.unwrap();
    (proxy, client)
}

#[tokio::test]
async fn a_set_that_is_free_is_one_command() {
    let server = RedisServer::start();
    let client = client_of(&server).await;
    set(&client).lock().await.unwrap().release().await.unwrap();
    server.reset_stats();
    let guard = set(&client).lock().await.unwrap();
    assert_eq!(server.command_calls("evalsha"), 1);
    let tokens: Vec<u64> = guard.tokens().map(|(_, token)| token).collect();
    let fence: u64 = ask(&server, &["GET", "tenure:fence"]);
    assert!(tokens.is_sorted_by(|one, next| one < next) && tokens[2] == fence, "{tokens:?} {fence}");
    guard.release().await.unwrap();
    assert_eq!(litter(&server), [""; 0]);
}

/// The store has acted, and its answer is lost: asked again, it says the same.
#[tokio::test]
async fn a_lost_answer_is_given_again() {
    let server = RedisServer::start();
    let (proxy, client) = behind_proxy(&server).await;
    let dropped = proxy.drop_reply_after(&TOGETHER);
    let guard = soon("it is asked again", set(&client).lock()).await.unwrap();
    dropped.wait();
    assert!(guard.is_held());
    for (key, token) in guard.tokens() {
        let kept: String = match key.as_str() {
            "b" => ask::<String>(&server, &["GET", "b"]).split(' ').nth(1).unwrap().to_owned(),
            key => ask(&server, &["HGET", key, "fence"]),
        };
        assert_eq!(kept, token.to_string(), "{key}");
    }
    assert_eq!(guard.release().await.unwrap(), Release::Released);
    eventually("nothing is left", PATIENCE, || litter(&server).is_empty()).await;
}

/// Given up while the request was on its way: when it arrives, it takes nothing.
#[tokio::test]
async fn a_request_that_arrives_late_takes_nothing() {
    let server = RedisServer::start();
    let (proxy, client) = behind_proxy(&server).await;
    let ghost = proxy.hold_request(&TOGETHER);
    let asking = tokio::spawn({
        let set = set(&client);
        async move { set.lock().await.map(drop) }
    });
    ghost.caught().await;
    asking.abort();
    let tombstones = || server.keys("tenure:cancelled:*").len();
    eventually("the janitor was there", PATIENCE, || tombstones() == 3).await;
    ghost.release();
    ghost.done().await;
    assert!(["a", "b", "c"].iter().all(|key| !exists(&server, key)));
    let other = client_of(&server).await;
    let guard = set(&other).try_lock().await.unwrap().expect("all are free");
    assert_eq!(guard.release().await.unwrap(), Release::Released);
}

#[tokio::test]
async fn keys_that_are_no_locks_are_left_alone() {
    let server = RedisServer::start();
    let client = client_of(&server).await;
    for words in [
        &["RPUSH", "b", "x"][..],
        &["HSET", "b", "name", "value"],
        &["HSET", "c", "name", "value"],
        &["SADD", "c", "x"],
        &["SET", "c", "x"],
    ] {
        server.command(words);
        let key = words[1];
        for error in [set(&client).try_lock().await.unwrap_err(), set(&client).lock_timeout(ms(500)).await.unwrap_err()]
        {
            assert_eq!(error.kind(), ErrorKind::Conflict, "{words:?}: {error}");
            assert_eq!(error.key().map(Key::as_str), Some(key), "{words:?}: {error}");
        }
        assert_eq!(litter(&server), [key], "{words:?}");
        server.command(&["DEL", key]);
    }
    // What another library wrote with `SET` may be a simple lock of its own: it is waited for.
    server.command(&["SET", "b", "other", "PX", "200"]);
    assert!(set(&client).try_lock().await.unwrap().is_none());
    let guard = soon("it ends", set(&client).lock()).await.unwrap();
    guard.release().await.unwrap();
}

/// One key of a set may not be written: those before it are not taken either.
#[tokio::test]
async fn a_user_who_may_not_have_one_gets_none() {
    let rights = "user less on >pw ~tenure:* ~redisson* ~a ~b %R~c &* +@all";
    let server = RedisServer::builder().acl(rights).start();
    let less = client(&server.url_as("less", "pw")).await;
    for error in [set(&less).try_lock().await.unwrap_err(), set(&less).lock_timeout(ms(500)).await.unwrap_err()] {
        assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    }
    eventually("nothing is left", LEASE / 2, || litter(&server).is_empty()).await;
}

/// A watermark that is beyond what a script can count gives no token twice, and takes nothing.
#[tokio::test]
async fn tokens_that_would_be_handed_out_twice_are_not() {
    let server = RedisServer::start();
    let client = client_of(&server).await;
    server.command(&["SET", "tenure:fence", "9007199254740990"]);
    assert!(set(&client).try_lock().await.is_err());
    assert!(["a", "b", "c"].iter().all(|key| !exists(&server, key)));
}

/// The last tokens that are exact are handed out, and none beyond them.
#[tokio::test]
async fn a_set_takes_no_tokens_that_cannot_be_counted() {
    let server = RedisServer::start();
    let client = client_of(&server).await;
    let locks = client.multi(["a", "b"]).unwrap();
    let end = 1u64 << 53;
    server.command(&["SET", "tenure:fence", &(end - 3).to_string()]);
    let guard = locks.lock().await.unwrap();
    assert_eq!(guard.tokens().map(|(_, token)| token).collect::<Vec<_>>(), [end - 2, end - 1]);
    guard.release().await.unwrap();
    for watermark in [end - 2, end - 1, end, end + 1] {
        server.command(&["SET", "tenure:fence", &watermark.to_string()]);
        let Err(error) = locks.lock().await else { panic!("tokens beyond {watermark} were handed out") };
        assert!(error.to_string().contains("delete the key `tenure:fence`"), "at {watermark}: {error}");
        assert!(!exists(&server, "a") && !exists(&server, "b"));
    }
}
