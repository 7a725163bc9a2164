//! A function for other languages.

#![allow(unused)]

#[tenure::locked(key = "a")]
extern "C" fn f() -> u32 {
    7
}

fn main() {}
