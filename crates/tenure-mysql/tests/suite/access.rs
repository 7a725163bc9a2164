//! Who is let in, and what those are told who are not.

use crate::support::{backend, client, gets_in, soon};
use tenure_core::{Client, Error, ErrorKind, Kind, Release};
use tenure_testkit::MariaDbServer;

/// If this appears in what tests print, a secret got out.
const PASSWORD: &str = "hunter2-canary";

async fn refused(url: &str) -> Error {
    let error = match Client::builder().connect(backend(url)).await {
        Ok(client) => client.lock("k").unwrap().try_lock().await.map(|_| ()).unwrap_err(),
        Err(error) => error,
    };
    assert!(!format!("{error} {error:?}").contains(PASSWORD), "a secret was told");
    error
}

#[tokio::test]
async fn a_wrong_password_or_user_is_refused_and_not_repeated() {
    let server = MariaDbServer::start();
    server.add_user("app", "another", "ALL ON tenure.*");
    for user in ["app", "nobody"] {
        let error = refused(&server.url_as(user, PASSWORD)).await;
        assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
        assert!(error.to_string().contains("password"), "{error}");
    }
}

#[tokio::test]
async fn a_database_that_is_not_there_is_named() {
    let server = MariaDbServer::start();
    let error = refused(&server.url_of("missing")).await;
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    assert!(error.to_string().contains("no such database") && error.to_string().contains("missing"), "{error}");
    server.add_user("app", PASSWORD, "");
    let error = refused(&server.url_as("app", PASSWORD)).await;
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
}

#[tokio::test]
async fn without_tables_one_who_may_not_make_them_is_told_what_to_do() {
    let server = MariaDbServer::start();
    server.add_user("app", PASSWORD, "SELECT, INSERT, UPDATE, DELETE ON tenure.*");
    let error = refused(&server.url_as("app", PASSWORD)).await;
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    assert!(error.to_string().contains("`tenure --url … schema`"), "{error}");
    // What the advice leads to.
    for statement in tenure_mysql::SCHEMA.split(";\n").filter(|statement| statement.contains("tenure_")) {
        server.execute(statement);
    }
    gets_in(&client(&server.url_as("app", PASSWORD)).await, "k").await.release().await.unwrap();
}

/// The least rights are enough for everything, and it may put out locks of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_who_may_only_read_and_write_can_do_everything() {
    let server = MariaDbServer::start();
    gets_in(&client(&server.url()).await, "first").await.release().await.unwrap();
    server.add_user("app", PASSWORD, "SELECT, INSERT, UPDATE, DELETE ON tenure.*");
    let url = server.url_as("app", PASSWORD);
    let (one, other) = (client(&url).await, client(&url).await);
    let mut token = 0;
    for kind in [Kind::Reentrant, Kind::Simple, Kind::Fair, Kind::Fenced, Kind::Read, Kind::Write] {
        let key = format!("key of {kind}");
        let guard = one.lock_of(kind, &key).unwrap().lock().await.unwrap();
        if kind != Kind::Fenced {
            assert!(guard.token() > token);
            token = guard.token();
        }
        let lock = other.lock_of(kind, &key).unwrap();
        if kind != Kind::Read {
            assert!(lock.try_lock().await.unwrap().is_none());
        }
        assert!(lock.inspect().await.unwrap().is_some());
        assert_eq!(other.list("key of *").await.unwrap().len(), 1);
        let forced = lock.force_release().await.unwrap().expect("somebody held it");
        assert_eq!(&forced.holder().claim, guard.claim());
        soon("the holder is told", guard.lost()).await;
        let next = soon("it is free", lock.lock()).await.unwrap();
        assert_eq!(next.release().await.unwrap(), Release::Released);
    }
    let set = one.multi(["a", "b", "c"]).unwrap().lock().await.unwrap();
    set.release().await.unwrap();
}

/// Nobody is put out by one who may not, and the error says who may.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_of_another_user_is_forced_by_those_who_may() {
    let server = MariaDbServer::start();
    let root = client(&server.url()).await;
    let guard = gets_in(&root, "k").await;
    server.add_user("app", PASSWORD, "SELECT, INSERT, UPDATE, DELETE ON tenure.*");
    let app = client(&server.url_as("app", PASSWORD)).await;
    let error = app.lock("k").unwrap().force_release().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    assert!(error.to_string().contains("CONNECTION ADMIN"), "{error}");
    assert!(guard.is_held());
    guard.renew().await.unwrap();
    assert_eq!(guard.release().await.unwrap(), Release::Released);
    // The other way round it is done.
    let guard = gets_in(&app, "k").await;
    assert!(root.lock("k").unwrap().force_release().await.unwrap().is_some());
    soon("the holder is told", guard.lost()).await;
    gets_in(&root, "k").await.release().await.unwrap();
}

/// Tables of another version are left alone.
#[tokio::test]
async fn tables_of_another_version_are_refused() {
    let server = MariaDbServer::start();
    gets_in(&client(&server.url()).await, "k").await.release().await.unwrap();
    server.execute("UPDATE tenure_meta SET value = 99 WHERE name = 'schema'");
    let error = refused(&server.url()).await;
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(error.to_string().contains("schema=99"), "{error}");
}

#[tokio::test]
async fn a_server_that_is_read_only_says_so() {
    let server = MariaDbServer::start();
    server.add_user("app", PASSWORD, "SELECT, INSERT, UPDATE, DELETE ON tenure.*");
    gets_in(&client(&server.url()).await, "k").await.release().await.unwrap();
    server.execute("SET GLOBAL read_only = 1");
    let error = refused(&server.url_as("app", PASSWORD)).await;
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    assert!(error.to_string().contains("read-only"), "{error}");
}

/// As in a switch-over: whoever waits goes on waiting.
#[tokio::test]
async fn a_server_that_is_read_only_for_a_while_is_waited_for() {
    let server = MariaDbServer::start();
    server.add_user("app", PASSWORD, "SELECT, INSERT, UPDATE, DELETE ON tenure.*");
    gets_in(&client(&server.url()).await, "k").await.release().await.unwrap();
    let client = client(&server.url_as("app", PASSWORD)).await;
    server.execute("SET GLOBAL read_only = 1");
    let error = client.lock("k").unwrap().try_lock().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    let waiting = tokio::spawn(async move { gets_in(&client, "k").await });
    server.execute("SET GLOBAL read_only = 0");
    waiting.await.unwrap().release().await.unwrap();
}
