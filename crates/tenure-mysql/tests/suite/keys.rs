//! Whatever a key looks like, it is a key of its own, and nothing but a key.

use crate::support::{client_of, gets_in};
use tenure_core::{Client, Guard, Kind};
use tenure_testkit::MariaDbServer;

fn keys() -> Vec<String> {
    let mut keys: Vec<String> = [
        "'; DROP TABLE tenure_rows; --",
        "\"; DROP TABLE tenure_locks; #",
        "' OR '1'='1",
        "`tenure`",
        "\\",
        "\\'",
        "%",
        "_",
        "?",
        ":name",
        "k",
        "K",
        "k ",
        " k",
        "k\t",
        "k\n",
        "k\0",
        "k\0\0",
        "\0",
        "ä",
        "a\u{308}",
        "Ä",
        "ß",
        "ss",
        "\u{ff}",
        "\u{10ffff}",
        "\u{feff}k",
        "ｋ",
        "😀",
        "💣{a}*?[x]",
        "NULL",
        "0",
        "00",
        "0x6b",
    ]
    .map(str::to_owned)
    .into();
    for length in [254, 255, 256, 257, 1023] {
        keys.push("x".repeat(length));
    }
    // These differ in the last byte alone.
    keys.extend([format!("{}a", "x".repeat(1023)), format!("{}b", "x".repeat(1023))]);
    // 255 bytes and 256, the last of which would be cut in half.
    keys.extend([format!("{}é", "y".repeat(253)), format!("{}é", "y".repeat(254))]);
    keys
}

async fn are_all_apart(server: &MariaDbServer, kind: Kind) {
    let (client, other): (Client, Client) = (client_of(server).await, client_of(server).await);
    let keys = keys();
    let mut guards: Vec<Guard> = Vec::new();
    for key in &keys {
        let lock = client.lock_of(kind, key).unwrap();
        let guard = lock.try_lock().await.unwrap().unwrap_or_else(|| panic!("{key:?} is taken for another"));
        assert_eq!(guard.key().as_str(), key);
        guards.push(guard);
    }
    for key in &keys {
        let lock = other.lock_of(kind, key).unwrap();
        assert!(lock.try_lock().await.unwrap().is_none(), "{key:?}");
        let held = lock.inspect().await.unwrap().unwrap_or_else(|| panic!("{key:?} is not seen"));
        assert_eq!((held.key.as_str(), held.kind), (key.as_str(), kind));
    }
    let mut listed: Vec<String> = other.list("*").await.unwrap().iter().map(|held| held.key.to_string()).collect();
    let mut expected = keys.clone();
    listed.sort();
    expected.sort();
    assert_eq!(listed, expected);
    for guard in guards {
        assert!(guard.is_held());
        guard.release().await.unwrap();
    }
    for key in &keys {
        let guard = other.lock_of(kind, key).unwrap().try_lock().await.unwrap();
        guard.unwrap_or_else(|| panic!("{key:?} is not free")).release().await.unwrap();
    }
    assert!(other.list("*").await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_key_is_a_lock_of_its_own() {
    let server = MariaDbServer::start();
    are_all_apart(&server, Kind::Reentrant).await;
    are_all_apart(&server, Kind::Fair).await;
}

/// A pattern means what it says, and a prefix is part of the key.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn patterns_and_prefixes_are_no_part_of_sql() {
    let server = MariaDbServer::start();
    let plain = client_of(&server).await;
    let prefixed = Client::builder().prefix("%_'").connect(crate::support::backend(&server.url())).await.unwrap();
    let _held = [gets_in(&plain, "abc").await, gets_in(&plain, "a%c").await, gets_in(&prefixed, "abc").await];
    let listed = async |pattern: &str| -> Vec<String> {
        plain.list(pattern).await.unwrap().iter().map(|held| held.key.to_string()).collect()
    };
    assert_eq!(listed("a%c").await, ["a%c"]);
    assert_eq!(listed("%_'*").await, ["%_'abc"]);
    assert_eq!(listed("' OR 1=1 --").await, [""; 0]);
}
