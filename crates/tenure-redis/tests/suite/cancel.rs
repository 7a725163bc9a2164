//! The cancel sweep on a single server.

use crate::support::{PATIENCE, ask, backend, count_of, exists, litter, tombstones};
use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;
use tenure_core::{Client, Guard, Options, Release};
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

/// However long its lease would have been: nothing is on its way for longer.
#[tokio::test]
async fn what_was_given_up_is_remembered_for_20_minutes_at_the_most() {
    let server = RedisServer::start();
    let client = Client::builder().connect(backend(&server.url())).await.unwrap();
    let lock = client.lock("k").unwrap();
    // The scripts are known by then, so that one request is under way.
    assert_eq!(lock.lock().await.unwrap().release().await.unwrap(), Release::Released);
    let mut asking = Box::pin(lock.lock_with(Options::new().lease(Duration::from_secs(24 * 3600))));
    let _ = poll_fn(|context| Poll::Ready(asking.as_mut().poll(context).is_ready())).await;
    drop(asking);
    client.close(PATIENCE).await.unwrap();
    let keys = server.keys("tenure:cancelled:*");
    assert_eq!(keys.len(), 1, "{keys:?}");
    let left: i64 = ask(&server, &["PTTL", &keys[0]]);
    assert!((1..=20 * 60_000).contains(&left), "{left} ms");
}
