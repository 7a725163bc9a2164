//! Everything at once, by dice: whatever the network and the server do, no two guards are valid at a time, and when the
//! storm is over everyone gets in and nothing is left behind.

use crate::support::{Contention, PATIENCE, client, litter, ms};
use std::time::{Duration, Instant};
use tenure_core::ErrorKind;
use tenure_testkit::{FaultProxy, RedisServer};

/// Dice that fall the same way for the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// One fault, for a while that is shorter or longer than the lease.
async fn strike(dice: &mut Dice, server: &RedisServer, proxy: &FaultProxy) {
    let while_ = ms([20, 100, 400, 1300][usize::try_from(dice.roll(4)).unwrap()]);
    let what = dice.roll(12);
    match what {
        0 => proxy.reset(),
        1 => proxy.cut(),
        2 => proxy.hang(),
        3 => proxy.hang_replies(),
        4 => proxy.drop_requests(),
        5 => proxy.drop_replies(),
        6 => proxy.delay(ms(30)),
        7 => proxy.drop_messages(),
        8 => server.pause(),
        9 => drop(server.command(&["CLIENT", "KILL", "TYPE", "normal"])),
        10 => drop(server.command(&["SCRIPT", "FLUSH"])),
        _ => {
            drop(proxy.drop_reply_after("EVAL"));
        }
    }
    tokio::time::sleep(while_).await;
    if what == 8 {
        server.resume();
    }
    proxy.heal();
    tokio::time::sleep(ms(dice.roll(150))).await;
}

async fn storm(seed: u64, lasting: Duration) {
    let server = RedisServer::start();
    let proxy = FaultProxy::start(server.addr());
    let clients = [client(&proxy.url()).await, client(&server.url()).await, client(&proxy.url()).await];
    let contention = Contention::start(&clients.each_ref());
    let mut dice = Dice(seed);
    let end = Instant::now() + lasting;
    while Instant::now() < end {
        strike(&mut dice, &server, &proxy).await;
    }
    contention.all_get_in(ms(4000)).await;
    let (report, tally) = contention.end().await;
    report.assert_clean().assert_at_least(12);
    let told = |error: &tenure_core::Error| matches!(error.kind(), ErrorKind::Lost | ErrorKind::Unknown);
    assert!(tally.errors.iter().all(told), "seed {seed}: {:?}", tally.errors);
    for client in clients {
        client.close(PATIENCE).await.unwrap();
    }
    assert_eq!(litter(&server), [""; 0], "seed {seed}");
}

/// `TENURE_STORM_SEED` chooses another storm, to look for trouble at leisure.
fn seed(default: u64) -> u64 {
    std::env::var("TENURE_STORM_SEED").map_or(default, |seed| seed.parse().expect("a seed is a number above 0"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_storm() {
    storm(seed(0x1234_5678), ms(8000)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_storm() {
    storm(seed(0x9abc_def0) + 1, ms(8000)).await;
}
