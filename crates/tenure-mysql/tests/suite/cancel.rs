//! The cancel sweep on a server that locks rows, and writes the other kinds down.

use crate::support::{PATIENCE, backend, count_of, is_held, locked_rows};
use std::time::Duration;
use tenure_core::{Client, Guard, Kind};
use tenure_testkit::MariaDbServer;
use tenure_testkit::sweep::{self, Site};

struct OnServer(MariaDbServer);

impl Site for OnServer {
    const KINDS: &[Kind] = &[Kind::Reentrant, Kind::Fair];
    // The server lets go of a session's rows when it has seen that the session is gone.
    const SETTLES: Duration = PATIENCE;

    fn cold(&self) -> Client {
        Client::new(backend(&self.0.url())).unwrap()
    }

    async fn client(&self) -> Client {
        Client::builder().connect(backend(&self.0.url())).await.unwrap()
    }

    fn is_held(&self, key: &str) -> bool {
        is_held(&self.0, key) || locked_rows(&self.0) > 0
    }

    fn count_of(&self, guard: &Guard) -> Option<u32> {
        count_of(&self.0, guard)
    }

    fn tombstones(&self) -> usize {
        let records = self.0.rows("SELECT record FROM tenure_locks WHERE lock_key = 'k'");
        records.iter().flat_map(|row| row[0].lines()).filter(|line| line.starts_with("over ")).count()
    }

    fn left(&self) -> Vec<String> {
        let held = ["j", "k", "l"].into_iter().filter(|key| is_held(&self.0, key)).map(str::to_owned);
        let rows = Some(locked_rows(&self.0)).filter(|rows| *rows > 0).map(|rows| format!("locked rows: {rows}"));
        held.chain(rows).collect()
    }
}

#[tokio::test]
async fn an_acquire_cancelled_at_any_poll_leaves_nothing() {
    sweep::acquire(&OnServer(MariaDbServer::start())).await;
}

#[tokio::test]
async fn a_wait_cancelled_at_any_poll_leaves_nothing() {
    sweep::wait(&OnServer(MariaDbServer::start())).await;
}

#[tokio::test]
async fn a_set_cancelled_at_any_poll_leaves_nothing() {
    sweep::set(&OnServer(MariaDbServer::start())).await;
}

#[tokio::test]
async fn a_re_entry_cancelled_at_any_poll_leaves_the_guard_as_it_was() {
    sweep::re_entry(&OnServer(MariaDbServer::start())).await;
}

#[tokio::test]
async fn a_release_cancelled_at_any_poll_is_finished() {
    sweep::release(&OnServer(MariaDbServer::start())).await;
}

#[tokio::test]
async fn an_inner_release_cancelled_at_any_poll_is_finished() {
    sweep::inner_release(&OnServer(MariaDbServer::start())).await;
}

#[tokio::test]
async fn however_much_is_given_up_no_more_is_remembered() {
    sweep::crowd(&OnServer(MariaDbServer::start())).await;
}
