//! Braces that do not match, and parts without a name.

#![allow(unused)]

#[tenure::locked(key = "{id")]
async fn a(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "id}")]
async fn b(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "{}")]
async fn c(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "{0}")]
async fn d(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "{id{}}")]
async fn e(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "{id id}")]
async fn f(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

fn main() {}
