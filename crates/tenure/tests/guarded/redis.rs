//! The commands of `fence::redis`, sent to a server.

use std::time::{Duration, Instant};
use tenure::fence::Refused;
use tenure::fence::redis::{companion, del, eval, hset, outcome, pass, set};
use tenure::redis::redis::{Client, Cmd, Connection, RedisResult};
use tenure_testkit::RedisServer;

fn connect(server: &RedisServer) -> Connection {
    Client::open(server.url()).unwrap().get_connection().unwrap()
}

fn send(connection: &mut Connection, words: Result<Vec<Vec<u8>>, tenure::Error>) -> RedisResult<i64> {
    Cmd::new().arg(words.unwrap()).query(connection)
}

fn get(connection: &mut Connection, key: impl AsRef<[u8]>) -> Option<String> {
    Cmd::new().arg("GET").arg(key.as_ref()).query(connection).unwrap()
}

#[test]
fn a_write_is_done_unless_a_later_one_was() {
    let server = RedisServer::start();
    let mut c = connect(&server);
    for (token, done) in [(5, true), (5, true), (7, true), (6, false), (5, false), (7, true), (8, true)] {
        let reply = send(&mut c, set("k", token.to_string(), token)).unwrap();
        assert_eq!(outcome(token, reply).is_ok(), done, "{token} {reply}");
    }
    assert_eq!(get(&mut c, "k").as_deref(), Some("8"));
    assert_eq!(get(&mut c, companion("k")).as_deref(), Some("8"));
    assert!(matches!(
        outcome(2, send(&mut c, set("k", "late", 2)).unwrap()),
        Err(Refused::Late { token: 2, newest: Some(8) })
    ));
}

#[test]
fn who_comes_too_late_brings_nothing_back() {
    let server = RedisServer::start();
    let mut c = connect(&server);
    assert_eq!(send(&mut c, hset("k", "f", "v", 5)).unwrap(), 0);
    assert_eq!(send(&mut c, del("k", 7)).unwrap(), 0);
    assert_eq!(send(&mut c, hset("k", "f", "v", 5)).unwrap(), 7);
    assert_eq!(server.keys("*"), ["tenure:newest:{k}"]);
}

#[test]
fn a_token_can_be_left_before_a_read() {
    let server = RedisServer::start();
    let mut c = connect(&server);
    assert_eq!(send(&mut c, pass("k", 7)).unwrap(), 0);
    assert_eq!(send(&mut c, set("k", "late", 5)).unwrap(), 7);
    assert_eq!(get(&mut c, "k"), None);
}

#[test]
fn tokens_are_told_apart_up_to_the_last() {
    let server = RedisServer::start();
    let mut c = connect(&server);
    let last = (1u64 << 53) - 1;
    assert_eq!(send(&mut c, set("k", "new", last)).unwrap(), 0);
    assert_eq!(send(&mut c, set("k", "late", last - 1)).unwrap(), i64::try_from(last).unwrap());
    assert_eq!(get(&mut c, companion("k")), Some(last.to_string()), "not in the way of doubles, as 9.007e+15");
}

#[test]
fn a_script_of_ones_own_runs_behind_the_check() {
    let server = RedisServer::start();
    let mut c = connect(&server);
    let pay = "return redis.call('DECRBY', KEYS[1], ARGV[2]) * 0";
    assert_eq!(send(&mut c, eval(pay, "k", 7, &["50"])).unwrap(), 0);
    assert_eq!(send(&mut c, eval(pay, "k", 5, &["70"])).unwrap(), 7);
    assert_eq!(get(&mut c, "k").as_deref(), Some("-50"));
}

#[test]
fn what_is_no_token_lets_nobody_through() {
    let server = RedisServer::start();
    let mut c = connect(&server);
    for junk in ["", "nan", "x", "-1", "1.5", "0x10", "9007199254740992", "99999999999999999999"] {
        Cmd::new().arg("SET").arg(companion("k")).arg(junk).exec(&mut c).unwrap();
        let error = send(&mut c, set("k", "v", 7)).unwrap_err();
        assert_eq!(error.code(), Some("NOTOKEN"), "{junk}: {error}");
    }
    Cmd::new().arg("DEL").arg(companion("k")).exec(&mut c).unwrap();
    Cmd::new().arg("HSET").arg(companion("k")).arg("f").arg("v").exec(&mut c).unwrap();
    assert_eq!(send(&mut c, set("k", "v", 7)).unwrap_err().code(), Some("WRONGTYPE"));
    Cmd::new().arg("DEL").arg(companion("k")).exec(&mut c).unwrap();
    let mut words = set("k", "v", 7).unwrap();
    words[5] = b"7e1".to_vec();
    assert_eq!(send(&mut c, Ok(words)).unwrap_err().code(), Some("NOTOKEN"));
    assert_eq!(get(&mut c, "k"), None);
}

#[test]
fn a_write_that_fails_has_been_seen() {
    let server = RedisServer::start();
    let mut c = connect(&server);
    Cmd::new().arg("SET").arg("k").arg("a string").exec(&mut c).unwrap();
    assert_eq!(send(&mut c, hset("k", "f", "v", 7)).unwrap_err().code(), Some("WRONGTYPE"));
    assert_eq!(send(&mut c, set("k", "late", 5)).unwrap(), 7);
}

#[test]
fn in_a_cluster_a_key_and_its_companion_share_a_slot() {
    // The bus would listen ten thousand above a port that may be too high for it.
    let bus = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let server = RedisServer::builder().arg("--cluster-enabled", "yes").arg("--cluster-port", &bus).start();
    server.command(&["CLUSTER", "ADDSLOTSRANGE", "0", "16383"]);
    let mut c = connect(&server);
    let deadline = Instant::now() + Duration::from_secs(20);
    for key in ["account:7", "{account}:7", "a:{b}{c}", "a{}b{c}x", "é"] {
        let mut reply = send(&mut c, set(key, "v", 7));
        // The node takes a moment to find that all slots are served.
        while reply.as_ref().is_err_and(|error| error.code() == Some("CLUSTERDOWN")) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
            reply = send(&mut c, set(key, "v", 7));
        }
        if key == "a{}b{c}x" {
            // A slot by the whole key, which no companion can have.
            assert_eq!(reply.unwrap_err().code(), Some("CROSSSLOT"));
            assert_eq!(get(&mut c, key), None);
        } else {
            assert_eq!(reply.unwrap(), 0, "{key}");
        }
    }
}
