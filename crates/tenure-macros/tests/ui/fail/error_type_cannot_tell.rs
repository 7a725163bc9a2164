//! An error must be able to be one of ours.

#![allow(unused)]

#[derive(Debug)]
struct Own;

#[tenure::locked(key = "a")]
async fn f() -> Result<u32, Own> {
    Ok(7)
}

#[tenure::locked(key = "a")]
fn plain() -> Result<u32, Own> {
    Ok(7)
}

fn main() {}
