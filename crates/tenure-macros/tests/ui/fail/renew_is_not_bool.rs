//! Whether a lease is renewed is decided here.

#![allow(unused)]

#[tenure::locked(key = "a", renew = never)]
async fn f() -> Result<(), tenure::Error> {
    Ok(())
}

fn main() {}
