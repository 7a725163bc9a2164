//! A function that does not return says nothing.

#![allow(unused)]

#[tenure::locked(key = "a")]
async fn f() -> ! {
    std::future::pending().await
}

fn main() {}
