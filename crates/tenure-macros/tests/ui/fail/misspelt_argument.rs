//! A name that is nearly right.

#![allow(unused)]

#[tenure::locked(key = "a", leese = "5s")]
async fn f() -> Result<(), tenure::Error> {
    Ok(())
}

fn main() {}
