//! Many who read, or one who writes.

use super::bench::{Bench, millis, renewed, unrenewed};
use super::case::cases;
use super::waiting::{eventually, heard, soon, within};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use tenure_core::{Client, Error, ErrorKind, Guard, Kind, Loss, Options, Owner, Release, RwLock, What};
use tokio::task::{JoinHandle, JoinSet};

cases!("read_write":
    readers_are_together_and_a_writer_is_alone,
    both_sides_are_entered_again,
    a_writer_becomes_a_reader_and_lets_readers_in,
    a_downgrade_leaves_no_gap,
    a_guard_of_the_other_side_has_the_same_lease,
    a_lone_reader_becomes_a_writer,
    a_reader_waits_for_the_others_to_write,
    of_two_readers_who_want_to_write_one_is_refused,
    an_owner_has_both_sides,
    a_reader_that_died_keeps_a_writer_out_no_longer_than_its_lease,
    a_reader_is_lost_by_itself,
    readers_wait_behind_a_waiting_writer,
    readers_who_waited_go_before_the_next_writer,
    a_writer_gets_in_among_readers_without_end,
    readers_get_in_among_writers_without_end,
    re_entry_does_not_add_up,
    all_are_put_out_by_force,
    nobody_writes_while_others_read,
    kinds_do_not_mix,
    only_the_right_guards_change_sides,
);

pub(super) fn rw(bench: &Bench, client: &Client) -> RwLock {
    client.rw_lock(&bench.key("a")).unwrap()
}

/// Lets a client wait for a side; it stands in line when this returns.
pub(super) async fn line_up(bench: &Bench, client: &Client, kind: Kind) -> JoinHandle<Result<Guard, Error>> {
    let (lock, mut events) = (client.lock_of(kind, &bench.key("a")).unwrap(), client.events());
    let waiting = tokio::spawn(async move { lock.lock().await });
    heard(&mut events, "it waits", |what| matches!(what, What::Waiting { .. })).await;
    waiting
}

async fn readers_are_together_and_a_writer_is_alone(bench: &Bench) {
    let (one, other) = (bench.client().await, bench.client().await);
    let (one, other) = (rw(bench, &one), rw(bench, &other));
    let readers =
        [one.read().lock().await.unwrap(), other.read().lock().await.unwrap(), one.read().lock().await.unwrap()];
    assert!(one.write().try_lock().await.unwrap().is_none());
    let held = one.read().inspect().await.unwrap().unwrap();
    assert_eq!((held.kind, held.holders.len()), (Kind::Read, 3));
    let mut last = 0;
    for (reader, left) in readers.into_iter().zip([Release::Left, Release::Left, Release::Released]) {
        last = last.max(reader.token());
        assert_eq!(reader.release().await.unwrap(), left);
    }
    let writer = other.write().lock().await.unwrap();
    assert!(writer.token() > last);
    assert_eq!(other.read().inspect().await.unwrap().unwrap().kind, Kind::Write);
    assert!(one.read().try_lock().await.unwrap().is_none() && one.write().try_lock().await.unwrap().is_none());
    assert_eq!(writer.release().await.unwrap(), Release::Released);
    bench.assert_nothing_left().await;
}

async fn both_sides_are_entered_again(bench: &Bench) {
    let client = bench.client().await;
    let lock = rw(bench, &client);
    for side in [lock.read(), lock.write()] {
        let outer = side.lock_with(renewed(1000)).await.unwrap();
        let inner = outer.reenter().await.unwrap();
        assert_eq!(inner.token(), outer.token());
        assert_eq!(side.inspect().await.unwrap().unwrap().holder().count, 2);
        assert_eq!(outer.release().await.unwrap(), Release::StillHeld(1));
        assert_eq!(inner.release().await.unwrap(), Release::Released);
    }
    bench.assert_nothing_left().await;
}

