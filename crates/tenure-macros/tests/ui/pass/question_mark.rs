//! `?` in the body, with errors of every make.

#![deny(warnings)]

use std::num::ParseIntError;
use tenure::{Client, Error, Memory};

#[derive(Debug)]
enum Trouble {
    Lock(Error),
    Number(ParseIntError),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Lock(error)
    }
}

impl From<ParseIntError> for Trouble {
    fn from(error: ParseIntError) -> Self {
        Self::Number(error)
    }
}

type Answer<T> = std::result::Result<T, Trouble>;

#[tenure::locked(key = "{text}")]
async fn own(text: &str) -> Answer<u8> {
    let number: u8 = text.parse()?;
    Ok(number)
}

#[tenure::locked(key = "{text}")]
async fn boxed(text: &str) -> Result<u8, Box<dyn std::error::Error + Send + Sync>> {
    let number = text.parse()?;
    if number == 0 {
        return Err("zero".into());
    }
    Ok(number)
}

#[tenure::locked(key = "{text}")]
async fn dynamic(text: &str) -> Result<Box<dyn Fn(u8) -> u8>, Trouble> {
    let number: u8 = text.parse()?;
    Ok(Box::new(move |other| other + number))
}

#[tenure::locked(key = "{text}")]
fn plain(text: &str) -> Answer<u8> {
    Ok(text.parse()?)
}

#[tenure::locked(key = "{text.parse::<u8>()?}")]
async fn in_the_key(text: &str) -> Answer<()> {
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    tenure::set_client(Client::new(Memory::new())?)?;
    assert_eq!(own("7").await.ok(), Some(7));
    assert!(matches!(own("x").await, Err(Trouble::Number(_))));
    assert!(matches!(own("").await, Err(Trouble::Number(_) | Trouble::Lock(_))));
    assert!(boxed("x").await.is_err() && boxed("0").await.is_err() && boxed("1").await.is_ok());
    assert_eq!(dynamic("1").await.map(|add| add(2)).ok(), Some(3));
    assert!(in_the_key("x").await.is_err() && in_the_key("1").await.is_ok());
    let joined = std::thread::spawn(|| (plain("7").ok(), plain("x").is_err())).join();
    assert_eq!(joined.ok(), Some((Some(7), true)));
    Ok(())
}
