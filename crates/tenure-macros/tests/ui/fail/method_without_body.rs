//! What has no body is not locked.

#![allow(unused)]

trait Stock {
    #[tenure::locked(key = "a")]
    async fn deduct(&self) -> Result<(), tenure::Error>;
}

fn main() {}
