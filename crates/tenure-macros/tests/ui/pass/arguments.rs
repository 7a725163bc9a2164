//! Arguments are dropped under the lock, used or not, and a policy is read before it.

#![deny(warnings)]
#![allow(unexpected_cfgs)]

use std::sync::{Arc, Mutex, RwLock};
use tenure::{Client, Error, Memory, Policy};

/// Notes whether the lock is held when it is dropped.
struct Noted {
    locks: Client,
    held: Arc<Mutex<Vec<bool>>>,
}

impl Drop for Noted {
    fn drop(&mut self) {
        let locks = self.locks.clone();
        let asked = std::thread::spawn(move || locks.blocking().lock("a").unwrap().is_locked().unwrap());
        self.held.lock().unwrap().push(asked.join().unwrap());
    }
}

#[tenure::locked(client = locks, key = "a")]
async fn unused(locks: &Client, _one: Noted, (_two, _): (Noted, u32), _: Noted, #[cfg(not(none))] _three: Noted) -> Result<u32, Error> {
    Ok(1)
}

#[tenure::locked(client = locks, key = "a")]
fn unused_by_a_thread(locks: &Client, _one: Noted, (_two, _): (Noted, u32), _: Noted, #[cfg(not(none))] _three: Noted) -> Result<u32, Error> {
    Ok(1)
}

struct Settings(RwLock<Policy>);

impl Settings {
    #[tenure::locked(client = locks, policy = *self.0.read().unwrap(), key = "a", wait = "0s")]
    async fn read(&self, locks: &Client) -> Result<u32, Error> {
        // Nobody keeps the policy from being changed.
        *self.0.write().unwrap() = Policy::seed();
        Ok(1)
    }

    #[tenure::locked(client = locks, policy = *self.0.read().unwrap(), key = "a")]
    fn read_by_a_thread(&self, locks: &Client) -> Result<u32, Error> {
        *self.0.write().unwrap() = Policy::seed();
        Ok(1)
    }
}

fn is_send<T: Send>(value: T) -> T {
    value
}

#[tokio::main]
async fn main() {
    let locks = Client::new(Memory::new()).unwrap();
    let held = Arc::new(Mutex::new(Vec::new()));
    let noted = || Noted { locks: locks.clone(), held: Arc::clone(&held) };
    assert_eq!(is_send(unused(&locks, noted(), (noted(), 1), noted(), noted())).await.unwrap(), 1);
    assert_eq!(*held.lock().unwrap(), [true; 4]);
    std::thread::scope(|threads| {
        threads.spawn(|| unused_by_a_thread(&locks, noted(), (noted(), 1), noted(), noted()).unwrap());
    });
    assert_eq!(*held.lock().unwrap(), [true; 8]);

    // One attempt has no retries, whatever the policy says.
    let settings = Settings(RwLock::new(Policy::seed()));
    assert_eq!(is_send(settings.read(&locks)).await.unwrap(), 1);
    std::thread::scope(|threads| {
        threads.spawn(|| settings.read_by_a_thread(&locks).unwrap());
    });
}
