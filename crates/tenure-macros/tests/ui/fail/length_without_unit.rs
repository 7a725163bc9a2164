//! A number is not a length of time.

#![allow(unused)]

#[tenure::locked(key = "a", lease = 5)]
async fn a(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "a", wait = 5_000)]
async fn b(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "a", warn_after = 1.5)]
async fn c(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "a", retry = fixed(100))]
async fn d(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

fn main() {}
