//! A plain function cannot be stopped.

#![allow(unused)]

#[tenure::locked(key = "a", on_lost = cancel)]
fn f() -> Result<(), tenure::Error> {
    Ok(())
}

fn main() {}
