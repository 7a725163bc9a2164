//! What is returned must be able to say that there is no lock.

#![allow(unused)]

#[tenure::locked(key = "a")]
async fn number() -> u32 {
    7
}

#[tenure::locked(key = "a")]
async fn nothing() {}

#[tenure::locked(key = "a", on_lost = finish)]
async fn option() -> Option<u32> {
    None
}

#[tenure::locked(key = "a")]
fn plain() -> u32 {
    7
}

fn main() {}
