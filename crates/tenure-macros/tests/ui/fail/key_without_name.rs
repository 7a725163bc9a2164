//! An argument has a name.

#![allow(unused)]

#[tenure::locked("stock:{id}")]
async fn f() -> Result<(), tenure::Error> {
    Ok(())
}

fn main() {}
