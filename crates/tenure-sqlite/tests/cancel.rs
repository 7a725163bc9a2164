//! The cancel sweep in a file.

mod support;

use std::time::Duration;
use support::{PATIENCE, Place};
use tenure_core::{Client, Guard};
use tenure_testkit::sweep::{self, Site};

impl Site for Place {
    // What a client that is gone has asked for is still done.
    const SETTLES: Duration = PATIENCE;

    fn cold(&self) -> Client {
        Client::new(self.backend()).unwrap()
    }

    async fn client(&self) -> Client {
        self.client().await
    }

    fn is_held(&self, key: &str) -> bool {
        self.is_held(key)
    }

    fn count_of(&self, guard: &Guard) -> Option<u32> {
        self.count_of(guard)
    }

    fn tombstones(&self) -> usize {
        self.record("k").map_or(0, |record| record.lines().filter(|line| line.starts_with("over ")).count())
    }

    fn left(&self) -> Vec<String> {
        self.litter()
    }
}

#[tokio::test]
async fn an_acquire_cancelled_at_any_poll_leaves_nothing() {
    sweep::acquire(&Place::new()).await;
}

#[tokio::test]
async fn a_wait_cancelled_at_any_poll_leaves_nothing() {
    sweep::wait(&Place::new()).await;
}

#[tokio::test]
async fn a_set_cancelled_at_any_poll_leaves_nothing() {
    sweep::set(&Place::new()).await;
}

#[tokio::test]
async fn a_re_entry_cancelled_at_any_poll_leaves_the_guard_as_it_was() {
    sweep::re_entry(&Place::new()).await;
}

#[tokio::test]
async fn a_release_cancelled_at_any_poll_is_finished() {
    sweep::release(&Place::new()).await;
}

#[tokio::test]
async fn an_inner_release_cancelled_at_any_poll_is_finished() {
    sweep::inner_release(&Place::new()).await;
}

#[tokio::test]
async fn however_much_is_given_up_no_more_is_remembered() {
    sweep::crowd(&Place::new()).await;
}
