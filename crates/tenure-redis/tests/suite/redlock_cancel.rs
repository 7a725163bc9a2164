//! The cancel sweep on a majority of three, with a look at each of them.

use crate::support::{count_of, exists, litter, tombstones};
use std::time::Duration;
use tenure_core::{Client, Guard};
use tenure_redis::{Redlock, RedlockConfig};
use tenure_testkit::RedisServer;
use tenure_testkit::sweep::{self, Site};

struct OnThree([RedisServer; 3]);

impl OnThree {
    fn start() -> Self {
        Self([RedisServer::start(), RedisServer::start(), RedisServer::start()])
    }

    fn backend(&self) -> Redlock {
        let urls: Vec<String> = self.0.iter().map(RedisServer::url).collect();
        RedlockConfig::from_url(&format!("redlock:{}", urls.join(","))).unwrap().into_backend()
    }
}

impl Site for OnThree {
    // The slowest are told when nobody waits for them any more.
    const SETTLES: Duration = Duration::from_secs(10);

    fn cold(&self) -> Client {
        Client::new(self.backend()).unwrap()
    }

    async fn client(&self) -> Client {
        Client::builder().connect(self.backend()).await.unwrap()
    }

    fn is_held(&self, key: &str) -> bool {
        self.0.iter().any(|server| exists(server, key))
    }

    fn count_of(&self, guard: &Guard) -> Option<u32> {
        // One that was not free in time need not have it, but nobody may have it otherwise than the rest.
        let counts: Vec<u32> = self.0.iter().filter_map(|server| count_of(server, guard)).collect();
        counts.first().copied().filter(|first| counts.len() >= 2 && counts.iter().all(|count| count == first))
    }

    fn tombstones(&self) -> usize {
        self.0.iter().map(tombstones).max().unwrap()
    }

    fn left(&self) -> Vec<String> {
        let left =
            |(at, server): (usize, &RedisServer)| litter(server).into_iter().map(move |key| format!("{at}: {key}"));
        self.0.iter().enumerate().flat_map(left).collect()
    }
}

#[tokio::test]
async fn an_acquire_cancelled_at_any_poll_leaves_nothing_on_any_server() {
    sweep::acquire(&OnThree::start()).await;
}

#[tokio::test]
async fn a_wait_cancelled_at_any_poll_leaves_nothing_on_any_server() {
    sweep::wait(&OnThree::start()).await;
}

#[tokio::test]
async fn a_set_cancelled_at_any_poll_leaves_nothing_on_any_server() {
    sweep::set(&OnThree::start()).await;
}

#[tokio::test]
async fn a_re_entry_cancelled_at_any_poll_leaves_the_guard_as_it_was_on_every_server() {
    sweep::re_entry(&OnThree::start()).await;
}

#[tokio::test]
async fn a_release_cancelled_at_any_poll_is_finished_on_every_server() {
    sweep::release(&OnThree::start()).await;
}

#[tokio::test]
async fn an_inner_release_cancelled_at_any_poll_is_finished_on_every_server() {
    sweep::inner_release(&OnThree::start()).await;
}

#[tokio::test]
async fn however_much_is_given_up_no_more_is_remembered_on_any_server() {
    sweep::crowd(&OnThree::start()).await;
}
