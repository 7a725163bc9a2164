//! A minority that fails in the middle of the load and comes back: nobody is in beside another, and it goes on.

use crate::majority::phase::{Fault, length, phase};

#[tokio::test(flavor = "multi_thread")]
async fn without_a_fault() {
    phase(Fault::Nothing, length()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_five_is_down_for_a_while() {
    phase(Fault::Down(1), length()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_of_five_are_down_for_a_while() {
    phase(Fault::Down(2), length()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_five_hangs_for_a_while() {
    phase(Fault::Hung(1), length()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_of_five_hang_for_a_while() {
    phase(Fault::Hung(2), length()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_of_five_are_slow_for_a_while() {
    phase(Fault::Slow(2), length()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_five_are_restarted_empty_one_by_one() {
    phase(Fault::Restarted, length()).await;
}
