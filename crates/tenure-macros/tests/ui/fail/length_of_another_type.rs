//! An expression that is no length of time.

#![allow(unused)]

const SECONDS: u64 = 5;

#[tenure::locked(key = "a", lease = id)]
async fn a(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "a", wait = SECONDS)]
async fn b(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

fn main() {}