async fn a_writer_becomes_a_reader_and_lets_readers_in(bench: &Bench) {
    let mut best = std::time::Duration::MAX;
    for _ in 0..5 {
        let clients = bench.clients(4).await;
        let writer = rw(bench, &clients[0]).write().lock().await.unwrap();
        let mut readers = Vec::new();
        for number in 0..20 {
            readers.push(line_up(bench, &clients[number % 4], Kind::Read).await);
        }
        let next = line_up(bench, &clients[1], Kind::Write).await;
        let token = writer.token();
        let reader = writer.downgrade().await.unwrap();
        let began = std::time::Instant::now();
        assert_eq!(reader.token(), token);
        let mut inside = Vec::new();
        for waiting in readers {
            inside.push(soon("a reader gets in", waiting).await.unwrap().unwrap());
        }
        best = best.min(began.elapsed());
        assert!(!next.is_finished() && inside.iter().all(Guard::is_held) && reader.is_held());
        drop((inside, reader));
        soon("the writer gets in", next).await.unwrap().unwrap().release().await.unwrap();
    }
    assert!(best < millis(200), "twenty readers took {best:?}");
}

async fn a_downgrade_leaves_no_gap(bench: &Bench) {
    let (one, other) = (bench.client().await, bench.client().await);
    let writer = rw(bench, &one).write().lock().await.unwrap();
    let next = line_up(bench, &other, Kind::Write).await;
    let reader = writer.downgrade().await.unwrap();
    assert!(!next.is_finished());
    assert_eq!(rw(bench, &one).read().inspect().await.unwrap().unwrap().holders.len(), 1);
    reader.release().await.unwrap();
    soon("the next writer gets in", next).await.unwrap().unwrap().release().await.unwrap();
    bench.assert_nothing_left().await;
}

async fn a_guard_of_the_other_side_has_the_same_lease(bench: &Bench) {
    let client = bench.client().await;
    let (lock, short) = (rw(bench, &client), unrenewed(5000));
    let reader = lock.write().lock_with(short.clone()).await.unwrap().downgrade().await.unwrap();
    assert!(reader.remaining() <= millis(5000), "{:?}", reader.remaining());
    let writer = reader.upgrade().await.unwrap();
    assert!(writer.remaining() <= millis(5000), "{:?}", writer.remaining());
    let left = lock.read().inspect().await.unwrap().unwrap();
    assert!(left.holders.iter().all(|held| held.holder.remaining.unwrap() <= millis(5000)), "{left:?}");
}

async fn a_lone_reader_becomes_a_writer(bench: &Bench) {
    let (one, other) = (bench.client().await, bench.client().await);
    let reader = rw(bench, &one).read().lock().await.unwrap();
    let writer = reader.try_upgrade().await.unwrap().expect("nobody else reads");
    assert!(writer.token() > reader.token());
    assert!(rw(bench, &other).read().try_lock().await.unwrap().is_none());
    assert_eq!(writer.release().await.unwrap(), Release::Left);
    let beside = rw(bench, &other).read().try_lock().await.unwrap().expect("nobody writes");
    assert!(reader.is_held() && beside.is_held());
    assert!(reader.try_upgrade().await.unwrap().is_none());
    let options = Options::new().wait(millis(300));
    assert_eq!(reader.upgrade_with(options).await.unwrap_err().kind(), ErrorKind::Timeout);
}

async fn a_reader_waits_for_the_others_to_write(bench: &Bench) {
    let clients = bench.clients(4).await;
    let reader = Arc::new(rw(bench, &clients[0]).read().lock().await.unwrap());
    let other = rw(bench, &clients[1]).read().lock().await.unwrap();
    let writer = line_up(bench, &clients[2], Kind::Write).await;
    let mut events = clients[0].events();
    let upgrading = tokio::spawn({
        let reader = Arc::clone(&reader);
        async move { reader.upgrade().await }
    });
    heard(&mut events, "it waits to write", |what| matches!(what, What::Waiting { .. })).await;
    let newcomer = line_up(bench, &clients[3], Kind::Read).await;
    assert!(!upgrading.is_finished());
    other.release().await.unwrap();
    let writing = soon("it writes", upgrading).await.unwrap().unwrap();
    assert!(!writer.is_finished() && !newcomer.is_finished());
    writing.release().await.unwrap();
    drop(reader);
    soon("the newcomer reads", newcomer).await.unwrap().unwrap().release().await.unwrap();
    soon("the writer gets in", writer).await.unwrap().unwrap().release().await.unwrap();
}

