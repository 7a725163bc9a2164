//! The cancel sweep on a single server.

use crate::support::{backend, count_of, exists, litter, tombstones};
use tenure_core::{Client, Guard};
use tenure_testkit::RedisServer;
use tenure_testkit::sweep::{self, Site};

struct OnOne(RedisServer);

impl Site for OnOne {
    fn cold(&self) -> Client {
        Client::new(backend(&self.0.url())).unwrap()
    }

    async fn client(&self) -> Client {
        Client::builder().connect(backend(&self.0.url())).await.unwrap()
    }

    fn is_held(&self, key: &str) -> bool {
        exists(&self.0, key)
    }

    fn count_of(&self, guard: &Guard) -> Option<u32> {
        count_of(&self.0, guard)
    }

    fn tombstones(&self) -> usize {
        tombstones(&self.0)
    }

    fn left(&self) -> Vec<String> {
        litter(&self.0)
    }
}

#[tokio::test]
async fn an_acquire_cancelled_at_any_poll_leaves_nothing() {
    sweep::acquire(&OnOne(RedisServer::start())).await;
}

#[tokio::test]
async fn a_wait_cancelled_at_any_poll_leaves_nothing() {
    sweep::wait(&OnOne(RedisServer::start())).await;
}

#[tokio::test]
async fn a_set_cancelled_at_any_poll_leaves_nothing() {
    sweep::set(&OnOne(RedisServer::start())).await;
}

#[tokio::test]
async fn a_re_entry_cancelled_at_any_poll_leaves_the_guard_as_it_was() {
    sweep::re_entry(&OnOne(RedisServer::start())).await;
}

#[tokio::test]
async fn a_release_cancelled_at_any_poll_is_finished() {
    sweep::release(&OnOne(RedisServer::start())).await;
}

#[tokio::test]
async fn an_inner_release_cancelled_at_any_poll_is_finished() {
    sweep::inner_release(&OnOne(RedisServer::start())).await;
}

#[tokio::test]
async fn however_much_is_given_up_no_more_is_remembered() {
    sweep::crowd(&OnOne(RedisServer::start())).await;
}
