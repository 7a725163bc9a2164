//! Leases of the two sides of a read-write lock: each holder's is its own.

use super::bench::{Bench, millis, renewed, unrenewed};
use super::case::cases;
use super::read_write::{line_up, rw};
use super::waiting::{eventually, soon, within};
use std::time::Instant;
use tenure_core::{Client, ErrorKind, Guard, Kind, Owner, Release};

cases!("sides":
    other_readers_do_not_change_when_a_lease_ends,
    readers_get_in_when_a_writers_lease_ends,
    readers_are_renewed,
    both_sides_of_an_owner_are_renewed,
    a_reader_that_was_a_writer_is_renewed,
    who_reads_within_its_writing_writes_on,
);

/// A lease that is renewed is over by then more than twice.
async fn outlast_a_second_twice() {
    let began = Instant::now();
    eventually("the lease would be over", async || began.elapsed() > millis(2100)).await;
}

/// One reader died. Others come and go, for longer than it and for less.
async fn other_readers_do_not_change_when_a_lease_ends(bench: &Bench) {
    let clients = bench.clients(3).await;
    let others = rw(bench, &clients[1]);
    let began = Instant::now();
    let died = rw(bench, &clients[0]).read().lock_with(unrenewed(1500)).await.unwrap();
    for lease in [300, 60_000] {
        others.read().lock_with(unrenewed(lease)).await.unwrap().release().await.unwrap();
    }
    let short = others.read().lock_with(unrenewed(300)).await.unwrap();
    let writer = line_up(bench, &clients[2], Kind::Write).await;
    soon("the short lease ends", short.lost()).await;
    let writer = within(millis(1500 + 1500), "the writer gets in", writer).await.unwrap().unwrap();
    // A client gives back what it lost, a little before the store would let go.
    assert!(began.elapsed() >= millis(1400), "in {:?} after a lease of 1.5 s began", began.elapsed());
    assert!(!died.is_held());
    writer.release().await.unwrap();
}

async fn readers_get_in_when_a_writers_lease_ends(bench: &Bench) {
    let clients = bench.clients(3).await;
    let writer = rw(bench, &clients[0]).write().lock_with(unrenewed(1000)).await.unwrap();
    let readers = [line_up(bench, &clients[1], Kind::Read).await, line_up(bench, &clients[2], Kind::Read).await];
    let mut inside = Vec::new();
    for reader in readers {
        inside.push(within(millis(1000 + 1500), "a reader gets in", reader).await.unwrap().unwrap());
    }
    assert!(inside.iter().all(Guard::is_held), "readers are together");
    assert_eq!(writer.release().await.unwrap_err().kind(), ErrorKind::Lost);
}

async fn readers_are_renewed(bench: &Bench) {
    let clients = bench.clients(2).await;
    let lock = rw(bench, &clients[0]);
    let mut readers = Vec::new();
    for number in 0..20 {
        let lock = rw(bench, &clients[number % clients.len()]);
        readers.push(lock.read().lock_with(renewed(1000)).await.unwrap());
    }
    outlast_a_second_twice().await;
    assert!(readers.iter().all(Guard::is_held));
    let held = lock.read().inspect().await.unwrap().expect("all of them read");
    assert_eq!((held.kind, held.holders.len()), (Kind::Read, 20));
    assert!(lock.write().try_lock().await.unwrap().is_none());
    for reader in readers {
        reader.release().await.unwrap();
    }
    bench.assert_nothing_left().await;
}

async fn both_sides_of_an_owner_are_renewed(bench: &Bench) {
    let (client, other) = (bench.client().await, bench.client().await);
    let (lock, others, owner) = (rw(bench, &client), rw(bench, &other), Owner::new());
    let writer = lock.write().lock_with(renewed(1000).owner(owner.clone())).await.unwrap();
    let reader = lock.read().lock_with(renewed(1000).owner(owner)).await.unwrap();
    outlast_a_second_twice().await;
    assert!(writer.is_held() && reader.is_held());
    assert!(others.read().try_lock().await.unwrap().is_none());
    assert_eq!(writer.release().await.unwrap(), Release::Left);
    outlast_a_second_twice().await;
    assert!(reader.is_held() && others.write().try_lock().await.unwrap().is_none());
    assert_eq!(reader.release().await.unwrap(), Release::Released);
    bench.assert_nothing_left().await;
}

async fn a_reader_that_was_a_writer_is_renewed(bench: &Bench) {
    // Who changes sides does so on the client's terms.
    let client = Client::builder().options(renewed(1000)).connect(bench.store()).await.unwrap();
    let other = bench.client().await;
    let writer = rw(bench, &client).write().lock().await.unwrap();
    let reader = writer.downgrade().await.unwrap();
    outlast_a_second_twice().await;
    assert!(reader.is_held() && rw(bench, &other).write().try_lock().await.unwrap().is_none());
    assert_eq!(reader.release().await.unwrap(), Release::Released);
    bench.assert_nothing_left().await;
}

async fn who_reads_within_its_writing_writes_on(bench: &Bench) {
    let (client, other) = (bench.client().await, bench.client().await);
    let (lock, others, owner) = (rw(bench, &client), rw(bench, &other), Owner::new());
    let writer = lock.write().lock_with(renewed(60_000).owner(owner.clone())).await.unwrap();
    let reader = lock.read().lock_with(renewed(60_000).owner(owner)).await.unwrap();
    assert_eq!(reader.release().await.unwrap(), Release::Left);
    assert!(writer.is_held() && others.read().try_lock().await.unwrap().is_none(), "it still writes");
    assert_eq!(writer.release().await.unwrap(), Release::Released);
    assert!(!others.write().is_locked().await.unwrap());
    bench.assert_nothing_left().await;
}
