//! A function that returns before its work is done.

#![allow(unused)]

use std::future::Future;
use std::pin::Pin;

type Answer = Result<(), tenure::Error>;
type Work = Pin<Box<dyn Future<Output = Answer>>>;

#[tenure::locked(key = "a")]
fn opaque() -> impl Future<Output = Answer> {
    async { Ok(()) }
}

#[tenure::locked(key = "a")]
fn boxed() -> Pin<Box<dyn Future<Output = Answer>>> {
    let future = async { Ok(()) };
    Box::pin(future)
}

#[tenure::locked(key = "a")]
fn something_before() -> Pin<Box<dyn Future<Output = Answer>>> {
    println!("without the lock");
    Box::pin(async { Ok(()) })
}

#[tenure::locked(key = "a")]
fn by_another_name() -> Work {
    let future = async { Ok(()) };
    Box::pin(future)
}

#[tenure::locked(key = "a")]
fn in_a_result() -> Result<impl Future<Output = Answer>, tenure::Error> {
    let future = async { Ok(()) };
    Ok(future)
}

#[tenure::locked(key = "a")]
fn beside_something() -> Result<(u8, Pin<Box<dyn Future<Output = Answer>>>), tenure::Error> {
    let future = async { Ok(()) };
    Ok((1, Box::pin(future)))
}

fn main() {}
