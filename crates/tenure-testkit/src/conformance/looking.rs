//! Looking at locks: one's own and those of others.

use super::bench::{Bench, millis, unrenewed};
use super::case::cases;
use super::waiting::eventually;
use std::time::{Duration, Instant};
use tenure_core::{Client, Guard, Lock};

cases!("looking":
    a_free_lock_shows_nobody,
    a_held_lock_shows_its_holder,
    a_lock_shows_what_is_left_of_its_lease,
    a_listing_finds_what_is_held,
    a_question_mark_is_one_character,
    what_is_special_elsewhere_is_taken_literally,
    a_prefix_goes_before_every_key,
    a_prefix_is_taken_literally,
);

async fn a_free_lock_shows_nobody(bench: &Bench) {
    let lock = bench.lock("a").await;
    assert!(!lock.is_locked().await.unwrap());
    assert_eq!(lock.inspect().await.unwrap(), None);
    bench.assert_nothing_left().await;
}

async fn a_held_lock_shows_its_holder(bench: &Bench) {
    let (one, other) = (bench.lock("a").await, bench.lock("a").await);
    let (guard, began) = (one.lock().await.unwrap(), Instant::now());
    eventually("the holder has left its card", async || other.inspect().await.unwrap().unwrap().card().is_some()).await;
    for lock in [&one, &other] {
        assert!(lock.is_locked().await.unwrap());
        let held = lock.inspect().await.unwrap().expect("it is held");
        assert_eq!(held.key, *one.key());
        let holder = held.holder();
        assert_eq!((&holder.claim, holder.count, holder.token), (guard.claim(), 1, Some(guard.token())));
        assert!(holder.remaining.unwrap() <= Duration::from_secs(30));
        let (held_for, elapsed) = (holder.held_for.expect("a token tells since when"), began.elapsed());
        assert!(held_for <= elapsed + millis(500), "{held_for:?} after {elapsed:?}");
        let card = held.card().expect("it was there before");
        assert_eq!((card.pid, &*card.label), (std::process::id(), "conformance"));
        assert!(!card.host.is_empty());
    }
}

async fn a_lock_shows_what_is_left_of_its_lease(bench: &Bench) {
    let (lock, began) = (bench.lock("a").await, Instant::now());
    let guard = lock.lock_with(unrenewed(3000)).await.unwrap();
    let remaining = async || lock.inspect().await.unwrap().unwrap().holder().remaining.expect("the lease has an end");
    let first = remaining().await;
    assert!(first <= millis(3000) && first + began.elapsed() >= millis(2998), "{first:?}");
    eventually("it gets less", async || remaining().await + millis(50) < first).await;
    drop(guard);
}

/// Holds these keys and a few that do not belong.
async fn hold(bench: &Bench, client: &Client, names: &[&str]) -> Vec<Guard> {
    let mut guards = Vec::new();
    for name in names {
        guards.push(client.lock_of(bench.kind(), &bench.key(name)).unwrap().lock().await.unwrap());
    }
    guards
}

/// What a listing finds, without what all keys of the case begin with.
async fn listed(bench: &Bench, client: &Client, pattern: &str) -> Vec<String> {
    let found = client.list(&bench.key(pattern)).await.unwrap();
    let start = bench.key("");
    found.iter().map(|held| held.key.as_str().strip_prefix(&start).expect("it matches").to_owned()).collect()
}

async fn a_listing_finds_what_is_held(bench: &Bench) {
    let (one, other) = (bench.client().await, bench.client().await);
    let mut mine = hold(bench, &one, &["order:1", "order:22"]).await;
    let _theirs = hold(bench, &other, &["order:3", "invoice:1"]).await;
    let free: Lock = one.lock_of(bench.kind(), &bench.key("order:free")).unwrap();
    free.lock().await.unwrap().release().await.unwrap();
    assert_eq!(listed(bench, &one, "*").await, ["invoice:1", "order:1", "order:22", "order:3"]);
    assert_eq!(listed(bench, &one, "order:*").await, ["order:1", "order:22", "order:3"]);
    assert_eq!(listed(bench, &one, "*:1").await, ["invoice:1", "order:1"]);
    assert_eq!(listed(bench, &one, "order:1").await, ["order:1"]);
    assert_eq!(listed(bench, &one, "nothing*").await, [""; 0]);
    mine.truncate(1);
    eventually("a dropped guard's lock is not listed", async || {
        listed(bench, &one, "order:*").await == ["order:1", "order:3"]
    })
    .await;
    let found = one.list(&bench.key("order:1")).await.unwrap();
    assert_eq!(found[0].holder().claim, *mine[0].claim());
    assert_eq!(found[0].card().map(|card| card.pid), Some(std::process::id()));
}

async fn a_question_mark_is_one_character(bench: &Bench) {
    let client = bench.client().await;
    let _guards = hold(bench, &client, &["q", "q1", "q12", "qü"]).await;
    assert_eq!(listed(bench, &client, "q?").await, ["q1", "qü"]);
    assert_eq!(listed(bench, &client, "q??").await, ["q12"]);
    assert_eq!(listed(bench, &client, "?1*").await, ["q1", "q12"]);
}

async fn what_is_special_elsewhere_is_taken_literally(bench: &Bench) {
    let client = bench.client().await;
    let names = ["[ab]", "a", "b", "^", "\\a", "{tag}", "a-c", "x y", "%41", "$1"];
    let _guards = hold(bench, &client, &names).await;
    for name in names {
        assert_eq!(listed(bench, &client, name).await, [name]);
    }
    assert_eq!(listed(bench, &client, "[*").await, ["[ab]"]);
    assert_eq!(listed(bench, &client, "*]").await, ["[ab]"]);
    assert_eq!(listed(bench, &client, "[a-b]").await, [""; 0]);
    assert_eq!(listed(bench, &client, "\\?").await, ["\\a"]);
}

async fn a_prefix_goes_before_every_key(bench: &Bench) {
    let (plain, prefixed) = (bench.client().await, bench.client_with_prefix("p:").await);
    let guard = prefixed.lock("a").unwrap().lock().await.unwrap();
    let _other = hold(bench, &plain, &["a", "q:a"]).await;
    assert_eq!(guard.key().as_str(), bench.key("p:a"));
    assert!(plain.lock_of(bench.kind(), &bench.key("p:a")).unwrap().is_locked().await.unwrap());
    let found = prefixed.list("*").await.unwrap();
    assert_eq!(found.iter().map(|held| &held.key).collect::<Vec<_>>(), [guard.key()]);
}

/// Whatever a prefix is made of, a client lists what begins with it, and nothing of its neighbours.
async fn a_prefix_is_taken_literally(bench: &Bench) {
    let plain = bench.client().await;
    let _theirs = hold(bench, &plain, &["p:a1", "pq:a1", ":a1"]).await;
    for prefix in ["*:", "?:", "[p]:", "\\:", "\\*:"] {
        let prefixed = bench.client_with_prefix(prefix).await;
        let mine = prefixed.lock("a1").unwrap().lock().await.unwrap();
        for pattern in ["*", "a1", "a?", "*1"] {
            let found = prefixed.list(pattern).await.unwrap();
            let found: Vec<_> = found.iter().map(|held| &held.key).collect();
            assert_eq!(found, [mine.key()], "`{pattern}` behind `{prefix}`");
        }
        assert!(prefixed.list("b*").await.unwrap().is_empty());
    }
}
