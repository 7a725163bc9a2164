//! A part is an argument, a field or a call that exists.

#![allow(unused)]

#[tenure::locked(key = "stock:{product}")]
async fn a(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "stock:{id.region}")]
async fn b(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "stock:{id.region()}")]
async fn c(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = "stock:{self.id}")]
async fn d(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

// Here the compiler advises to write `key = product`.
#[tenure::locked(key = "{prodct}")]
async fn e(product: u32) -> Result<(), tenure::Error> {
    Ok(())
}

fn main() {}
