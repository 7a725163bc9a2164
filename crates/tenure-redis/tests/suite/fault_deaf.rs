//! One connection goes dead without being closed, as behind a firewall that forgot it, while new ones are served.

use crate::support::scripts::{ACQUIRE, RENEW};
use crate::support::{backend, ms};
use std::time::Duration;
use tenure_core::{Client, Options, Release};
use tenure_testkit::{FaultProxy, RedisServer};

/// A client whose server knows all scripts.
async fn warm(proxy: &FaultProxy, lease: Duration, answer_within: Duration) -> Client {
    let options = Options::new().lease(lease);
    let client = Client::builder().options(options).answer_within(answer_within).connect(backend(&proxy.url()));
    let client = client.await.unwrap();
    let guard = client.lock("warm").unwrap().lock().await.unwrap();
    guard.renew().await.unwrap();
    guard.release().await.unwrap();
    client
}

#[tokio::test]
async fn waits_of_the_usual_length_find_another_connection() {
    let server = RedisServer::start();
    let proxy = FaultProxy::start(server.addr());
    let client = warm(&proxy, ms(1000), ms(300)).await;
    let dead = proxy.hold_request(&ACQUIRE);
    let guard = client.lock("k").unwrap().lock_timeout(ms(2000)).await.unwrap();
    dead.caught().await;
    assert_eq!(guard.release().await.unwrap(), Release::Released);
}

/// None of these waits is long enough to be sure that the connection is dead, but all of them together are.
#[tokio::test]
async fn short_waits_find_another_connection_in_the_end() {
    let server = RedisServer::start();
    let proxy = FaultProxy::start(server.addr());
    let client = warm(&proxy, ms(1000), ms(1000)).await;
    let dead = proxy.hold_request(&ACQUIRE);
    let lock = client.lock("k").unwrap();
    let mut tries = 0;
    let obtained = loop {
        tries += 1;
        match lock.lock_timeout(ms(200)).await {
            Ok(guard) => break Some(guard),
            Err(_) if tries == 15 => break None,
            Err(_) => {}
        }
    };
    dead.caught().await;
    assert!(obtained.is_some(), "{tries} waits of 200 ms failed on one dead connection, with the server at hand");
}

/// The watchdog's patience is a third of the lease, which is short here; it must not try the dead connection for ever.
#[tokio::test]
async fn short_leases_are_renewed_on_another_connection() {
    let server = RedisServer::start();
    let proxy = FaultProxy::start(server.addr());
    let lease = ms(600);
    let client = warm(&proxy, lease, ms(1000)).await;
    let dead = proxy.hold_request(&RENEW);
    let lock = client.lock("k").unwrap();
    let guard = lock.lock().await.unwrap();
    dead.caught().await;
    // This one may be lost on the way; the next must not be.
    tokio::time::sleep(lease * 2).await;
    drop(guard);
    let guard = lock.lock_timeout(ms(5000)).await.unwrap();
    tokio::time::sleep(lease * 3).await;
    assert!(guard.is_held(), "renewals still go to the dead connection: {:?}", guard.standing());
}
