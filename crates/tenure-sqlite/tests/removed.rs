//! What lies beside the file is removed while it is in use: nobody is left believing for longer than until it next asks,
//! and nobody is told of machines that are not there.

mod support;

use libtest_mimic::{Arguments, Failed, Trial};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::Duration;
use support::{PATIENCE, Place, eventually, soon, store};
use tenure_core::{Backend, Claim, Client, Guard, Kind, Operation, Options, Outcome, Stay};
use tenure_testkit::history::Hold;
use tenure_testkit::taker::{Job, Taker, if_taker};

/// Renewed every second: long enough that no lease ends by itself on a busy machine.
const LEASE: Duration = Duration::from_secs(3);

fn main() {
    if_taker(store);
    let trials = vec![
        Trial::test("log_and_index_removed", || told(&["-wal", "-shm"])),
        Trial::test("log_removed", || told(&["-wal"])),
        Trial::test("index_removed", index_removed),
        Trial::test("log_and_index_removed_before_they_were_merged", newcomer_of_new_file),
        Trial::test("one_who_leaves_a_removed_file_does_not_touch_the_new_one", leaves_the_new_one_alone),
        Trial::test("clients_of_one_process_all_move_on", clients_of_one_process),
        Trial::test("a_removed_log_is_not_written_over_what_came_after_it", not_written_over),
        Trial::test("nothing_is_written_by_an_index_that_others_do_not_see", unseen_index),
    ];
    libtest_mimic::run(&Arguments { test_threads: Some(2), ..Arguments::from_args() }, trials).exit();
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

fn beside(place: &Place, end: &str) -> PathBuf {
    format!("{}{end}", place.path.display()).into()
}

fn remove(place: &Place, ends: &[&str]) {
    for end in ends {
        fs::remove_file(beside(place, end)).unwrap();
    }
}

async fn client(place: &Place) -> Client {
    Client::builder().options(Options::new().lease(LEASE)).connect(place.backend()).await.unwrap()
}

/// A holder, whose grant is in the log alone; the tables are in the file.
async fn holds(place: &Place, client: &Client) -> Guard {
    client.lock("other").unwrap().lock().await.unwrap().release().await.unwrap();
    place.peek().query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    client.lock("k").unwrap().lock().await.unwrap()
}

/// Another process that takes the lock and keeps it.
fn taker(place: &Place) -> Taker {
    Taker::start(&Job::Hold { url: place.url(), key: "k".into(), lease: LEASE })
}

/// The holder is told when it next asks, and the newcomer gets what nobody has any more.
fn told(ends: &[&str]) -> Result<(), Failed> {
    let place = Place::new();
    block_on(async {
        let client = client(&place).await;
        let guard = holds(&place, &client).await;
        remove(&place, ends);
        let mut taker = taker(&place);
        let taken = tokio::task::spawn_blocking(move || (taker.granted(), taker));
        soon("the holder is told", guard.lost()).await;
        let (token, taker) = soon("the newcomer gets in", taken).await?;
        assert!(token > guard.token());
        assert!(client.lock("k")?.try_lock().await?.is_none(), "both see the same");
        drop(taker);
        assert_eq!(place.integrity(), "ok");
        Ok(())
    })
}

/// The log is whole, and says who holds what: the holder goes on.
fn index_removed() -> Result<(), Failed> {
    let place = Place::new();
    block_on(async {
        let client = client(&place).await;
        let guard = holds(&place, &client).await;
        remove(&place, &["-shm"]);
        let mut taker = taker(&place);
        let lock = client.lock("k")?;
        // By then the newcomer has asked, and the holder has been asked about.
        let waiters = async || lock.inspect().await.unwrap().expect("it is held").waiters;
        soon("it waits", async { while waiters().await != Some(1) {} }).await;
        assert!(guard.is_held());
        guard.release().await?;
        taker.granted();
        assert!(lock.try_lock().await?.is_none(), "both see the same");
        drop(taker);
        assert_eq!(place.integrity(), "ok");
        Ok(())
    })
}

/// All that the file ever had was in the log. A newcomer makes it anew, instead of looking for another machine.
fn newcomer_of_new_file() -> Result<(), Failed> {
    let place = Place::new();
    block_on(async {
        let client = client(&place).await;
        let guard = client.lock("k")?.lock().await?;
        remove(&place, &["-wal", "-shm"]);
        let mut taker = taker(&place);
        let taken = tokio::task::spawn_blocking(move || (taker.granted(), taker));
        let (token, _taker) = soon("the newcomer gets in", taken).await?;
        assert!(token > guard.token());
        soon("the holder is told", guard.lost()).await;
        Ok(())
    })
}

/// SQLite takes the log away with the last who closes the file, by its name, whosever it is by then.
fn leaves_the_new_one_alone() -> Result<(), Failed> {
    let place = Place::new();
    block_on(async {
        let client = client(&place).await;
        client.lock("other")?.lock().await?.release().await?;
        remove(&place, &["", "-wal", "-shm"]);
        let mut taker = taker(&place);
        let (_, _taker) = tokio::task::spawn_blocking(move || (taker.granted(), taker)).await?;
        let inode = |end| fs::metadata(beside(&place, end)).map(|found| found.ino()).ok();
        let before = ["-wal", "-shm"].map(inode);
        assert!(client.lock("k")?.try_lock().await?.is_none(), "as the new file says");
        assert_eq!(["-wal", "-shm"].map(inode), before);
        Ok(())
    })
}

/// SQLite has one index for all connections of a process, the one that was removed as long as any of them has it.
fn clients_of_one_process() -> Result<(), Failed> {
    let place = Place::new();
    block_on(async {
        let (one, other) = (client(&place).await, client(&place).await);
        let guard = holds(&place, &one).await;
        other.lock("other")?.lock().await?.release().await?;
        let bells = || fs::read_dir(beside(&place, "-wake")).unwrap().count();
        eventually("both have bells", PATIENCE, || bells() == 2).await;
        remove(&place, &["-wal", "-shm"]);
        soon("the holder is told", guard.lost()).await;
        let mut taker = taker(&place);
        let taken = tokio::task::spawn_blocking(move || (taker.granted(), taker));
        let (_, _taker) = soon("the newcomer gets in", taken).await?;
        for client in [&one, &other] {
            assert!(client.lock("k")?.try_lock().await?.is_none(), "all see the same");
        }
        Ok(())
    })
}

/// The same while one of them does not look: the other leaves alone what it cannot see as others do.
fn unseen_index() -> Result<(), Failed> {
    let place = Place::new();
    block_on(async {
        let (one, other) = (place.backend(), place.backend());
        one.reach(PATIENCE).await?;
        other.reach(PATIENCE).await?;
        remove(&place, &["-wal", "-shm"]);
        // Their log is longer than ours was, and everything in it would be taken for ours.
        let (url, section) = (place.url(), Duration::ZERO);
        Taker::start(&Job::Relay { url, key: "other".into(), holds: 50, section, lease: LEASE }).finish();
        let mut taker = taker(&place);
        let (_, taker) = tokio::task::spawn_blocking(move || (taker.granted(), taker)).await?;

        let (lock, claim) = (support::key("k"), Claim::new("client", 1));
        let acquire = Operation::Acquire { claim, under: vec![], lease: LEASE, stay: Stay::No };
        let error = one.apply_one(Kind::Reentrant, &lock, &acquire, LEASE / 10).await.unwrap_err();
        assert!(error.message.contains("log beside the file was removed"), "{error}");
        for backend in [other, one] {
            let busy = backend.apply_one(Kind::Reentrant, &lock, &acquire, PATIENCE).await?;
            assert!(matches!(busy, Outcome::Busy(_)), "{busy:?}");
        }
        drop(taker);
        assert_eq!(place.integrity(), "ok");
        Ok(())
    })
}

/// One who has the old log looks when others have come, written, and gone.
fn not_written_over() -> Result<(), Failed> {
    let place = Place::new();
    block_on(async {
        let client = client(&place).await;
        let guard = holds(&place, &client).await;
        guard.release().await?;
        remove(&place, &["-wal", "-shm"]);
        let (url, section) = (place.url(), Duration::ZERO);
        let relay = Job::Relay { url, key: "other".into(), holds: 50, section, lease: LEASE };
        let lines = tokio::task::spawn_blocking(move || Taker::start(&relay).finish()).await?;
        let last = Hold::from_line(lines.lines().last().expect("holds")).unwrap().token.expect("a token");
        client.lock("k")?.inspect().await?;
        let query = "SELECT value FROM meta WHERE name = 'watermark'";
        let watermark: i64 = place.peek().query_row(query, [], |row| row.get(0)).unwrap();
        assert_eq!(watermark.cast_unsigned(), last, "as they have left it");
        assert_eq!(place.integrity(), "ok");
        Ok(())
    })
}
