//! With a fallback, what is returned must still be able to say that the lock was lost.

#![allow(unused)]

async fn other() -> u32 {
    0
}

#[tenure::locked(key = "a", fallback = other)]
async fn f() -> u32 {
    7
}

fn main() {}
