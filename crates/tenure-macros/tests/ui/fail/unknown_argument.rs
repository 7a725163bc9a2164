//! A name that is not.

#![allow(unused)]

#[tenure::locked(key = "a", colour = "red")]
async fn f() -> Result<(), tenure::Error> {
    Ok(())
}

fn main() {}
