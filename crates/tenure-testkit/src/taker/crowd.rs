//! Many tasks of one process that want one lock, once each.

use crate::history::{Hold, boottime_now};
use std::time::Duration;
use tenure_core::{Client, Lock};
use tokio::task::JoinSet;

/// A bound on waiting for a whole crowd: whoever is forgotten fails, and does not wait for ever.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) async fn crowd(client: &Client, lock: &Lock, tasks: usize, section: Duration) {
    let mut running = JoinSet::new();
    for _ in 0..tasks {
        running.spawn(once(lock.clone(), section));
    }
    while let Some(ended) = running.join_next().await {
        ended.expect("a task");
    }
    client.close(Duration::from_secs(5)).await.expect("a clean close");
}

/// Takes the lock, and tells of the hold by its claim, which is the name that the store's line has for it.
async fn once(lock: Lock, section: Duration) {
    let asked = boottime_now();
    let guard = lock.lock_timeout(PATIENCE).await.expect("the lock");
    let (granted, key, who) = (boottime_now(), lock.key().to_string(), guard.claim().to_string());
    let mut hold = Hold { key, who, token: Some(guard.token()), asked, granted, ended: None };
    println!("{}", hold.to_line());
    tokio::time::sleep(section).await;
    assert!(guard.is_held(), "lost amid a crowd");
    hold.ended = Some(boottime_now());
    guard.release().await.expect("a release");
    println!("{}", hold.to_line());
}
