//! Tests of the traps, which wait for one request, against a real server.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use redis::Value;

use super::tests::{connect, eventually, pair, run};

#[test]
fn dropped_reply_comes_after_the_request_was_applied() {
    let (server, proxy) = pair();
    let mut connection = connect(&proxy);
    run(&mut connection, &["SET", "other", "v"]).unwrap();
    let dropped = proxy.drop_reply_after("INCR");
    assert!(run(&mut connection, &["INCR", "k"]).is_err());
    dropped.wait();
    assert_eq!(proxy.connections(), 0);
    assert_eq!(server.keys("k"), ["k"]);
    let retried = run(&mut connect(&proxy), &["INCR", "k"]);
    assert_eq!(retried.unwrap(), Value::Int(2), "the trap was for one");
}

#[test]
fn dropped_reply_is_the_right_one_of_a_pipeline() {
    let (server, proxy) = pair();
    let mut connection = connect(&proxy);
    let dropped = proxy.drop_reply_after("$1\r\nb");
    let mut pipeline = redis::pipe();
    for key in ["a", "b", "c"] {
        pipeline.cmd("INCR").arg(key);
    }
    assert!(pipeline.exec(&mut connection).is_err());
    dropped.wait();
    eventually("the pipeline", || server.keys("*").len() == 3);
}

#[tokio::test]
async fn dropped_reply_can_be_awaited() {
    let (server, proxy) = pair();
    let client = redis::Client::open(proxy.url()).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let dropped = proxy.drop_reply_after("SET");
    let lost = redis::cmd("SET").arg(&["k", "v"]).exec_async(&mut connection).await;
    assert!(lost.is_err());
    dropped.await;
    assert_eq!(server.keys("*"), ["k"]);
}

#[test]
fn held_request_is_a_ghost_when_its_client_is_gone() {
    let (server, proxy) = pair();
    let mut connection = connect(&proxy);
    let ghost = proxy.hold_request("ghost");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            connection.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
            run(&mut connection, &["SET", "k", "ghost"]).unwrap_err();
            drop(connection);
        });
        ghost.wait_caught();
    });
    eventually("the client's close", || proxy.connections() == 0);
    run(&mut connect(&proxy), &["SET", "k", "living"]).unwrap();
    ghost.release();
    ghost.wait_done();
    let value = server.command(&["GET", "k"]);
    assert_eq!(value, Value::BulkString(b"ghost".to_vec()));
}

#[test]
fn held_request_survives_a_cut() {
    let (server, proxy) = pair();
    let mut connection = connect(&proxy);
    let ghost = proxy.hold_request("SET");
    std::thread::scope(|scope| {
        let lost = scope.spawn(|| run(&mut connection, &["SET", "k", "v"]));
        ghost.wait_caught();
        proxy.cut();
        assert!(lost.join().unwrap().is_err());
    });
    assert_eq!(server.keys("*").len(), 0);
    ghost.release();
    ghost.wait_done();
    assert_eq!(server.keys("*"), ["k"]);
}

#[test]
fn held_request_reaches_a_client_that_waited() {
    let (server, proxy) = pair();
    let mut connection = connect(&proxy);
    let held = proxy.hold_request("INCR");
    std::thread::scope(|scope| {
        let reply = scope.spawn(|| run(&mut connection, &["INCR", "k"]));
        held.wait_caught();
        assert_eq!(server.keys("*").len(), 0);
        drop(held);
        assert_eq!(reply.join().unwrap().unwrap(), Value::Int(1));
    });
}

#[tokio::test]
async fn paused_reply_follows_an_applied_request() {
    let (server, proxy) = pair();
    let client = redis::Client::open(proxy.url()).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let paused = proxy.pause_before_reply("SET");
    let request = tokio::spawn(async move { redis::cmd("SET").arg(&["k", "v"]).exec_async(&mut connection).await });
    paused.caught().await;
    assert_eq!(server.keys("*"), ["k"]);
    assert!(!request.is_finished());
    paused.release();
    paused.done().await;
    // A client that had given up in the meantime would report a timeout.
    request.await.unwrap().unwrap();
}

#[test]
fn subscriptions_do_not_shift_replies() {
    let (server, proxy) = pair();
    // By hand: the client library would wait for an answer to SUBSCRIBE besides the pushes.
    let mut stream = TcpStream::connect(proxy.addr()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let send = |words: &[&str]| {
        let bulks = words.iter().map(|word| format!("${}\r\n{word}\r\n", word.len()));
        let request = format!("*{}\r\n{}", words.len(), bulks.collect::<String>());
        (&stream).write_all(request.as_bytes()).unwrap();
    };
    let confirmed = proxy.pause_before_reply("SUBSCRIBE");
    let paused = proxy.pause_before_reply("INCR");
    send(&["HELLO", "3"]);
    send(&["SUBSCRIBE", "a", "b"]);
    confirmed.wait_caught();
    confirmed.release();
    server.command(&["PUBLISH", "a", "x"]);
    send(&["INCR", "k"]);
    paused.wait_caught();
    assert_eq!(server.keys("k"), ["k"]);
    paused.release();
    paused.wait_done();
    let mut seen = Vec::new();
    while !seen.ends_with(b":1\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        seen.extend(byte);
    }
}

#[test]
fn a_dropped_handle_disarms_its_trap() {
    let (_server, proxy) = pair();
    let mut connection = connect(&proxy);
    drop(proxy.hold_request("PING"));
    run(&mut connection, &["PING"]).unwrap();
}

#[test]
#[should_panic(expected = "the connection ended before")]
fn a_trap_that_lost_its_connection_says_so() {
    let (server, proxy) = pair();
    let mut connection = connect(&proxy);
    server.pause();
    let paused = proxy.pause_before_reply("PING");
    std::thread::scope(|scope| {
        let lost = scope.spawn(|| run(&mut connection, &["PING"]));
        eventually("the request", || proxy.requests_seen("PING") == 1);
        server.kill();
        assert!(lost.join().unwrap().is_err());
    });
    paused.wait_caught();
}
