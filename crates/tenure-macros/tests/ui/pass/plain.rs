//! Plain functions, which wait on their thread.

#![deny(warnings)]

use std::sync::{Arc, Mutex};
use tenure::{Client, Error, Memory};

#[tenure::locked(key = "plain:{id}", lease = "5s", wait = "10s")]
fn free(id: u32, seen: &Mutex<Vec<u32>>) -> Result<usize, Error> {
    let mut seen = seen.lock().expect("no panic");
    seen.push(id);
    Ok(seen.len())
}

struct Counter {
    name: String,
    count: u32,
}

impl Counter {
    #[tenure::locked(key = "counter:{self.name}")]
    fn add(&mut self, by: u32) -> Result<u32, Error> {
        self.count += by;
        Ok(self.count)
    }

    #[tenure::locked(key = "counter:{self.name}", on_lost = finish)]
    fn take(self) -> Result<String, Error> {
        Ok(self.name)
    }

    #[tenure::locked(key = "counter", fallback = Self::none)]
    fn bare(&self) -> u32 {
        self.count
    }

    fn none(&self) -> u32 {
        0
    }

    #[tenure::locked(key = "counter", fallback = Self::nothing)]
    unsafe fn with_care(&self) {}

    fn nothing(&self) {}
}

trait Reads {
    fn read(&self) -> Result<u32, Error>;
}

impl Reads for Counter {
    #[tenure::locked(key = "counter:{self.name}")]
    fn read(&self) -> Result<u32, Error> {
        Ok(self.count)
    }
}

fn main() -> Result<(), Error> {
    tenure::set_client(Client::new(Memory::new())?)?;
    let seen = Arc::default();
    assert_eq!((free(1, &seen)?, free(2, &seen)?), (1, 2));
    let mut counter = Counter { name: "c".into(), count: 0 };
    assert_eq!(counter.add(2)?, 2);
    assert_eq!(counter.read()?, 2);
    assert_eq!(counter.bare(), 2);
    unsafe { counter.with_care() };
    assert_eq!(counter.take()?, "c");
    Ok(())
}
