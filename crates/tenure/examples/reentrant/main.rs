//! A locked method that calls another on the same key: `cargo run -p tenure --example reentrant [URL]`.

mod service;

use service::ReentrantService;
use std::sync::Arc;

#[tokio::main]
async fn main() -> Result<(), tenure::Error> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "memory:".to_owned());
    let service = Arc::new(ReentrantService { locks: tenure::connect(&url).await? });
    println!("alone:   {} time in", service.method_b().await?);
    println!("nested:  {} times in", service.method_a().await?);
    let threads = Arc::clone(&service);
    let blocking = tokio::task::spawn_blocking(move || threads.method_a_blocking());
    println!("thread:  {} times in", blocking.await.expect("it does not panic")?);
    println!("after:   locked={}", service.locks.lock("reentrant_lock_test")?.is_locked().await?);
    Ok(())
}
