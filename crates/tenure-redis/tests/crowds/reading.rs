//! A writer becomes a reader, and those who wait to read elsewhere are let in together.

use crate::crowd::{KEY, shares, start, until_in_line};
use crate::support::{client_of, ms};
use std::time::Duration;
use tenure_core::Kind;
use tenure_testkit::RedisServer;
use tenure_testkit::figures::figure;
use tenure_testkit::history::{Hold, boottime_now};

pub(crate) async fn downgrade() {
    const READERS: usize = 20;
    const PROCESSES: usize = 4;
    const TOGETHER_WITHIN: Duration = Duration::from_millis(200);
    let server = RedisServer::start();
    let client = client_of(&server).await;
    let lock = client.rw_lock(KEY).unwrap();
    let writer = lock.write().lock().await.unwrap();
    // They stay until they are killed, so that all of them are seen in at once.
    let mut takers = start(&server, Kind::Read, &shares(READERS, PROCESSES), ms(600_000));
    until_in_line(&server, "readers", READERS).await;

    let began = boottime_now();
    let reader = writer.downgrade().await.unwrap();
    let mut last = began;
    for taker in &mut takers {
        for _ in 0..READERS / PROCESSES {
            let hold = Hold::from_line(&taker.line().expect("a reader is in")).unwrap();
            assert!(hold.granted >= began, "somebody read beside a writer: {hold:?}");
            last = last.max(hold.granted);
        }
    }
    let took = Duration::from_nanos(last - began);
    assert!(reader.is_held());
    assert_eq!(lock.read().inspect().await.unwrap().unwrap().holders.len(), 1 + READERS);
    figure(
        took <= TOGETHER_WITHIN,
        &format!("{READERS} readers of {PROCESSES} processes were in {took:?} after a downgrade"),
    );
}
