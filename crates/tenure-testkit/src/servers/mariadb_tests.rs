//! Tests of the `mariadbd` processes themselves.

use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Opts, OptsBuilder, SslOpts};

use super::tests::gone;
use super::{MariaDbServer, Session};

/// Past this a test has failed.
const PATIENCE: Duration = Duration::from_secs(10);

fn options(url: &str) -> OptsBuilder {
    OptsBuilder::from_opts(Opts::from_url(url).unwrap()).prefer_socket(false)
}

async fn connect(url: &str) -> mysql_async::Result<Conn> {
    Conn::new(options(url)).await
}

/// The first value of a query on a connection of its own.
async fn ask(url: &str, sql: &str) -> mysql_async::Result<String> {
    let mut connection = connect(url).await?;
    let answer = connection.query_first(sql).await;
    connection.disconnect().await?;
    Ok(answer?.expect("the query has a row"))
}

#[tokio::test]
async fn answers_and_is_gone_after_drop() {
    let server = MariaDbServer::start();
    assert_eq!(server.one("SELECT DATABASE()"), "tenure");
    assert_eq!(ask(&server.url(), "SELECT DATABASE()").await.unwrap(), "tenure");
    assert_eq!(ask(&server.url_of("mysql"), "SELECT DATABASE()").await.unwrap(), "mysql");
    assert!(server.is_running());
    let (pid, addr, dir) = (server.pid(), server.addr(), server.socket().parent().unwrap().to_owned());
    assert!(dir.is_dir());
    drop(server);
    assert!(gone(pid));
    assert!(TcpStream::connect(addr).is_err());
    assert!(!dir.exists());
}

#[test]
fn two_at_once_know_nothing_of_each_other() {
    let (one, two) = (MariaDbServer::start(), MariaDbServer::start());
    one.execute("CREATE TABLE t (n INT)");
    assert_eq!(one.rows("SHOW TABLES"), [["t"]]);
    assert!(two.rows("SHOW TABLES").is_empty());
}

#[test]
fn helpers_work_without_a_runtime_and_show_every_column_as_text() {
    let server = MariaDbServer::start();
    server.execute("CREATE TABLE t (n INT, s TEXT, t DATETIME(3))");
    server.execute("INSERT INTO t VALUES (1, 'ä', '2031-01-02 03:04:05.678'), (2, NULL, NULL)");
    assert_eq!(
        server.rows("SELECT * FROM t ORDER BY n"),
        [["1", "ä", "2031-01-02 03:04:05.678"], ["2", "NULL", "NULL"]]
    );
}

#[tokio::test]
async fn paused_server_answers_nothing_until_resumed() {
    let server = MariaDbServer::start();
    let mut connection = connect(&server.url()).await.unwrap();
    server.pause();
    assert!(server.is_running());
    let mut asked = Box::pin(connection.query_first::<u8, _>("SELECT 1"));
    assert!(tokio::time::timeout(Duration::from_millis(100), &mut asked).await.is_err());
    server.resume();
    assert_eq!(asked.await.unwrap(), Some(1));
}

#[test]
fn paused_server_is_killed_on_drop() {
    let server = MariaDbServer::start();
    let pid = server.pid();
    server.pause();
    drop(server);
    assert!(gone(pid));
}

#[test]
fn restart_keeps_the_port_and_what_was_committed() {
    let server = MariaDbServer::start();
    let port = server.port();
    server.execute("CREATE TABLE t (n INT)");
    server.execute("INSERT INTO t VALUES (1)");
    server.execute("START TRANSACTION");
    server.execute("INSERT INTO t VALUES (2)");
    server.kill();
    assert!(!server.is_running());
    assert!(TcpStream::connect(server.addr()).is_err());
    server.restart();
    assert_eq!(server.port(), port);
    assert_eq!(server.rows("SELECT n FROM t"), [["1"]]);
}

#[test]
fn stop_ends_a_paused_server_in_good_order() {
    let server = MariaDbServer::start();
    server.execute("CREATE TABLE t (n INT)");
    server.pause();
    let asked = Instant::now();
    server.stop();
    assert!(asked.elapsed() < PATIENCE);
    assert!(!server.is_running());
    server.restart();
    assert_eq!(server.rows("SHOW TABLES"), [["t"]]);
}

#[test]
#[should_panic(expected = "call restart() first")]
fn a_killed_server_says_what_to_do() {
    let server = MariaDbServer::start();
    server.kill();
    server.execute("SELECT 1");
}

