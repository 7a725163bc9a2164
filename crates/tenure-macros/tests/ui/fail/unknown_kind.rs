//! Kinds that there are not.

#![allow(unused)]

#[tenure::locked(key = "a", kind = fare)]
async fn a(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "a", kind = Fair)]
async fn b(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "a", kind = latch)]
async fn c(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "a", kind = "fair")]
async fn d(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "a", kind = fair(3))]
async fn e(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

fn main() {}
