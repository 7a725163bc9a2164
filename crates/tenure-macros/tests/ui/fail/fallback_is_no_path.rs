//! A fallback is a function.

#![allow(unused)]

#[tenure::locked(key = "a", fallback = |id| async { Ok(()) })]
async fn a(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "a", fallback = other(id))]
async fn b(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "a", fallback = "other")]
async fn c(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

fn main() {}
