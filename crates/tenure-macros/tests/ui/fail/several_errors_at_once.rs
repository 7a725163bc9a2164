//! All that is wrong is said at once.

#![allow(unused)]

#[tenure::locked(key = "{}", lease = 5, kind = fifo, colour = "red")]
async fn f() -> Result<(), tenure::Error> {
    Ok(())
}

fn main() {}
