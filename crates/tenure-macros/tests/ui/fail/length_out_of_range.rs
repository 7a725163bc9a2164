//! Lengths that make no sense.

#![allow(unused)]

#[tenure::locked(key = "a", lease = "50ms")]
async fn a(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "a", lease = "25h")]
async fn b(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "a", lease = "0s")]
async fn c(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "a", max_hold = "0s")]
async fn d(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "a", at_least = "25h")]
async fn e(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "a", warn_after = "0s")]
async fn f(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "a", wait = "2years")]
async fn g(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "a", retry = linear("0s"))]
async fn h(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "a", warn_waiting_after = "0s")]
async fn i(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

fn main() {}
