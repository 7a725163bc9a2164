//! A crowd in processes of its own, and the line in which it stands.

use crate::support::{ask, eventually};
use std::time::Duration;
use tenure_core::Kind;
use tenure_testkit::history::Hold;
use tenure_testkit::taker::{Job, Taker};
use tenure_testkit::{History, RedisServer};

pub(crate) const KEY: &str = "crowded";
/// A bound on what a whole crowd does, wide enough for a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Starts processes with so many tasks each.
pub(crate) fn start(server: &RedisServer, kind: Kind, tasks: &[usize], section: Duration) -> Vec<Taker> {
    let job = |tasks| Job::Crowd { url: server.url(), key: KEY.to_owned(), kind, tasks, section };
    tasks.iter().map(|tasks| Taker::start(&job(*tasks))).collect()
}

/// So many, in shares that differ by one at most.
pub(crate) fn shares(of: usize, among: usize) -> Vec<usize> {
    (0..among).map(|at| (of + at) / among).collect()
}

/// How many stand in a line.
pub(crate) fn length(server: &RedisServer, line: &str) -> usize {
    ask(server, &["ZCARD", &format!("tenure:{line}:{{{KEY}}}")])
}

/// Until so many stand in a line.
pub(crate) async fn until_in_line(server: &RedisServer, line: &str, many: usize) {
    eventually(&format!("{many} stand in line"), PATIENCE, || length(server, line) == many).await;
}

/// Those who stand in line for a fair lock, as the store has them.
pub(crate) fn line(server: &RedisServer) -> Vec<String> {
    ask(server, &["ZRANGE", &format!("tenure:queue:{{{KEY}}}"), "0", "-1"])
}

/// Waits for the end of all processes; what they held, in the order in which they were served.
///
/// All are listened to at once: one whose words nobody takes would stop in the middle of its hold.
pub(crate) async fn finish(takers: Vec<Taker>) -> Vec<Hold> {
    let finishing: Vec<_> = takers.into_iter().map(|taker| tokio::task::spawn_blocking(|| taker.finish())).collect();
    let mut holds = Vec::new();
    for finished in finishing {
        let said = finished.await.unwrap();
        holds.extend(said.lines().map(|line| Hold::from_line(line).unwrap()).filter(|hold| hold.ended.is_some()));
    }
    holds.sort_by_key(|hold| hold.granted);
    holds
}

/// Everyone in line was served once, one after the other and in order, with larger and larger tokens.
pub(crate) fn assert_served_in_order(holds: Vec<Hold>, line: &[String]) {
    assert_eq!(holds.len(), line.len(), "not everyone was served once");
    let mut last = None;
    for (at, (hold, next)) in holds.iter().zip(line).enumerate() {
        assert_eq!(&hold.who, next, "served out of order, as number {at} of the line");
        assert!(hold.token > last, "tokens do not follow the order: {last:?} before {hold:?}");
        last = hold.token;
    }
    let history = History::new();
    for hold in holds {
        history.add(hold);
    }
    history.check().assert_clean().assert_at_least(line.len());
}
