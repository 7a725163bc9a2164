//! Two parts must be told apart.

#![allow(unused)]

#[tenure::locked(key = "{a}{b}")]
async fn a(a: u32, b: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "{a}-{b}")]
async fn b(a: u32, b: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "{a}:{b}.{a + 1}")]
async fn c(a: u32, b: u32) -> Result<(), tenure::Error> {
    Ok(())
}

fn main() {}
