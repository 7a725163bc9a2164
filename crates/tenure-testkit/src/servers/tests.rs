//! Tests of the server processes themselves.

use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use redis::Value;

use super::RedisServer;

fn ask<T: redis::FromRedisValue>(url: &str, words: &[&str]) -> redis::RedisResult<T> {
    let mut connection = redis::Client::open(url)?.get_connection()?;
    connection.set_read_timeout(Some(Duration::from_secs(5)))?;
    redis::cmd(words[0]).arg(&words[1..]).query(&mut connection)
}

/// A zombie counts as gone: whoever adopted it has yet to reap it.
pub(super) fn gone(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .map_or(true, |stat| stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z')))
}

#[test]
fn answers_and_is_gone_after_drop() {
    let server = RedisServer::start();
    assert_eq!(server.command(&["PING"]), Value::SimpleString("PONG".into()));
    assert_eq!(ask::<String>(&server.url(), &["PING"]).unwrap(), "PONG");
    let (pid, addr) = (server.pid(), server.addr());
    drop(server);
    assert!(gone(pid));
    assert!(TcpStream::connect(addr).is_err());
}

#[test]
fn helpers_report_keys_expiry_and_calls() {
    let server = RedisServer::start();
    server.command(&["SET", "b", "1"]);
    server.command(&["SET", "a", "1", "PX", "50000"]);
    assert_eq!(server.keys("*"), ["a", "b"]);
    assert!((1..=50_000).contains(&server.pttl("a")));
    assert_eq!((server.pttl("b"), server.pttl("none")), (-1, -2));
    assert_eq!(server.command_calls("SET"), 2);
    assert!(server.command_time("SET") > Duration::ZERO);
    server.reset_stats();
    assert_eq!((server.command_calls("set"), server.command_time("set")), (0, Duration::ZERO));
}

#[test]
fn paused_server_answers_nothing_until_resumed() {
    let server = RedisServer::start();
    let client = redis::Client::open(server.url()).unwrap();
    let mut connection = client.get_connection().unwrap();
    connection.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    server.pause();
    assert!(redis::cmd("PING").exec(&mut connection).is_err());
    server.resume();
    assert_eq!(ask::<String>(&server.url(), &["PING"]).unwrap(), "PONG");
}

#[test]
fn paused_server_is_killed_on_drop() {
    let server = RedisServer::start();
    let pid = server.pid();
    server.pause();
    drop(server);
    assert!(gone(pid));
}

#[test]
fn restart_keeps_the_port_and_only_durable_data() {
    for durable in [false, true] {
        let mut builder = RedisServer::builder();
        if durable {
            builder = builder.durable();
        }
        let server = builder.start();
        let port = server.port();
        server.command(&["SET", "k", "v"]);
        server.kill();
        assert!(TcpStream::connect(server.addr()).is_err());
        server.restart();
        assert_eq!(server.port(), port);
        assert_eq!(server.keys("*").len(), usize::from(durable));
    }
}

#[test]
fn stop_ends_a_paused_server_in_good_order() {
    let server = RedisServer::builder().durable().start();
    server.command(&["SET", "k", "v"]);
    server.pause();
    let asked = Instant::now();
    server.stop();
    assert!(asked.elapsed() < Duration::from_secs(5));
    server.restart();
    assert_eq!(server.keys("*"), ["k"]);
}

#[test]
#[should_panic(expected = "call restart() first")]
fn a_killed_server_says_what_to_do() {
    let server = RedisServer::start();
    server.kill();
    server.command(&["PING"]);
}

#[test]
fn password_and_acl_are_enforced() {
    let server = RedisServer::builder()
        .password("secret")
        .acl("user alice on >pw ~app:* -@all +get +set")
        .arg("--maxmemory", "100mb")
        .start();
    assert!(ask::<String>(&server.url(), &["PING"]).is_err());
    let admin = server.url_as("", "secret");
    assert_eq!(ask::<String>(&admin, &["PING"]).unwrap(), "PONG");
    let alice = server.url_as("alice", "pw");
    assert!(ask::<()>(&alice, &["SET", "app:1", "x"]).is_ok());
    assert!(ask::<()>(&alice, &["SET", "other", "x"]).is_err());
    let limit: Vec<String> = ask(&admin, &["CONFIG", "GET", "maxmemory"]).unwrap();
    assert_eq!(limit[1], "104857600");
    server.restart();
    assert_eq!(server.keys("*").len(), 0);
}

#[test]
fn unix_socket_answers() {
    let server = RedisServer::builder().unix_socket().start();
    assert!(server.socket().exists());
    let reply: String = ask(&server.socket_url(), &["PING"]).unwrap();
    assert_eq!(reply, "PONG");
}

#[test]
fn tls_server_speaks_tls_with_its_certificates() {
    let server = RedisServer::builder().tls().start();
    assert!(server.url().starts_with("rediss://"));
    assert_eq!(server.keys("*").len(), 0);
    let ping = |trusted: &Path, extra: &[&Path]| {
        let mut cli = Command::new("redis-cli");
        cli.args(["-h", "127.0.0.1", "-p", &server.port().to_string(), "--tls"]);
        cli.arg("--cacert").arg(trusted);
        if let [cert, key] = extra {
            cli.arg("--cert").arg(cert).arg("--key").arg(key);
        }
        let output = cli
            .arg("PING")
            .output()
            .expect("`redis-cli` is not on the PATH; on Debian/Ubuntu type: apt-get install redis-tools");
        String::from_utf8_lossy(&output.stdout).trim() == "PONG"
    };
    assert!(ping(server.ca(), &[server.cert(), server.key()]));
    assert!(ping(server.ca(), &[]), "client certificates are optional");
    assert!(!ping(server.cert(), &[]), "a stranger's CA is not trusted");
    let plain = format!("redis://{}", server.addr());
    assert!(ask::<String>(&plain, &["PING"]).is_err());
}

const ROLE: &str = "TENURE_TESTKIT_PRINT_SERVER_AND_WAIT";

/// Not a test of its own: the process that the test below kills.
#[test]
fn prints_its_server_and_waits_when_told_to() {
    if let Some(path) = std::env::var_os(ROLE) {
        let server = RedisServer::start();
        server.pause();
        let draft = Path::new(&path).with_extension("draft");
        fs::write(&draft, server.pid().to_string()).unwrap();
        fs::rename(draft, path).unwrap();
        loop {
            std::thread::park();
        }
    }
}

#[test]
fn a_killed_test_process_leaves_no_server() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("pid");
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "servers::tests::prints_its_server_and_waits_when_told_to"])
        .env(ROLE, &path)
        // The child is killed before it can remove its directory; this one is removed.
        .env("TMPDIR", dir.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    let wait_until = |what: &str, done: &dyn Fn() -> bool| {
        while !done() {
            assert!(Instant::now() < deadline, "{what} took too long");
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    wait_until("the start of the server", &|| path.exists());
    let pid: u32 = fs::read_to_string(&path).unwrap().parse().unwrap();
    assert!(!gone(pid));
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("the end of the orphaned server", &|| gone(pid));
}
