//! Only functions are locked.

#![allow(unused)]

#[tenure::locked(key = "a")]
struct Stock;

#[tenure::locked(key = "a")]
mod stock {}

fn main() {}
