//! What is done when the lock is busy or lost.

#![allow(unused)]

#[tenure::locked(key = "a", on_busy = wait)]
async fn a(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "a", on_lost = panic)]
async fn b(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "a", on_lost = "finish")]
async fn c(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

fn main() {}
