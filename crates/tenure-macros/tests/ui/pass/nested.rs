//! A locked function that calls another, and one with two locks.

#![deny(warnings)]

use tenure::{Client, Error, Memory};

#[tenure::locked(key = "outer", client = client)]
async fn outer(client: &Client) -> Result<u32, Error> {
    let inner = inner(client).await?;
    Ok(inner + again(client, 0).await?)
}

#[tenure::locked(key = "inner", client = client)]
async fn inner(client: &Client) -> Result<u32, Error> {
    assert!(client.lock("outer")?.try_lock().await?.is_none());
    Ok(1)
}

/// The same lock as the function that calls it.
#[tenure::locked(key = "outer", client = client)]
async fn again(client: &Client, depth: u32) -> Result<u32, Error> {
    if depth == 3 {
        return Ok(depth);
    }
    Box::pin(again(client, depth + 1)).await
}

#[tenure::locked(key = "second", client = client)]
#[tenure::locked(key = "first", client = client)]
async fn both(client: &Client) -> Result<(), Error> {
    assert!(client.lock("first")?.try_lock().await?.is_none());
    assert!(client.lock("second")?.try_lock().await?.is_none());
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let client = Client::new(Memory::new())?;
    assert_eq!(outer(&client).await?, 4);
    both(&client).await?;
    assert!(client.lock("outer")?.try_lock().await?.is_some());
    Ok(())
}
