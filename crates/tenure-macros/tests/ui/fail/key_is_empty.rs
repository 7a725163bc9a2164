//! A key names something.

#![allow(unused)]

#[tenure::locked(key = "")]
async fn f() -> Result<(), tenure::Error> {
    Ok(())
}

fn main() {}
