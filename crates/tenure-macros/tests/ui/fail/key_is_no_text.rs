//! A key is a text that can be read here.

#![allow(unused)]

#[tenure::locked(key = id)]
async fn a(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = format!("{id}"))]
async fn b(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = 7)]
async fn c(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = &order.id())]
async fn d(order: &Order) -> Result<(), tenure::Error> {
    Ok(())
}

#[tenure::locked(key = [id])]
async fn e(id: u32) -> Result<(), tenure::Error> {
    Ok(())
}

struct Order;

fn main() {}
