//! `on_lost = finish`, also for types that cannot say that the lock was lost.

#![deny(warnings)]

use tenure::{Client, Error, Memory};

#[derive(Debug, PartialEq)]
struct Own;

#[tenure::locked(key = "finish", on_lost = finish, fallback = other_number)]
async fn number(of: u32) -> u32 {
    of + 1
}

async fn other_number(_: u32) -> u32 {
    0
}

#[tenure::locked(key = "finish", on_lost = finish, fallback = other_result)]
async fn foreign_error(fails: bool) -> Result<u32, Own> {
    if fails { Err(Own) } else { Ok(7) }
}

async fn other_result(_: bool) -> Result<u32, Own> {
    Err(Own)
}

#[tenure::locked(key = "finish", on_lost = finish)]
async fn result(text: &str) -> Result<usize, Error> {
    Ok(text.len())
}

#[tenure::locked(key = "finish", on_lost = finish, fallback = other_value)]
async fn generic<T: Clone>(value: &T) -> T {
    value.clone()
}

async fn other_value<T: Clone>(value: &T) -> T {
    value.clone()
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    tenure::set_client(Client::new(Memory::new())?)?;
    assert_eq!(number(1).await, 2);
    assert_eq!(foreign_error(false).await, Ok(7));
    assert_eq!(foreign_error(true).await, Err(Own));
    assert_eq!(result("abc").await?, 3);
    assert_eq!(generic(&"x").await, "x");
    Ok(())
}
