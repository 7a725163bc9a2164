//! Parts are shown as people see them, or as programmers do, and without any layout.

#![allow(unused)]

#[tenure::locked(key = "{id:#?}")]
async fn a(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "{id:>5}")]
async fn b(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "{id:04}")]
async fn c(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

fn main() {}
