//! Ways to ask again that there are not.

#![allow(unused)]

#[tenure::locked(key = "a", retry = fibonacci("100ms"))]
async fn a(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "a", retry = fixed)]
async fn b(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "a", retry = 10)]
async fn c(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "a", retry = fixed())]
async fn d(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

fn main() {}
