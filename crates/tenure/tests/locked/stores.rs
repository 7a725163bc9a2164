//! The stores that everything is tried on.

use std::future::Future;
use tenure::{Client, Memory, Store};
use tenure_testkit::RedisServer;

/// One store, which ends with this.
pub(crate) struct Place {
    /// Of a store that has one.
    url: Option<String>,
    memory: Memory,
    pub(crate) redis: Option<RedisServer>,
    _home: tempfile::TempDir,
}

impl Place {
    /// Another client of the store.
    pub(crate) async fn client(&self) -> Client {
        let store: Store = match &self.url {
            Some(url) => tenure::store(url).expect("a url"),
            None => self.memory.clone().into(),
        };
        Client::builder().connect(store).await.expect("the store can be reached")
    }
}

/// Does something on every store, one after the other.
pub(crate) async fn on_every_store<F: Future<Output = ()>>(mut case: impl FnMut(Place) -> F) {
    for name in ["memory", "sqlite", "redis"] {
        println!("on {name}");
        let home = tempfile::tempdir().expect("a directory for the store");
        let redis = (name == "redis").then(RedisServer::start);
        let url = match (name, &redis) {
            (_, Some(server)) => Some(server.url()),
            ("sqlite", _) => Some(format!("sqlite:{}", home.path().join("locks.db").display())),
            _ => None,
        };
        case(Place { url, memory: Memory::new(), redis, _home: home }).await;
    }
}
