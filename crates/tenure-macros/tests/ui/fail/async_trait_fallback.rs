//! Arguments that are taken apart, as `async_trait` has them.

#![allow(unused)]

use async_trait::async_trait;

#[async_trait]
trait Stock {
    async fn deduct(&self, pair: (u32, u32)) -> Result<(), tenure::Error>;
}

struct Shop;

async fn other(_: &Shop, _: (u32, u32)) -> Result<(), tenure::Error> {
    Ok(())
}

#[async_trait]
impl Stock for Shop {
    #[tenure::locked(key = "{a}", fallback = other)]
    async fn deduct(&self, (a, b): (u32, u32)) -> Result<(), tenure::Error> {
        Ok(())
    }
}

fn main() {}
