//! The interval between renewals is a policy's.

#![allow(unused)]

#[tenure::locked(key = "a", renew_every = "1s")]
async fn f() -> Result<(), tenure::Error> {
    Ok(())
}

fn main() {}
