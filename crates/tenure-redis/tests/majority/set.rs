//! Servers that know nothing of each other, and clients of a majority of them.

use crate::support::{acquire, backend};
use std::time::Duration;
use tenure_core::{Backend, Client, Key, Kind, Options, Outcome};
use tenure_redis::{Redlock, RedlockConfig};
use tenure_testkit::{FaultProxy, RedisServer};

/// As long as a server abstains that was restarted.
pub(crate) const LEASE: Duration = Duration::from_secs(2);
/// A bound on whatever must happen at all, wide enough for a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Set {
    pub(crate) servers: Vec<RedisServer>,
    /// Between the clients and the first of the servers.
    pub(crate) proxies: Vec<FaultProxy>,
}

impl Set {
    pub(crate) fn start(count: usize) -> Self {
        Self::behind_proxies(count, 0)
    }

    /// So many servers, and so many of them behind a proxy.
    pub(crate) fn behind_proxies(count: usize, proxied: usize) -> Self {
        let servers: Vec<RedisServer> = (0..count).map(|_| RedisServer::start()).collect();
        let proxies = servers[..proxied].iter().map(|server| FaultProxy::start(server.addr())).collect();
        Self { servers, proxies }
    }

    /// A backend for leases of this length at the most.
    fn backend(&self, max_lease: Duration) -> Redlock {
        let direct = self.servers[self.proxies.len()..].iter().map(RedisServer::url);
        let urls: Vec<String> = self.proxies.iter().map(FaultProxy::url).chain(direct).collect();
        let url = format!("redlock:{}?max_lease={}s", urls.join(","), max_lease.as_secs());
        RedlockConfig::from_url(&url).unwrap().into_backend()
    }

    pub(crate) async fn client(&self) -> Client {
        self.client_for(LEASE).await
    }

    /// A client whose leases are so long, and servers that abstain for as long.
    pub(crate) async fn client_for(&self, lease: Duration) -> Client {
        Client::builder().options(Options::new().lease(lease)).connect(self.backend(lease)).await.unwrap()
    }

    /// How many servers have the key.
    pub(crate) fn spread(&self, key: &str) -> usize {
        self.servers.iter().filter(|server| !server.keys(key).is_empty()).count()
    }

    /// Until a server that was restarted votes again, by the account of each of these clients: they get a lock that a
    /// stranger has on as many of the other servers as leaves no majority without this one.
    pub(crate) async fn until_votes(&self, at: usize, clients: &[Client]) {
        let key = Key::new(&format!("vote of {at}")).unwrap();
        let minority = self.servers.len() / 2;
        let others = self.servers.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, server)| server);
        let taken: Vec<&RedisServer> = others.take(minority).collect();
        for server in &taken {
            let stranger = backend(&server.url());
            let granted = stranger.apply_one(Kind::Reentrant, &key, &acquire(1), PATIENCE).await.unwrap();
            assert!(matches!(granted, Outcome::Granted(_)), "{granted:?}");
        }
        for client in clients {
            let lock = client.lock(key.as_str()).unwrap();
            lock.lock_timeout(PATIENCE).await.expect("it votes again").release().await.unwrap();
        }
        for server in taken {
            server.command(&["DEL", key.as_str()]);
        }
    }
}
