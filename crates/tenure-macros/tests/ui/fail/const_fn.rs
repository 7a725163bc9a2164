//! A const fn waits for nobody.

#![allow(unused)]

#[tenure::locked(key = "a")]
const fn f() -> u32 {
    7
}

fn main() {}
