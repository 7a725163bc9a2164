//! What is skipped returns nothing.

#![allow(unused)]

#[tenure::locked(key = "a", on_busy = skip)]
async fn f() -> Result<u32, tenure::Error> {
    Ok(7)
}

fn main() {}
