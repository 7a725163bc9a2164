//! Acquires that are cancelled at random moments, after which no server has anything left that stays.

use super::set::{PATIENCE, Set};
use crate::support::{eventually, litter};
use std::time::{Duration, Instant};

/// Nothing that is left goes by itself while it is looked for.
const LONG: Duration = Duration::from_secs(120);
const KEYS: u32 = 7;

pub(crate) async fn leave_nothing(cancels: u32) {
    let set = Set::start(3);
    let clients = [set.client_for(LONG).await, set.client_for(LONG).await];
    let (mut cancelled, mut turn) = (0, 0);
    while cancelled < cancels {
        turn += 1;
        let client = &clients[turn as usize % clients.len()];
        let lock = client.lock(&format!("cancelled:{}", turn % KEYS)).unwrap();
        tokio::select! {
            () = moment(Duration::from_micros(fastrand::u64(0..1500))) => cancelled += 1,
            _ = async { lock.lock().await.expect("the lock").release().await } => {}
        }
    }
    println!("{cancels} of {turn} were cancelled");
    for client in clients {
        client.close(Duration::from_secs(60)).await.expect("all is cleaned up");
    }
    let left = || set.servers.iter().flat_map(litter).collect::<Vec<_>>();
    // The slowest are told when nobody waits for them any more.
    eventually("nothing is left", PATIENCE, || left().is_empty()).await;
    let next = set.client_for(LONG).await;
    for key in 0..KEYS {
        let lock = next.lock(&format!("cancelled:{key}")).unwrap();
        let guard = lock.try_lock().await.expect("an answer").expect("a cancelled acquire left its lock held");
        guard.release().await.expect("a release");
    }
}

/// A timer counts whole milliseconds, in which a lock is taken and released.
async fn moment(length: Duration) {
    let end = Instant::now() + length;
    while Instant::now() < end {
        tokio::task::yield_now().await;
    }
}
