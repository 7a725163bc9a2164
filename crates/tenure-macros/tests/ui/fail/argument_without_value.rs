//! An argument has a value.

#![allow(unused)]

#[tenure::locked(key = "a", renew)]
async fn f() -> Result<(), tenure::Error> {
    Ok(())
}

fn main() {}