async fn of_two_readers_who_want_to_write_one_is_refused(bench: &Bench) {
    let (one, other) = (bench.client().await, bench.client().await);
    let first = Arc::new(rw(bench, &one).read().lock().await.unwrap());
    let second = rw(bench, &other).read().lock().await.unwrap();
    let mut events = one.events();
    let upgrading = tokio::spawn({
        let first = Arc::clone(&first);
        async move { first.upgrade().await }
    });
    heard(&mut events, "it waits to write", |what| matches!(what, What::Waiting { .. })).await;
    let error = soon("the second is refused", second.upgrade()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    assert!(error.to_string().contains("release this read lock"), "{error}");
    assert!(second.is_held() && first.is_held() && !upgrading.is_finished());
    second.release().await.unwrap();
    soon("the first writes", upgrading).await.unwrap().unwrap().release().await.unwrap();
}

async fn an_owner_has_both_sides(bench: &Bench) {
    let client = bench.client().await;
    let (lock, owner) = (rw(bench, &client), Owner::new());
    let options = || Options::new().owner(owner.clone());
    let writer = lock.write().lock_with(options()).await.unwrap();
    let reader = lock.read().lock_with(options()).await.unwrap();
    let again = lock.read().lock_with(options()).await.unwrap();
    assert_eq!(lock.read().inspect().await.unwrap().unwrap().holders.len(), 2);
    assert!(lock.read().try_lock().await.unwrap().is_none(), "nobody else");
    assert_eq!(writer.release().await.unwrap(), Release::Left);
    assert!(lock.read().try_lock().await.unwrap().is_some(), "nobody writes any more");
    let writer = soon("it is alone", lock.write().lock_with(options())).await.unwrap();
    assert_eq!(writer.release().await.unwrap(), Release::Left);
    assert_eq!(again.release().await.unwrap(), Release::StillHeld(1));
    // Also when it holds more than one claim on the other side.
    let writer = lock.write().lock_with(options()).await.unwrap();
    let beside = writer.downgrade().await.unwrap();
    let writer = soon("it does not wait for itself", lock.write().lock_with(options())).await.unwrap();
    drop((writer, beside));
    reader.release().await.unwrap();
}

async fn a_reader_that_died_keeps_a_writer_out_no_longer_than_its_lease(bench: &Bench) {
    let clients = bench.clients(3).await;
    let long = rw(bench, &clients[0]).read().lock_with(renewed(60_000)).await.unwrap();
    let short = rw(bench, &clients[1]).read().lock_with(unrenewed(1000)).await.unwrap();
    let writer = line_up(bench, &clients[2], Kind::Write).await;
    std::mem::forget(short);
    long.release().await.unwrap();
    within(millis(1000 + 1500), "the writer gets in", writer).await.unwrap().unwrap().release().await.unwrap();
}

async fn a_reader_is_lost_by_itself(bench: &Bench) {
    let client = bench.client().await;
    let lock = rw(bench, &client);
    let (long, short) =
        (lock.read().lock_with(renewed(2000)).await.unwrap(), lock.read().lock_with(unrenewed(500)).await.unwrap());
    assert_eq!(soon("the short one ends", short.lost()).await, Loss::LeaseEnded);
    assert_eq!(short.release().await.unwrap_err().kind(), ErrorKind::Lost);
    assert!(long.is_held());
    eventually("it is not counted", async || lock.read().inspect().await.unwrap().unwrap().holders.len() == 1).await;
    assert_eq!(long.release().await.unwrap(), Release::Released);
    bench.assert_nothing_left().await;
}

async fn readers_wait_behind_a_waiting_writer(bench: &Bench) {
    let clients = bench.clients(3).await;
    let reader = rw(bench, &clients[0]).read().lock().await.unwrap();
    let writer = line_up(bench, &clients[1], Kind::Write).await;
    assert!(rw(bench, &clients[2]).read().try_lock().await.unwrap().is_none());
    let newcomer = line_up(bench, &clients[2], Kind::Read).await;
    let again = reader.reenter().await.unwrap();
    drop((reader, again));
    let writer = soon("the writer gets in", writer).await.unwrap().unwrap();
    assert!(!newcomer.is_finished());
    writer.release().await.unwrap();
    drop(soon("the newcomer gets in", newcomer).await.unwrap().unwrap());
}

async fn readers_who_waited_go_before_the_next_writer(bench: &Bench) {
    let clients = bench.clients(4).await;
    let writer = rw(bench, &clients[0]).write().lock().await.unwrap();
    let next = line_up(bench, &clients[1], Kind::Write).await;
    let readers = [line_up(bench, &clients[2], Kind::Read).await, line_up(bench, &clients[3], Kind::Read).await];
    writer.release().await.unwrap();
    let mut inside = Vec::new();
    for reader in readers {
        inside.push(soon("a reader gets in", reader).await.unwrap().unwrap());
    }
    assert!(!next.is_finished());
    drop(inside);
    drop(soon("the next writer gets in", next).await.unwrap().unwrap());
}

/// Lets so many tasks hold a side in turn until told to stop, so that somebody always does.
fn without_end(locks: Vec<RwLock>, kind: Kind, stop: &Arc<AtomicBool>) -> (JoinSet<()>, Vec<Arc<AtomicU32>>) {
    let (mut tasks, mut turns) = (JoinSet::new(), Vec::new());
    for lock in locks {
        let (stop, held) = (Arc::clone(stop), Arc::new(AtomicU32::new(0)));
        turns.push(Arc::clone(&held));
        tasks.spawn(async move {
            while !stop.load(Ordering::SeqCst) {
                let side = if kind == Kind::Read { lock.read() } else { lock.write() };
                let guard = side.lock().await.unwrap();
                tokio::time::sleep(millis(5)).await;
                guard.release().await.unwrap();
                held.fetch_add(1, Ordering::SeqCst);
            }
        });
    }
    (tasks, turns)
}

/// One gets in again and again among many of the other side, and keeps none of them out.
async fn gets_in_among(bench: &Bench, many: Kind, one: Kind) {
    let clients = bench.clients(4).await;
    let stop = Arc::new(AtomicBool::new(false));
    let locks = (0..8).map(|number| rw(bench, &clients[number % 3])).collect();
    let (mut others, turns) = without_end(locks, many, &stop);
    let lock = clients[3].lock_of(one, &bench.key("a")).unwrap();
    soon("everyone has had a turn", async {
        while !turns.iter().all(|held| held.load(Ordering::SeqCst) >= 3) {
            soon("it gets in", lock.lock()).await.unwrap().release().await.unwrap();
        }
    })
    .await;
    stop.store(true, Ordering::SeqCst);
    while let Some(ended) = others.join_next().await {
        ended.unwrap();
    }
}

async fn a_writer_gets_in_among_readers_without_end(bench: &Bench) {
    gets_in_among(bench, Kind::Read, Kind::Write).await;
}

async fn readers_get_in_among_writers_without_end(bench: &Bench) {
    gets_in_among(bench, Kind::Write, Kind::Read).await;
}

async fn re_entry_does_not_add_up(bench: &Bench) {
    let client = bench.client().await;
    let lock = rw(bench, &client);
    for side in [lock.read(), lock.write()] {
        let outer = side.lock_with(unrenewed(10_000)).await.unwrap();
        let inner = outer.reenter_with(unrenewed(10_000)).await.unwrap();
        let shorter = outer.reenter_with(unrenewed(1000)).await.unwrap();
        let left = side.inspect().await.unwrap().unwrap().holder().remaining.unwrap();
        assert!(left <= millis(10_000) && left > millis(5000), "{left:?}");
        drop((outer, inner, shorter));
        eventually("it is free", async || !side.is_locked().await.unwrap()).await;
    }
}

async fn all_are_put_out_by_force(bench: &Bench) {
    let clients = bench.clients(3).await;
    let readers = [
        rw(bench, &clients[0]).read().lock_with(renewed(1000)).await.unwrap(),
        rw(bench, &clients[1]).read().lock_with(renewed(1000)).await.unwrap(),
    ];
    let waiting = line_up(bench, &clients[2], Kind::Write).await;
    let forced = rw(bench, &clients[2]).read().force_release().await.unwrap().expect("it is held");
    assert_eq!((forced.kind, forced.holders.len()), (Kind::Read, 2));
    let writer = soon("the writer gets in", waiting).await.unwrap().unwrap();
    for reader in readers {
        soon("a reader is told", reader.lost()).await;
        assert_eq!(reader.release().await.unwrap_err().kind(), ErrorKind::Lost);
    }
    writer.release().await.unwrap();
    bench.assert_nothing_left().await;
}

async fn nobody_writes_while_others_read(bench: &Bench) {
    let clients = bench.clients(4).await;
    let (readers, writers) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let mut tasks = JoinSet::new();
    for number in 0..16 {
        let (lock, reads) = (rw(bench, &clients[number % 4]), number % 4 != 0);
        let (readers, writers) = (Arc::clone(&readers), Arc::clone(&writers));
        tasks.spawn(async move {
            let side = if reads { lock.read() } else { lock.write() };
            for _ in 0..10 {
                let guard = side.lock().await.unwrap();
                let own = if reads { &readers } else { &writers };
                let count = own.fetch_add(1, Ordering::SeqCst) + 1;
                assert!(reads || count == 1, "two writers");
                assert_eq!(if reads { &writers } else { &readers }.load(Ordering::SeqCst), 0, "both sides are in");
                tokio::time::sleep(millis(1)).await;
                own.fetch_sub(1, Ordering::SeqCst);
                guard.release().await.unwrap();
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    eventually("nothing is left", async || bench.keys_left().await.is_empty()).await;
}

async fn kinds_do_not_mix(bench: &Bench) {
    let client = bench.client().await;
    let (lock, key) = (rw(bench, &client), bench.key("a"));
    for (side, name) in [(lock.read(), "read"), (lock.write(), "write")] {
        let guard = side.lock().await.unwrap();
        for kind in [Kind::Reentrant, Kind::Simple, Kind::Fair] {
            let error = client.lock_of(kind, &key).unwrap().lock_timeout(millis(5000)).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Conflict, "{kind}: {error}");
            assert!(error.to_string().contains(&format!("held as={name}")), "{error}");
        }
        guard.release().await.unwrap();
        for kind in [Kind::Reentrant, Kind::Simple, Kind::Fair] {
            let guard = client.lock_of(kind, &key).unwrap().lock().await.unwrap();
            let error = side.lock_timeout(millis(5000)).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Conflict, "{kind}: {error}");
            guard.release().await.unwrap();
        }
    }
    eventually("nothing is left", async || bench.keys_left().await.is_empty()).await;
}

async fn only_the_right_guards_change_sides(bench: &Bench) {
    let client = bench.client().await;
    let lock = rw(bench, &client);
    let reader = lock.read().lock().await.unwrap();
    assert_eq!(reader.downgrade().await.unwrap_err().kind(), ErrorKind::Unsupported);
    eventually("it is free", async || !lock.read().is_locked().await.unwrap()).await;
    let writer = lock.write().lock().await.unwrap();
    assert_eq!(writer.upgrade().await.unwrap_err().kind(), ErrorKind::Unsupported);
    let other = client.lock(&bench.key("b")).unwrap().lock().await.unwrap();
    assert_eq!(other.try_upgrade().await.unwrap_err().kind(), ErrorKind::Unsupported);
}
