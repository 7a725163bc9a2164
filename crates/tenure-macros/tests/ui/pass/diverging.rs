//! Bodies that do not come to an end, or to no value.

#![deny(warnings)]

use std::convert::Infallible;
use tenure::{Client, Error, Memory};

#[tenure::locked(key = "never")]
async fn only_panics() -> Result<u32, Error> {
    panic!("always")
}

#[tenure::locked(key = "never")]
async fn not_yet(_argument: u32) -> Result<u32, Error> {
    unimplemented!()
}

#[tenure::locked(key = "never")]
async fn serves() -> Result<Infallible, Error> {
    loop {
        tokio::task::yield_now().await;
    }
}

#[tenure::locked(key = "never", on_lost = finish, fallback = stands_by)]
async fn leads() -> ! {
    loop {
        tokio::task::yield_now().await;
    }
}

async fn stands_by() -> ! {
    std::future::pending().await
}

#[tenure::locked(key = "never", on_lost = finish, fallback = only_returns)]
async fn no_value() {
    panic!("always")
}

async fn only_returns() {}

#[tenure::locked(key = "never")]
fn plain() -> Result<u32, Error> {
    std::process::exit(0)
}

#[tenure::locked(key = "never", fallback = plain_stands_by)]
fn plain_leads() -> ! {
    std::process::exit(0)
}

fn plain_stands_by() -> ! {
    std::process::exit(1)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    tenure::set_client(Client::new(Memory::new())?)?;
    std::panic::set_hook(Box::new(|_| ()));
    assert!(tokio::spawn(only_panics()).await.is_err());
    assert!(tokio::spawn(not_yet(0)).await.is_err());
    assert!(tokio::spawn(no_value()).await.is_err());
    for task in [tokio::spawn(async { drop(serves().await) }), tokio::spawn(async { leads().await })] {
        tokio::task::yield_now().await;
        task.abort();
        assert!(task.await.is_err_and(|error| error.is_cancelled()));
    }
    std::thread::spawn(|| if true { plain_leads() } else { plain() }).join().ok().transpose()?;
    unreachable!()
}
