//! What the tests share: clients, bounded waiting, and a look into the server.

// Every test binary uses a part of this.
#![allow(dead_code)]

use mysql_async::{Conn, Opts, OptsBuilder};
use std::time::{Duration, Instant};
use tenure_core::{Client, Guard, Options};
use tenure_mysql::{Config, MySql};
use tenure_testkit::MariaDbServer;
use tenure_testkit::servers::Session;

/// Short, so that a lease that has to end ends soon, and long enough to tell its end from an earlier word.
pub(crate) const LEASE: Duration = Duration::from_secs(3);
/// A bound on whatever must happen at all, wide enough for a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A backend for a URL.
pub(crate) fn backend(url: &str) -> MySql {
    Config::from_url(url).unwrap().into_backend()
}

/// A connected client with short leases.
pub(crate) async fn client(url: &str) -> Client {
    client_for(url, LEASE).await
}

/// A connected client whose leases are so long.
pub(crate) async fn client_for(url: &str, lease: Duration) -> Client {
    Client::builder().options(Options::new().lease(lease)).connect(backend(url)).await.unwrap()
}

/// A client with leases so long that a lock left behind is noticed.
pub(crate) async fn client_of(server: &MariaDbServer) -> Client {
    Client::builder().connect(backend(&server.url())).await.unwrap()
}

/// A connection of the user's own.
pub(crate) async fn connection(server: &MariaDbServer) -> Conn {
    let opts = OptsBuilder::from_opts(Opts::from_url(&server.url()).unwrap()).prefer_socket(false);
    Conn::new(opts).await.unwrap()
}

/// Looks until it is so.
pub(crate) async fn eventually(what: &str, within: Duration, mut so: impl FnMut() -> bool) {
    let deadline = Instant::now() + within;
    while !so() {
        assert!(Instant::now() < deadline, "not within {within:?}: {what}");
        tokio::time::sleep(ms(5)).await;
    }
}

/// A future that must be done in time.
pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.unwrap_or_else(|_| panic!("not within {PATIENCE:?}: {what}"))
}

/// The lock of a key, which must be free soon.
pub(crate) async fn gets_in(client: &Client, key: &str) -> Guard {
    soon("it gets in", client.lock(key).unwrap().lock()).await.unwrap()
}

/// The sessions that wait for a row of ours.
pub(crate) fn blocked(server: &MariaDbServer) -> Vec<Session> {
    let waits = |info: &str| info.contains("tenure_rows") && info.trim_end().ends_with("FOR UPDATE");
    server.sessions().into_iter().filter(|session| waits(&session.info)).collect()
}

/// Until so many wait in the server.
pub(crate) async fn until_blocked(server: &MariaDbServer, many: usize) {
    eventually(&format!("{many} wait in the server"), PATIENCE, || blocked(server).len() == many).await;
}

/// The session that has the row of a key whose name is plain.
pub(crate) fn holding_session(server: &MariaDbServer, key: &str) -> u64 {
    let holding = format!("SELECT IS_USED_LOCK(seat_session) FROM tenure_locks WHERE lock_key = '{key}'");
    server.one(&holding).parse().expect("somebody holds it")
}

/// How many rows somebody has locked.
pub(crate) fn locked_rows(server: &MariaDbServer) -> usize {
    let count = |sql: &str| server.rows(sql).len();
    // What is free is counted first: a row that is made meanwhile is then taken for locked, and looked at again.
    let free = count("SELECT name FROM tenure_rows FOR UPDATE SKIP LOCKED");
    count("SELECT name FROM tenure_rows") - free
}

/// Whether a key is written down as held.
pub(crate) fn is_held(server: &MariaDbServer, key: &str) -> bool {
    let held = format!(
        "SELECT name FROM tenure_locks WHERE lock_key = '{key}' AND holder IS NOT NULL \
         AND forget > UNIX_TIMESTAMP(SYSDATE(6)) * 1000000"
    );
    !server.rows(&held).is_empty()
}

/// How often a guard's claim is in, as it is written down.
pub(crate) fn count_of(server: &MariaDbServer, guard: &Guard) -> Option<u32> {
    let (key, claim) = (guard.key(), guard.claim());
    let count = format!("SELECT holder_count FROM tenure_locks WHERE lock_key = '{key}' AND holder = '{claim}'");
    server.rows(&count).first().map(|row| row[0].parse().unwrap())
}
