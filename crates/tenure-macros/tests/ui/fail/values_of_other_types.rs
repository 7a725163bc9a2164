//! Expressions of other types than they should be.

#![allow(unused)]

#[tenure::locked(key = "a", client = id)]
async fn a(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "a", client = tenure::connect("memory:"))]
async fn b(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "a", policy = id)]
async fn c(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "a", enabled = id)]
async fn d(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "a", enabled = "yes")]
async fn e(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

fn main() {}
