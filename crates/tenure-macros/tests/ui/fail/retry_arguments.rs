//! What a retry is told.

#![allow(unused)]

#[tenure::locked(key = "a", retry = fixed("100ms", max = "2s"))]
async fn a(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "a", retry = fixed(tries = 10))]
async fn b(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "a", retry = linear("100ms", 10))]
async fn c(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "a", retry = exponential("100ms", times = 10))]
async fn d(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "a", retry = linear("100ms", tries = 1, tries = 2))]
async fn e(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "a", retry = linear("100ms", tries = "10"))]
async fn f(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

fn main() {}
