//! Leases as the server keeps them: of the holds of one call each is renewed for as long as it asked, and hears of itself.

use crate::support::{PATIENCE, backend, claim, client_of, ms};
use std::time::Duration;
use tenure_core::{Applied, Backend, Batch, Claim, Key, Kind, Operation, Options, Outcome, Stay, Step};
use tenure_testkit::RedisServer;

/// Five holds with five leases, of which the second and the fourth are gone.
async fn each_hears_of_itself(kinds: [(Kind, bool); 5]) {
    let server = RedisServer::start();
    let backend = backend(&server.url());
    let mut renewals = Vec::new();
    for (n, (kind, nested)) in (0u64..).zip(kinds) {
        let key = Key::new(&format!("k{n}")).unwrap();
        let claim = if nested { Claim::nested(claim(n).client(), n) } else { claim(n) };
        let acquire = Operation::Acquire { claim: claim.clone(), under: Vec::new(), lease: ms(5_000), stay: Stay::No };
        let taken = backend.apply_one(kind, &key, &acquire, PATIENCE).await.unwrap();
        assert!(matches!(taken, Outcome::Granted(_)), "{taken:?}");
        renewals.push(Step::new(kind, &key, Operation::Renew { claim, lease: ms(10_000 * (n + 1)) }));
    }
    // One is free, and one is somebody else's by now.
    server.command(&["DEL", "k1", "k3"]);
    let somebody = Operation::Acquire { claim: claim(99), under: Vec::new(), lease: ms(5_000), stay: Stay::No };
    backend.apply_one(kinds[3].0, &renewals[3].key, &somebody, PATIENCE).await.unwrap();
    let expected =
        [true, false, true, false, true].map(|held| Ok(if held { Outcome::Renewed } else { Outcome::NotHeld }));
    let renewed = backend.apply(Batch::each(&renewals), PATIENCE).await.unwrap();
    assert_eq!(renewed, Applied::Each(expected.to_vec()));
    for (n, lease) in [(0, 10_000), (2, 30_000), (4, 50_000)] {
        let left = Duration::from_millis(server.pttl(&format!("k{n}")).try_into().unwrap());
        assert!(left <= ms(lease) && left > ms(lease - 5_000), "k{n} lasts {left:?}, it asked for {lease} ms");
    }
    assert_eq!(server.pttl("k1"), -2);
    assert!(server.pttl("k3") <= 5_000, "somebody else's was made to last");
}

#[tokio::test]
async fn each_hold_of_a_batch_hears_of_itself() {
    each_hears_of_itself([(Kind::Reentrant, false); 5]).await;
    each_hears_of_itself([(Kind::Reentrant, true); 5]).await;
    each_hears_of_itself([(Kind::Simple, false); 5]).await;
}

/// Each sort of claim has a script of its own, so that one batch is three calls.
#[tokio::test]
async fn each_hold_of_a_mixed_batch_hears_of_itself() {
    let (reentrant, nested, simple) = ((Kind::Reentrant, false), (Kind::Reentrant, true), (Kind::Simple, false));
    each_hears_of_itself([reentrant, simple, nested, reentrant, simple]).await;
    each_hears_of_itself([simple, nested, reentrant, nested, reentrant]).await;
}

/// Whose a lock was is worth knowing for as long as it stays taken, and no longer.
#[tokio::test]
async fn the_card_of_a_client_that_is_gone_ends_with_the_lock_that_it_keeps() {
    let server = RedisServer::start();
    for (at_least, card_lasts) in [(None, false), (Some(ms(600_000)), true)] {
        let client = client_of(&server).await;
        let mut options = Options::new();
        if let Some(at_least) = at_least {
            options = options.at_least(at_least);
        }
        client.lock("k").unwrap().lock_with(options).await.unwrap().release().await.unwrap();
        let card = format!("tenure:client:{}", client.id());
        client.close(PATIENCE).await.unwrap();
        let (lock, card) = (server.pttl("k"), server.pttl(&card));
        if card_lasts {
            // The one was read a little before the other.
            assert!((lock - 500..lock + 5_000).contains(&card), "the lock lasts {lock} ms and the card {card} ms");
        } else {
            assert_eq!((lock, card), (-2, -2), "it was released, and nothing is left");
        }
    }
}
