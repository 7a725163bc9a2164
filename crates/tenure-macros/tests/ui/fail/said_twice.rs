//! Every argument is said once.

#![allow(unused)]

#[tenure::locked(key = "a", lease = "5s", lease = "6s")]
async fn f() -> Result<(), tenure::Error> {
    Ok(())
}

fn main() {}
