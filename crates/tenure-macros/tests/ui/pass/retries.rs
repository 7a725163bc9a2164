//! Every form of `retry`.

#![deny(warnings)]

use std::time::Duration;
use tenure::{Client, Error, Memory};

const PAUSE: Duration = Duration::from_millis(60);
const TRIES: u32 = 3;

#[tenure::locked(key = "retry", retry = fixed("100ms"))]
async fn fixed() -> Result<(), Error> {
    Ok(())
}

#[tenure::locked(key = "retry", retry = fixed("100ms", tries = 10))]
async fn fixed_tries() -> Result<(), Error> {
    Ok(())
}

#[tenure::locked(key = "retry", retry = linear(PAUSE, tries = TRIES))]
async fn linear() -> Result<(), Error> {
    Ok(())
}

#[tenure::locked(key = "retry", wait = "10s", retry = exponential("60ms", max = "2s", tries = 100))]
async fn exponential() -> Result<(), Error> {
    Ok(())
}

#[tenure::locked(key = "retry", retry = exponential(PAUSE * 2, tries = TRIES * 2, max = Duration::from_secs(1)))]
fn expressions() -> Result<(), Error> {
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    tenure::set_client(Client::new(Memory::new())?)?;
    fixed().await?;
    fixed_tries().await?;
    linear().await?;
    exponential().await?;
    std::thread::spawn(expressions).join().ok().transpose()?;
    Ok(())
}
