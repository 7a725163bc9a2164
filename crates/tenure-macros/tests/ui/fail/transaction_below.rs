//! A transaction that would be committed after the lock is released.

#![allow(unused)]

use tenure::locked as transactional;

#[tenure::locked(key = "a")]
#[transactional(key = "b")]
async fn f() -> Result<(), tenure::Error> {
    Ok(())
}

fn main() {}
