//! A text that is no length of time.

#![allow(unused)]

#[tenure::locked(key = "a", lease = "5 parsecs")]
async fn a(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "a", wait = "soon")]
async fn b(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "a", max_hold = "")]
async fn c(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

fn main() {}
