//! A part can be shown.

#![allow(unused)]

struct Opaque;

#[tenure::locked(key = "stock:{opaque}")]
async fn f(opaque: Opaque) -> Result<(), tenure::Error> {
    Ok(())
}

fn main() {}
