//! A lock that is busy as a reason to do nothing.

#![deny(warnings)]

use std::sync::atomic::{AtomicU32, Ordering};
use tenure::{Client, Error, ErrorKind, Memory};

static RUNS: AtomicU32 = AtomicU32::new(0);

#[tenure::locked(key = "tick", wait = "0s", on_busy = skip)]
async fn tick() -> Result<(), Error> {
    RUNS.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

#[tenure::locked(key = "tick", wait = "0s", on_busy = skip)]
async fn count() -> Result<Option<u32>, Error> {
    Ok(Some(RUNS.fetch_add(1, Ordering::Relaxed)))
}

#[tenure::locked(key = "tick", wait = "0s", on_busy = skip, fallback = trouble, on_lost = finish)]
async fn bare() {
    RUNS.fetch_add(1, Ordering::Relaxed);
}

async fn trouble() {
    panic!("a busy lock is no trouble");
}

#[tenure::locked(key = "tick", wait = "0s", on_busy = skip, fallback = plain_trouble)]
fn plain() -> Option<u32> {
    Some(RUNS.fetch_add(1, Ordering::Relaxed))
}

fn plain_trouble() -> Option<u32> {
    panic!("a busy lock is no trouble");
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    assert_eq!(tick().await.map_err(|error| error.kind()), Err(ErrorKind::Invalid), "no client is not busy");
    let client = Client::new(Memory::new())?;
    tenure::set_client(client.clone())?;
    let held = client.lock("tick")?.lock().await?;
    tick().await?;
    assert_eq!(count().await?, None);
    bare().await;
    assert_eq!(std::thread::spawn(plain).join().ok().flatten(), None);
    assert_eq!(RUNS.load(Ordering::Relaxed), 0, "no line of a body ran");
    held.release().await?;
    tick().await?;
    assert_eq!(count().await?, Some(1));
    bare().await;
    assert_eq!(std::thread::spawn(plain).join().ok().flatten(), Some(3));
    Ok(())
}
