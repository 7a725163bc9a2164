//! The bare algorithm: the key is set on all servers at once, and deleted there if it is ours. No fencing, no watchdog, no
//! abstention, no wait: what a lock on a majority costs at the least.

use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, Cmd, IntoConnectionInfo, RedisResult, Script, Value};
use std::error::Error;

const UNLOCK: &str = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";

/// One multiplexed connection to each server, which knows the script.
#[derive(Clone)]
pub(crate) struct BareRedlock {
    connections: Vec<MultiplexedConnection>,
    unlock: String,
}

impl BareRedlock {
    pub(crate) async fn connect(urls: &[&str]) -> RedisResult<Self> {
        let (mut connections, unlock) = (Vec::new(), Script::new(UNLOCK));
        for url in urls {
            let tcp = redis::io::tcp::TcpSettings::default().set_nodelay(true);
            let client = Client::open(url.into_connection_info()?.set_tcp_settings(tcp))?;
            let config = AsyncConnectionConfig::new();
            let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
            unlock.prepare_invoke().load_async(&mut connection).await?;
            connections.push(connection);
        }
        Ok(Self { connections, unlock: unlock.get_hash().to_owned() })
    }

    /// One lock and one unlock.
    pub(crate) async fn cycle(&mut self, key: &str, owner: &str) -> Result<(), Box<dyn Error + Send + Sync>> {
        let mut set = redis::cmd("SET");
        set.arg(key).arg(owner).arg("NX").arg("PX").arg(30_000);
        self.majority(&set, &Value::Okay).await?;
        let mut free = redis::cmd("EVALSHA");
        free.arg(&self.unlock).arg(1).arg(key).arg(owner);
        self.majority(&free, &Value::Int(1)).await
    }

    /// Sends it to all, and waits until all have answered: the next cycle would find its own key on the slowest.
    async fn majority(&self, command: &Cmd, wanted: &Value) -> Result<(), Box<dyn Error + Send + Sync>> {
        let mut answers: FuturesUnordered<BoxFuture<'_, RedisResult<Value>>> = FuturesUnordered::new();
        for connection in &self.connections {
            let mut connection = connection.clone();
            answers.push(Box::pin(async move { command.query_async(&mut connection).await }));
        }
        let mut done = 0;
        while let Some(answer) = answers.next().await {
            done += usize::from(answer? == *wanted);
        }
        if done > self.connections.len() / 2 { Ok(()) } else { Err("no majority on a key of its own".into()) }
    }
}