#[test]
fn options_reach_the_server() {
    let server = MariaDbServer::builder().option("innodb_lock_wait_timeout=1").option("max_connections=20").start();
    assert_eq!(server.rows("SELECT @@innodb_lock_wait_timeout, @@max_connections"), [["1", "20"]]);
    let usual = MariaDbServer::start();
    assert_eq!(usual.rows("SELECT @@max_connections, @@innodb_flush_log_at_trx_commit"), [["600", "1"]]);
}

#[test]
fn an_idle_control_connection_outlives_the_limit_for_others() {
    let server = MariaDbServer::builder().option("wait_timeout=1").start();
    assert_eq!(server.rows("SELECT @@GLOBAL.wait_timeout, @@SESSION.wait_timeout"), [["1", "28800"]]);
}

#[tokio::test]
async fn users_have_their_password_and_their_grants() {
    let server = MariaDbServer::start();
    server.execute("CREATE TABLE t (n INT)");
    server.add_user("alice", "hunter2-canary", "SELECT ON tenure.*");
    let alice = server.url_as("alice", "hunter2-canary");
    assert_eq!(ask(&alice, "SELECT COUNT(*) FROM t").await.unwrap(), "0");
    assert!(ask(&alice, "INSERT INTO t VALUES (1) RETURNING n").await.is_err());
    assert!(ask(&server.url_as("alice", "wrong"), "SELECT 1").await.is_err());
}

#[test]
fn a_user_that_cannot_be_added_keeps_the_password_to_itself() {
    let server = MariaDbServer::start();
    server.add_user("alice", "hunter2-canary", "");
    let again =
        std::thread::scope(|scope| scope.spawn(|| server.add_user("alice", "hunter2-canary", "")).join().unwrap_err());
    let said = again.downcast_ref::<String>().unwrap();
    assert!(said.contains("CREATE USER 'alice'"), "{}", said.len());
    assert!(!said.contains("hunter2"));
}

/// Waits until the sessions are such: the server answers a client before it notes that it has.
async fn until(server: &MariaDbServer, such: impl Fn(&[Session]) -> bool) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let sessions = server.sessions();
        if such(&sessions) {
            return;
        }
        assert!(Instant::now() < deadline, "{sessions:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn sessions_are_listed_and_can_be_killed() {
    let server = MariaDbServer::start();
    assert_eq!(server.sessions(), []);
    let mut connection = connect(&server.url()).await.unwrap();
    let id = u64::from(connection.id());
    let only = |sessions: &[Session], command: &str, state: &str, info: &str| match sessions {
        [it] => it.id == id && it.user == "root" && it.command == command && it.state == state && it.info == info,
        _ => false,
    };
    until(&server, |sessions| only(sessions, "Sleep", "", "")).await;
    let asked = tokio::spawn(async move { connection.query_drop("DO SLEEP(1000)").await });
    until(&server, |sessions| only(sessions, "Query", "User sleep", "DO SLEEP(1000)")).await;
    until(&server, |sessions| sessions[0].time > Duration::from_millis(20)).await;
    server.kill_session(id);
    assert!(asked.await.unwrap().is_err());
    until(&server, <[Session]>::is_empty).await;
}

async fn cipher(server: &MariaDbServer, trusted: &Path) -> mysql_async::Result<String> {
    let ssl = SslOpts::default().with_root_certs(vec![trusted.to_owned().into()]);
    let mut connection = Conn::new(options(&server.url()).ssl_opts(ssl)).await?;
    let (_, cipher): (String, String) =
        connection.query_first("SHOW STATUS LIKE 'Ssl_cipher'").await?.expect("every server has this status");
    connection.disconnect().await?;
    Ok(cipher)
}

#[tokio::test]
async fn tls_server_speaks_tls_with_its_certificates() {
    let server = MariaDbServer::builder().tls().start();
    assert!(!cipher(&server, server.ca()).await.unwrap().is_empty());
    assert!(cipher(&server, server.cert()).await.is_err(), "a stranger's CA is not trusted");
    assert_eq!(ask(&server.url(), "SELECT 1").await.unwrap(), "1");
    let plain = MariaDbServer::start();
    assert!(cipher(&plain, server.ca()).await.is_err(), "without tls() there is none");
}

#[tokio::test]
async fn server_that_requires_tls_refuses_plain_connections() {
    let server = MariaDbServer::builder().requires_tls().start();
    assert!(!cipher(&server, server.ca()).await.unwrap().is_empty());
    assert!(ask(&server.url(), "SELECT 1").await.is_err());
    server.restart();
    assert_eq!(server.one("SELECT 1"), "1");
}
