//! Every kind of lock.

#![deny(warnings)]

use tenure::{Client, Error, Memory};

const AT_A_TIME: u32 = 3;

#[tenure::locked(key = "reentrant", kind = reentrant)]
async fn reentrant() -> Result<(), Error> {
    Ok(())
}

#[tenure::locked(key = "simple", kind = simple)]
async fn simple() -> Result<(), Error> {
    Ok(())
}

#[tenure::locked(key = "fair", kind = fair)]
async fn fair() -> Result<(), Error> {
    Ok(())
}

#[tenure::locked(key = "sides", kind = read)]
async fn read() -> Result<(), Error> {
    Ok(())
}

#[tenure::locked(key = "sides", kind = write)]
async fn write() -> Result<(), Error> {
    Ok(())
}

#[tenure::locked(key = "fenced", kind = fenced)]
async fn fenced() -> Result<(), Error> {
    Ok(())
}

#[tenure::locked(key = "permits", kind = semaphore(3))]
async fn literal() -> Result<(), Error> {
    Ok(())
}

#[tenure::locked(key = "permits:{places}", kind = semaphore(places + AT_A_TIME))]
fn expression(places: u32) -> Result<(), Error> {
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    tenure::set_client(Client::new(Memory::new())?)?;
    reentrant().await?;
    simple().await?;
    fair().await?;
    read().await?;
    write().await?;
    fenced().await?;
    literal().await?;
    std::thread::spawn(|| expression(2)).join().ok().transpose()?;
    Ok(())
}
