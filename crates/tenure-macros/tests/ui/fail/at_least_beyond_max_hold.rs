//! The shortest is not longer than the longest.

#![allow(unused)]

#[tenure::locked(key = "a", max_hold = "1s", at_least = "2s")]
async fn f() -> Result<(), tenure::Error> {
    Ok(())
}

fn main() {}
