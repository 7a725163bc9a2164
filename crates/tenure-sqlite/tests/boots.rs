//! What a file outlives: reboots, which end every lease, and what it does not: being removed or replaced. Tokens rise over
//! all of it.

mod support;

use std::fs;
use std::time::Duration;
use support::{LEASE, PATIENCE, Place, eventually, key, ms, soon};
use tenure_core::kernel::{Counting, Supplying, Want};
use tenure_core::{Backend, Claim, Client, Kind, ManualClock, Operation, Outcome, Stay, StoreErrorKind, Token};
use tenure_sqlite::{Config, Sqlite};

fn on_boot(place: &Place, boot: &str) -> Sqlite {
    Config::at(&place.path).unwrap().pretend(boot, ManualClock::new()).into_backend()
}

async fn acquire(backend: &Sqlite, number: u64) -> Outcome {
    let claim = Claim::new("client", number);
    let operation = Operation::Acquire { claim, under: Vec::new(), lease: Duration::from_secs(3600), stay: Stay::No };
    backend.apply_one(Kind::Reentrant, &key("k"), &operation, LEASE).await.unwrap()
}

async fn token(backend: &Sqlite, number: u64) -> Token {
    match acquire(backend, number).await {
        Outcome::Granted(grant) => grant.token,
        other => panic!("not granted: {other:?}"),
    }
}

/// Makes the file believe in tokens that the wall clock is far behind.
fn count_from(place: &Place, token: Token) {
    let set = "UPDATE meta SET value = ?1 WHERE name = 'watermark'";
    assert_eq!(place.peek().execute(set, [token.cast_signed()]).unwrap(), 1);
}

/// Until the last who lived in another boot is gone.
async fn reaches(backend: &Sqlite) {
    let began = std::time::Instant::now();
    while let Err(error) = backend.reach(LEASE).await {
        assert!(began.elapsed() < PATIENCE, "{error}");
        tokio::time::sleep(ms(5)).await;
    }
}

#[tokio::test]
async fn a_reboot_ends_every_lease_and_tokens_rise() {
    let place = Place::new();
    let before = on_boot(&place, "one");
    let first = token(&before, 1).await;
    assert!(matches!(acquire(&before, 2).await, Outcome::Busy(_)));
    drop(before);

    let after = on_boot(&place, "two");
    reaches(&after).await;
    let renew = Operation::Renew { claim: Claim::new("client", 1), lease: LEASE };
    assert_eq!(after.apply_one(Kind::Reentrant, &key("k"), &renew, LEASE).await.unwrap(), Outcome::NotHeld);
    assert!(token(&after, 2).await > first);
    drop(after);

    let same = on_boot(&place, "two");
    assert!(matches!(acquire(&same, 3).await, Outcome::Busy(_)), "the same boot goes on");
    assert_eq!(place.integrity(), "ok");
}

async fn apply(backend: &Sqlite, kind: Kind, name: &str, operation: Operation) -> Outcome {
    backend.apply_one(kind, &key(name), &operation, LEASE).await.unwrap()
}

fn acquiring(number: u64) -> Operation {
    let claim = Claim::new("client", number);
    Operation::Acquire { claim, under: Vec::new(), lease: Duration::from_secs(3600), stay: Stay::No }
}

fn taking(number: u64, permits: u32) -> Operation {
    let (claim, want) = (Claim::new("client", number), Want::Some(permits));
    Operation::Take { claim, want, of: None, lease: Duration::from_secs(3600), stay: Stay::No }
}

fn counting(counting: Counting) -> Operation {
    Operation::Count(counting)
}

