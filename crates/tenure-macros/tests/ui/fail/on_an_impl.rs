//! The functions of an impl are locked one by one.

#![allow(unused)]

struct Stock;

#[tenure::locked(key = "a")]
impl Stock {
    async fn deduct(&self) -> Result<(), tenure::Error> {
        Ok(())
    }
}

#[tenure::locked(key = "a")]
trait Deducts {}

fn main() {}
