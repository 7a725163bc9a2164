//! One attempt is not tried again.

#![allow(unused)]

#[tenure::locked(key = "a", wait = "0s", retry = fixed("100ms"))]
async fn f() -> Result<(), tenure::Error> {
    Ok(())
}

fn main() {}
