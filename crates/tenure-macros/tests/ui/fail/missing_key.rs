//! A lock needs a key.

#![allow(unused)]

#[tenure::locked(lease = "5s")]
async fn f() -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked]
async fn nothing_at_all() -> Result<(), tenure::Error> {
    Ok(())
}

fn main() {}
