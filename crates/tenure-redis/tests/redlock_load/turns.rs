//! Locks in quick succession: by many who want them, by many who do not wait for them, and while some servers hang.

use crate::majority::{cancels, hung, turns};
use tenure_testkit::figures::is_full;

#[tokio::test(flavor = "multi_thread")]
async fn eight_clients_take_turns_by_the_thousand() {
    turns::take_turns(if is_full() { 10_000 } else { 2_000 }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cancels_at_random_leave_nothing_on_any_server() {
    cancels::leave_nothing(if is_full() { 5_000 } else { 300 }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_that_hang_make_a_lock_hardly_slower() {
    hung::costs_little(if is_full() { 100 } else { 5 }).await;
}
