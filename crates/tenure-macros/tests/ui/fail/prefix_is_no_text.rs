//! A prefix is a text without parts.

#![allow(unused)]

const PREFIX: &str = "stock:";

#[tenure::locked(key = "a", prefix = "{id}:")]
async fn a(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "a", prefix = PREFIX)]
async fn b(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

fn main() {}
