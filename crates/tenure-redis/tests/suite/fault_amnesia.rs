//! The server comes back empty: exclusion cannot be kept, but whoever held is told at first contact, and tokens rise.

use crate::support::{self, Contention, PATIENCE, backend, client, ms, soon};
use std::time::{Duration, Instant};
use tenure_core::{Client, ErrorKind, Kind, Loss, Options, Release};
use tenure_testkit::RedisServer;
use tenure_testkit::history::boottime_now;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_rise_over_restarts_that_forget() {
    let server = RedisServer::start();
    let (one, two) = (client(&server.url()).await, client(&server.url()).await);
    let contention = Contention::start(&[&one, &two]);
    for _ in 0..3 {
        contention.all_get_in(PATIENCE).await;
        contention.linger(&[0, 1]).await;
        let before = boottime_now();
        server.restart();
        // Whoever was in stays, and somebody else gets in: that it does may be before the first is told.
        contention.next_gets_in(before, ms(2500)).await;
        contention.move_on();
    }
    let (report, tally) = contention.end().await;
    eprintln!("overlaps after restarts that forget, which are allowed: {}", report.overlaps.len());
    assert!(report.inversions.is_empty(), "tokens do not rise\n{report}");
    // By `lost()`, or by the release if that comes first.
    assert!(tally.losses.iter().all(|(_, why)| matches!(why, Loss::Gone | Loss::LeaseEnded)), "{:?}", tally.losses);
    assert!(tally.errors.iter().all(|error| error.kind() == ErrorKind::Lost), "{:?}", tally.errors);
    let told = tally.losses.len() + tally.errors.len();
    assert!(told >= 3, "{told} of at least 3 who were in were told");
}

/// With a lease of 30 s that is renewed every 10 s, only a prompt look after the reconnect can tell the holder.
async fn holders_are_told(down: Duration) {
    let server = RedisServer::start();
    let options = Options::new().lease(Duration::from_secs(30)).renew_every(Duration::from_secs(10));
    let client = Client::builder().options(options).connect(backend(&server.url())).await.unwrap();
    let final_lease = Options::new().lease(Duration::from_secs(30)).no_renew();
    let guards = [
        client.lock("a").unwrap().lock().await.unwrap(),
        client.lock("b").unwrap().lock().await.unwrap(),
        client.lock("c").unwrap().lock_with(final_lease).await.unwrap(),
    ];
    support::eventually("the client listens", PATIENCE, || support::connections(&server, "pubsub") == 1).await;
    // Long enough for the client to know which server it is talking to.
    tokio::time::sleep(ms(100)).await;
    server.kill();
    tokio::time::sleep(down).await;
    server.restart();
    let up = Instant::now();
    for guard in &guards {
        let why = soon("it is told", guard.lost()).await;
        assert!(matches!(why, Loss::Gone | Loss::LeaseEnded), "{why:?}");
    }
    eprintln!("down for {down:?}, told {:?} after it was up", up.elapsed());
    assert!(up.elapsed() < ms(5000), "told after {:?}", up.elapsed());
    let again = soon("it gets in again", client.lock("a").unwrap().lock()).await.unwrap();
    assert!(again.token() > guards[0].token());
    for guard in guards {
        assert!(guard.release().await.is_err());
    }
}

#[tokio::test]
async fn holders_are_told_at_first_contact_after_a_short_outage() {
    holders_are_told(Duration::ZERO).await;
}

#[tokio::test]
async fn holders_are_told_at_first_contact_after_a_longer_outage() {
    holders_are_told(ms(1500)).await;
}

/// Whoever lost its lock that way takes it again, and that hold is renewed like any other.
#[tokio::test]
async fn holds_after_a_restart_that_forgot_are_renewed() {
    let server = RedisServer::start();
    let options = Options::new().lease(ms(1000));
    let client = Client::builder().options(options).connect(backend(&server.url())).await.unwrap();
    let take_all = async || {
        let mut guards = Vec::new();
        for kind in [Kind::Reentrant, Kind::Simple, Kind::Fair, Kind::Read, Kind::Write] {
            let lock = client.lock_of(kind, &kind.to_string()).unwrap();
            guards.push(soon("it gets in", lock.lock()).await.unwrap());
        }
        guards
    };
    let lost = take_all().await;
    server.restart();
    for guard in lost {
        soon("it is told", guard.lost()).await;
        assert_eq!(guard.release().await.unwrap_err().kind(), ErrorKind::Lost);
    }
    let renewed = take_all().await;
    let began = Instant::now();
    support::eventually("more than two leases are over", PATIENCE, || began.elapsed() > ms(2500)).await;
    for guard in renewed {
        assert!(guard.is_held(), "{guard:?}");
        assert_eq!(guard.release().await.unwrap(), Release::Released);
    }
}
