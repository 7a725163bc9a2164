//! A semaphore has permits.

#![allow(unused)]

#[tenure::locked(key = "a", kind = semaphore)]
async fn a(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "a", kind = semaphore())]
async fn b(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "a", kind = semaphore(0))]
async fn c(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "a", kind = semaphore(3_000_000_000))]
async fn d(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "a", kind = semaphore(3u8))]
async fn e(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

fn main() {}