/// What somebody has set, and what was counted, is there after a reboot; who held any of it is not.
#[tokio::test]
async fn what_is_kept_for_ever_is_kept_over_a_reboot() {
    let place = Place::new();
    let before = on_boot(&place, "one");
    let mut last = 0;
    for number in 1..=3 {
        let Outcome::Granted(grant) = apply(&before, Kind::Fenced, "fenced", acquiring(number)).await else {
            panic!("not granted: {number}")
        };
        if number < 3 {
            let release = Operation::Release {
                claim: Claim::new("client", number),
                left: 0,
                change: 0,
                lease: LEASE,
                keep: Duration::ZERO,
                cancel: None,
            };
            assert_eq!(apply(&before, Kind::Fenced, "fenced", release).await, Outcome::Released);
        } else {
            last = grant.token;
        }
    }
    assert!(matches!(
        apply(&before, Kind::Semaphore, "some", Operation::Supply(Supplying::Set(3))).await,
        Outcome::Supply(_)
    ));
    assert!(matches!(apply(&before, Kind::Semaphore, "some", taking(10, 2)).await, Outcome::Granted(_)));
    assert!(matches!(apply(&before, Kind::Latch, "latch", counting(Counting::Set(3))).await, Outcome::Latch(_)));
    let id = Counting::Down(Some(Claim::new("client", 20)));
    let Outcome::Latch(shut) = apply(&before, Kind::Latch, "latch", counting(id.clone())).await else { panic!() };
    assert_eq!(shut.count, 2);
    drop(before);

    let after = on_boot(&place, "two");
    reaches(&after).await;
    // Three are to be had, for the two that were taken came back with the boot.
    assert!(matches!(apply(&after, Kind::Semaphore, "some", taking(11, 3)).await, Outcome::Granted(_)));
    assert!(matches!(apply(&after, Kind::Semaphore, "some", taking(12, 1)).await, Outcome::Busy(_)));
    let Outcome::Latch(same) = apply(&after, Kind::Latch, "latch", counting(id)).await else { panic!() };
    assert_eq!((same.was, same.count, same.round), (2, 2, shut.round), "an id counts once, over a reboot too");
    let Outcome::Granted(grant) = apply(&after, Kind::Fenced, "fenced", acquiring(4)).await else {
        panic!("a boot ends every lease")
    };
    assert!(grant.token > last, "{} after {last}", grant.token);
    assert_eq!(place.integrity(), "ok");
}

/// A machine whose clock has lost its battery counts on from what it has written down, and over what it may have lost.
#[tokio::test]
async fn tokens_rise_over_a_reboot_with_a_wall_clock_that_is_behind() {
    let place = Place::new();
    let before = on_boot(&place, "one");
    before.reach(LEASE).await.unwrap();
    let ahead: Token = 1 << 52;
    count_from(&place, ahead);
    assert_eq!(token(&before, 1).await, ahead + 1);
    drop(before);
    // All that a power loss may take with it.
    count_from(&place, 0);
    let after = on_boot(&place, "two");
    reaches(&after).await;
    assert!(token(&after, 1).await > ahead + 1);
}

/// Only a token above the ceiling waits for the disk, and there is one in ten seconds at the most.
#[tokio::test]
async fn the_ceiling_is_above_every_token_and_seldom_raised() {
    let place = Place::new();
    let client = place.client().await;
    let lock = client.lock("k").unwrap();
    let began = std::time::Instant::now();
    let mut ceilings = std::collections::BTreeSet::new();
    for _ in 0..100 {
        let guard = lock.lock().await.unwrap();
        let ceiling: i64 =
            place.peek().query_row("SELECT value FROM meta WHERE name = 'ceiling'", [], |row| row.get(0)).unwrap();
        assert!(ceiling.cast_unsigned() > guard.token());
        ceilings.insert(ceiling);
        guard.release().await.unwrap();
    }
    assert!(ceilings.len() as u64 <= 1 + began.elapsed().as_secs().div_ceil(10), "{ceilings:?}");
}

/// Whatever a power loss leaves of what was not synced, the file is whole, nobody holds anything, and tokens rise.
#[tokio::test]
async fn a_power_loss_at_any_instant_is_got_over() {
    let place = Place::new();
    let before = on_boot(&place, "one");
    before.reach(LEASE).await.unwrap();
    count_from(&place, 1 << 52);
    // The first token raises the ceiling, and so is synced; nothing after it is.
    let mut largest = token(&before, 0).await;
    let synced = fs::metadata(beside(&place, "-wal")).unwrap().len();
    for number in 0..40 {
        let release = Operation::Release {
            claim: Claim::new("client", number),
            left: 0,
            change: 0,
            lease: LEASE,
            keep: Duration::ZERO,
            cancel: None,
        };
        let released = before.apply_one(Kind::Reentrant, &key("k"), &release, LEASE).await.unwrap();
        assert_eq!(released, Outcome::Released);
        largest = token(&before, number + 1).await;
    }
    let (file, log) = (fs::read(&place.path).unwrap(), fs::read(beside(&place, "-wal")).unwrap());
    let (synced, whole) = (usize::try_from(synced).unwrap(), log.len());
    assert!(synced < whole, "{synced} of {whole}");
    for cut in (synced..=whole).step_by(9973) {
        for torn in [&[][..], &[0; 2000], &[0xA5; 2000]] {
            let left = Place::new();
            fs::write(&left.path, &file).unwrap();
            fs::write(beside(&left, "-wal"), [&log[..cut], torn].concat()).unwrap();
            let after = on_boot(&left, "two");
            assert!(token(&after, 100).await > largest, "cut at {cut} of {whole}");
            assert_eq!(left.integrity(), "ok");
        }
    }
}

