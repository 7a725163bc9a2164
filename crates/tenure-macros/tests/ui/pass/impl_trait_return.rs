//! `impl Trait` in what is returned: the compiler still knows the rest of the type.

#![deny(warnings)]

use std::fmt::Display;
use tenure::{Client, Error, Memory};

#[tenure::locked(key = "numbers")]
async fn numbers(up_to: u32) -> Result<impl Iterator<Item = u32>, Error> {
    if up_to == 0 {
        Err(std::io::Error::other("none")).map_err(|_| Error::invalid("none"))?;
    }
    Ok((0..up_to).filter(|number| number % 2 == 0))
}

#[tenure::locked(key = "name")]
async fn name(long: bool) -> Result<Box<impl Display + use<>>, Error> {
    Ok(Box::new(if long { "very long" } else { "short" }))
}

#[tenure::locked(key = "bare", on_lost = finish, fallback = none)]
async fn bare() -> impl Display {
    7
}

async fn none() -> i32 {
    0
}

#[tenure::locked(key = "plain")]
fn plain(text: &str) -> Result<impl Iterator<Item = char> + '_, Error> {
    Ok(text.chars().rev())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    tenure::set_client(Client::new(Memory::new())?)?;
    assert_eq!(numbers(5).await?.collect::<Vec<_>>(), [0, 2, 4]);
    assert!(numbers(0).await.is_err());
    assert_eq!(name(false).await?.to_string(), "short");
    assert_eq!(bare().await.to_string(), "7");
    let reversed = std::thread::spawn(|| plain("abc").map(String::from_iter)).join();
    assert_eq!(reversed.ok().transpose()?.as_deref(), Some("cba"));
    Ok(())
}
