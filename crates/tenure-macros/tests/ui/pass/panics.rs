//! A body that panics leaves the lock free.

#![deny(warnings)]

use tenure::{Client, Error, Memory};

#[tenure::locked(key = "panics", wait = "10s")]
async fn panics(really: bool) -> Result<u32, Error> {
    assert!(!really, "as it was told to");
    Ok(7)
}

#[tenure::locked(key = "panics", wait = "10s")]
fn plain(really: bool) -> Result<u32, Error> {
    assert!(!really, "as it was told to");
    Ok(8)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    tenure::set_client(Client::new(Memory::new())?)?;
    std::panic::set_hook(Box::new(|_| ()));
    assert!(tokio::spawn(panics(true)).await.is_err_and(|error| error.is_panic()));
    assert_eq!(panics(false).await?, 7);
    assert!(tokio::task::spawn_blocking(|| plain(true)).await.is_err_and(|error| error.is_panic()));
    assert_eq!(tokio::task::spawn_blocking(|| plain(false)).await.ok().transpose()?, Some(8));
    Ok(())
}
