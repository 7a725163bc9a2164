//! A function that boxes its own future: the lock goes into the future.

#![deny(warnings)]

use std::future::Future;
use std::pin::Pin;
use tenure::{Client, Error, Memory};

type Work<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

#[tenure::locked(key = "boxed:{id}")]
fn boxed(client: &Client, id: u32) -> Pin<Box<dyn Future<Output = Result<u32, Error>> + Send + '_>> {
    Box::pin(async move {
        assert!(client.lock("boxed:7")?.try_lock().await?.is_none());
        if id == 0 {
            return Ok(1);
        }
        Ok(id)
    })
}

#[tenure::locked(key = "alias:{id}")]
fn alias(id: &str) -> Work<'_, Result<String, Error>> {
    const SUFFIX: &str = "!";
    Box::pin(async move { Ok(id.to_owned() + SUFFIX) })
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let client = Client::new(Memory::new())?;
    tenure::set_client(client.clone())?;
    let future = boxed(&client, 7);
    assert!(client.lock("boxed:7")?.try_lock().await?.is_some());
    assert_eq!(future.await?, 7);
    assert_eq!(alias("a").await?, "a!");
    Ok(())
}
