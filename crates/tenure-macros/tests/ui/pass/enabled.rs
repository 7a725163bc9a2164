//! The switch: when it is off, the body runs without the lock.

#![deny(warnings)]

use tenure::{Client, Error, Memory};

struct Settings {
    locks: bool,
}

#[tenure::locked(key = "switched", client = client, enabled = settings.locks)]
async fn switched(client: &Client, settings: &Settings) -> Result<bool, Error> {
    Ok(client.lock("switched")?.try_lock().await?.is_none())
}

#[tenure::locked(key = "switched", enabled = cfg!(any()))]
fn plain() -> Result<u32, Error> {
    Ok(7)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let client = Client::new(Memory::new())?;
    assert!(switched(&client, &Settings { locks: true }).await?);
    assert!(!switched(&client, &Settings { locks: false }).await?);
    assert_eq!(std::thread::spawn(plain).join().ok().transpose()?, Some(7));
    Ok(())
}