/// As when a container has a boot id of its own: whether its clock is ours nobody can tell, so it is not let in.
#[tokio::test]
async fn another_boot_is_refused_while_this_one_lives() {
    let place = Place::new();
    let ours = on_boot(&place, "ours");
    token(&ours, 1).await;
    let theirs = on_boot(&place, "theirs");
    let error = theirs.reach(LEASE).await.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Unsupported, "{error}");
    assert!(error.message.contains("another boot id"), "{error}");
    let more = on_boot(&place, "ours");
    assert!(matches!(acquire(&more, 2).await, Outcome::Busy(_)), "nothing was changed");
}

#[tokio::test]
async fn tokens_rise_over_a_file_that_was_removed() {
    let place = Place::new();
    let client = place.brief_client().await;
    let guard = client.lock("k").unwrap().lock().await.unwrap();
    remove(&place);
    // Its grant is gone, as with a server that was restarted empty, and it is told at the next renewal.
    soon("the holder is told", guard.lost()).await;
    let other = place.client().await;
    let later = other.lock("k").unwrap().try_lock().await.unwrap().expect("nobody holds it");
    assert!(later.token() > guard.token());
    assert_eq!(place.integrity(), "ok");
}

/// Two who have different files open would both hold the lock: everybody moves to the file that is at the path.
#[tokio::test]
async fn a_file_that_was_replaced_is_opened_anew() {
    let (place, other) = (Place::new(), Place::new());
    let (client, elsewhere) = (place.client().await, other.client().await);
    let first = client.lock("k").unwrap().lock().await.unwrap();
    first.release().await.unwrap();
    let held = elsewhere.lock("k").unwrap().lock().await.unwrap();
    // A copy as a backup would make it.
    other.peek().execute("VACUUM INTO ?1", [place.directory.path().join("copy").to_str().unwrap()]).unwrap();
    remove(&place);
    fs::rename(place.directory.path().join("copy"), &place.path).unwrap();
    assert!(client.lock("k").unwrap().try_lock().await.unwrap().is_none(), "as the copy says");
    drop(held);
}

#[tokio::test]
async fn wake_ups_come_again_when_their_directory_was_removed() {
    let place = Place::new();
    let (one, other) = (place.brief_client().await, place.brief_client().await);
    let mut fastest = Duration::MAX;
    for _ in 0..3 {
        let guard = one.lock("k").unwrap().lock().await.unwrap();
        // A bell that is hung between the last look and the end is in the way.
        let gone = || fs::remove_dir_all(beside(&place, "-wake")).is_ok();
        eventually("the directory is removed", PATIENCE, gone).await;
        let waiting = tokio::spawn({
            let lock = other.lock("k").unwrap();
            async move { lock.lock().await }
        });
        let bells = || fs::read_dir(beside(&place, "-wake")).map_or(0, Iterator::count);
        eventually("both have bells again", PATIENCE, || bells() == 2).await;
        eventually("it waits", PATIENCE, || waiters(&place) == 1).await;
        let released = std::time::Instant::now();
        guard.release().await.unwrap();
        soon("it gets in", waiting).await.unwrap().unwrap().release().await.unwrap();
        fastest = fastest.min(released.elapsed());
    }
    assert!(fastest < ms(500), "by itself it would have looked after a second: {fastest:?}");
}

/// A client that goes leaves neither its bell nor its place in line.
#[tokio::test]
async fn a_client_that_goes_takes_its_bell_down() {
    let place = Place::new();
    let holder = place.client().await;
    let guard = holder.lock("k").unwrap().lock().await.unwrap();
    let client: Client = place.client().await;
    assert!(client.lock("k").unwrap().lock_timeout(ms(100)).await.is_err());
    let bells = || fs::read_dir(beside(&place, "-wake")).unwrap().count();
    eventually("both have bells", PATIENCE, || bells() == 2).await;
    client.close(PATIENCE).await.unwrap();
    drop(client);
    eventually("one has", PATIENCE, || bells() == 1 && waiters(&place) == 0).await;
    guard.release().await.unwrap();
}

fn waiters(place: &Place) -> u32 {
    place.peek().query_row("SELECT count(*) FROM waiters", [], |row| row.get(0)).unwrap()
}

/// Removes the file and its log, as one who starts over would.
fn remove(place: &Place) {
    fs::remove_file(&place.path).unwrap();
    for end in ["-wal", "-shm"] {
        fs::remove_file(beside(place, end)).unwrap();
    }
}

fn beside(place: &Place, end: &str) -> std::path::PathBuf {
    format!("{}{end}", place.path.display()).into()
}
