//! The usual case: the lock is held while the body runs, and free before and after.

#![deny(warnings)]

use tenure::{Client, Error, Memory};

#[tenure::locked(key = "stock:{product_id}", lease = "6s", wait = "10s")]
async fn deduct(client: &Client, product_id: &str, count: u32) -> Result<u32, Error> {
    assert!(client.lock("stock:PROD_001")?.try_lock().await?.is_none());
    Ok(count - 1)
}

#[tenure::locked(key = "nightly")]
async fn without_arguments() -> Result<(), Error> {
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let client = Client::new(Memory::new())?;
    tenure::set_client(client.clone())?;
    assert_eq!(deduct(&client, "PROD_001", 50).await?, 49);
    without_arguments().await?;
    assert!(client.lock("stock:PROD_001")?.try_lock().await?.is_some());
    Ok(())
}
