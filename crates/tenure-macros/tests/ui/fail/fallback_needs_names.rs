//! What is passed on to a fallback has a name.

#![allow(unused)]

async fn other(pair: (u32, u32), _: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "a", fallback = other)]
async fn f((a, b): (u32, u32), c: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "a", fallback = other)]
async fn g(pair: (u32, u32), _: u32) -> Result<(), tenure::Error> {
    Ok(())
}

fn main() {}
