//! Tests of the faults that last until `heal`, against a real server.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use redis::{Client, Connection, RedisResult};

use super::FaultProxy;
use crate::servers::RedisServer;

/// Long enough for a round trip on a busy machine, short enough to wait for in vain.
const MOMENT: Duration = Duration::from_millis(200);

pub(super) fn pair() -> (RedisServer, FaultProxy) {
    let server = RedisServer::start();
    let proxy = FaultProxy::start(server.addr());
    (server, proxy)
}

pub(super) fn connect(proxy: &FaultProxy) -> Connection {
    let connection = Client::open(proxy.url()).unwrap().get_connection_with_timeout(Duration::from_secs(5)).unwrap();
    connection.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    connection
}

pub(super) fn run(connection: &mut Connection, words: &[&str]) -> RedisResult<redis::Value> {
    redis::cmd(words[0]).arg(&words[1..]).query(connection)
}

pub(super) fn eventually(what: &str, done: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !done() {
        assert!(Instant::now() < deadline, "{what} took too long");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn times_out(connection: &mut Connection, words: &[&str]) -> bool {
    connection.set_read_timeout(Some(MOMENT)).unwrap();
    run(connection, words).is_err_and(|error| error.is_timeout())
}

#[test]
fn passes_and_counts() {
    let (_server, proxy) = pair();
    let mut first = connect(&proxy);
    let second = connect(&proxy);
    run(&mut first, &["SET", "k", "v"]).unwrap();
    run(&mut first, &["GET", "k"]).unwrap();
    assert_eq!((proxy.connections(), proxy.accepted()), (2, 2));
    assert_eq!(proxy.requests_seen("$1\r\nk"), 2);
    assert_eq!(proxy.requests_seen("GET"), 1);
    drop(second);
    eventually("the close", || proxy.connections() == 1);
    assert_eq!(proxy.accepted(), 2);
}

#[test]
fn cut_closes_and_refuses_until_healed() {
    let (server, proxy) = pair();
    let mut connection = connect(&proxy);
    proxy.cut();
    assert_eq!(proxy.connections(), 0);
    assert!(run(&mut connection, &["SET", "k", "v"]).is_err());
    let refused = TcpStream::connect(proxy.addr()).unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
    proxy.cut();
    proxy.heal();
    run(&mut connect(&proxy), &["PING"]).unwrap();
    assert_eq!(server.keys("*").len(), 0);
}

#[test]
fn reset_breaks_only_current_connections() {
    let (_server, proxy) = pair();
    let mut connection = connect(&proxy);
    let idle = TcpStream::connect(proxy.addr()).unwrap();
    proxy.reset();
    assert_eq!(proxy.connections(), 0);
    let error = std::io::Read::read(&mut &idle, &mut [0]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    assert!(run(&mut connection, &["PING"]).is_err());
    run(&mut connect(&proxy), &["PING"]).unwrap();
}

#[test]
fn hang_holds_and_heal_delivers() {
    let (server, proxy) = pair();
    let mut connection = connect(&proxy);
    proxy.hang();
    assert!(TcpStream::connect(proxy.addr()).is_ok());
    assert!(times_out(&mut connection, &["SET", "k", "v"]));
    assert_eq!(server.keys("*").len(), 0);
    proxy.heal();
    eventually("the held request", || server.keys("*").len() == 1);
}

#[test]
fn hung_requests_arrive_though_their_client_left() {
    let (server, proxy) = pair();
    let mut connection = connect(&proxy);
    proxy.hang_requests();
    assert!(times_out(&mut connection, &["SET", "k", "v"]));
    drop(connection);
    eventually("the client's close", || proxy.connections() == 0);
    assert_eq!(server.keys("*").len(), 0);
    proxy.heal();
    eventually("the held request", || server.keys("*").len() == 1);
}

#[test]
fn hung_replies_follow_applied_requests() {
    let (server, proxy) = pair();
    let mut connection = connect(&proxy);
    proxy.hang_replies();
    std::thread::scope(|scope| {
        let reply = scope.spawn(|| run(&mut connection, &["INCR", "k"]));
        eventually("the request", || server.keys("*").len() == 1);
        std::thread::sleep(MOMENT);
        assert!(!reply.is_finished());
        proxy.heal();
        assert_eq!(reply.join().unwrap().unwrap(), redis::Value::Int(1));
    });
}

#[test]
fn dropped_requests_never_arrive() {
    let (server, proxy) = pair();
    let mut connection = connect(&proxy);
    proxy.drop_requests();
    assert!(times_out(&mut connection, &["SET", "k", "v"]));
    proxy.heal();
    eventually("the end of the broken stream", || proxy.connections() == 0);
    assert!(run(&mut connection, &["PING"]).is_err());
    run(&mut connect(&proxy), &["PING"]).unwrap();
    assert_eq!(server.keys("*").len(), 0);
}

#[test]
fn dropped_replies_hide_applied_requests() {
    let (server, proxy) = pair();
    let mut connection = connect(&proxy);
    proxy.drop_replies();
    assert!(times_out(&mut connection, &["SET", "k", "v"]));
    assert_eq!(server.keys("*"), ["k"]);
    proxy.heal();
    eventually("the end of the broken stream", || proxy.connections() == 0);
    run(&mut connect(&proxy), &["PING"]).unwrap();
}

#[test]
fn a_connection_that_lost_nothing_survives_a_partition() {
    let (_server, proxy) = pair();
    let mut connection = connect(&proxy);
    proxy.drop_requests();
    proxy.drop_replies();
    proxy.heal();
    run(&mut connection, &["PING"]).unwrap();
}

#[test]
fn a_dead_server_is_not_noticed_on_a_hung_line() {
    let (server, proxy) = pair();
    let mut connection = connect(&proxy);
    proxy.hang_replies();
    server.kill();
    assert!(times_out(&mut connection, &["PING"]));
    proxy.heal();
    eventually("the news", || proxy.connections() == 0);
}

#[test]
fn delay_adds_up_over_both_directions() {
    let (_server, proxy) = pair();
    let mut connection = connect(&proxy);
    let mut timed = |least: u32| {
        let start = Instant::now();
        run(&mut connection, &["PING"]).unwrap();
        assert!(start.elapsed() >= MOMENT * least, "{:?}", start.elapsed());
        start.elapsed()
    };
    proxy.delay(MOMENT);
    timed(2);
    proxy.heal();
    proxy.delay_requests(MOMENT);
    timed(1);
    proxy.heal();
    proxy.delay_replies(MOMENT);
    timed(1);
    proxy.heal();
    assert!(timed(0) < MOMENT);
}

#[test]
fn messages_are_dropped_and_nothing_else() {
    for protocol in ["", "?protocol=resp3"] {
        let (server, proxy) = pair();
        let client = Client::open(format!("{}/{protocol}", proxy.url())).unwrap();
        let mut connection = client.get_connection().unwrap();
        let mut subscription = connection.as_pubsub();
        subscription.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        subscription.subscribe("news").unwrap();
        let publish = |text| server.command(&["PUBLISH", "news", text]);
        proxy.drop_messages();
        assert_eq!(publish("lost"), redis::Value::Int(1));
        // The confirmation passes, and with it everything the server sent before.
        subscription.psubscribe("w*").unwrap();
        server.command(&["PUBLISH", "weather", "lost too"]);
        subscription.subscribe("third").unwrap();
        proxy.heal();
        publish("kept");
        let message = subscription.get_message().unwrap();
        let text: String = message.get_payload().unwrap();
        assert_eq!(text, "kept", "{protocol}");
    }
}

#[test]
fn works_while_the_test_blocks_its_runtime() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (_server, proxy) = pair();
        run(&mut connect(&proxy), &["PING"]).unwrap();
        proxy.cut();
        proxy.heal();
        drop(proxy);
    });
}
