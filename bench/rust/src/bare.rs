//! The bare client: a re-entrant lock script and its unlock script with a publish, and nothing else. No fencing, no
//! watchdog, no cancel safety, no wait: what a lock costs at the least.

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, IntoConnectionInfo, RedisResult, Script};

const LOCK: &str = "
if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
  redis.call('hincrby', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
return redis.call('pttl', KEYS[1])";

const UNLOCK: &str = "
if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
  return nil
end
local counter = redis.call('hincrby', KEYS[1], ARGV[2], -1)
if counter > 0 then
  redis.call('pexpire', KEYS[1], ARGV[1])
  return 0
end
redis.call('del', KEYS[1])
redis.call('publish', KEYS[2], '0')
return 1";

/// One multiplexed connection and two scripts the server knows.
#[derive(Clone)]
pub(crate) struct Bare {
    connection: MultiplexedConnection,
    lock: String,
    unlock: String,
}

impl Bare {
    pub(crate) async fn connect(url: &str) -> RedisResult<Self> {
        let info = url.into_connection_info()?;
        let tcp = redis::io::tcp::TcpSettings::default().set_nodelay(true);
        let client = Client::open(info.set_tcp_settings(tcp))?;
        let config = AsyncConnectionConfig::new();
        let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
        let (lock, unlock) = (Script::new(LOCK), Script::new(UNLOCK));
        lock.prepare_invoke().load_async(&mut connection).await?;
        unlock.prepare_invoke().load_async(&mut connection).await?;
        Ok(Self { connection, lock: lock.get_hash().to_owned(), unlock: unlock.get_hash().to_owned() })
    }

    /// One lock and one unlock.
    pub(crate) async fn cycle(&mut self, key: &str, channel: &str, owner: &str) -> RedisResult<()> {
        let taken: Option<i64> = redis::cmd("EVALSHA")
            .arg(&self.lock)
            .arg(1)
            .arg(key)
            .arg(30_000)
            .arg(owner)
            .query_async(&mut self.connection)
            .await?;
        assert!(taken.is_none(), "the bare client met somebody on a key of its own");
        let freed: Option<i64> = redis::cmd("EVALSHA")
            .arg(&self.unlock)
            .arg(2)
            .arg(key)
            .arg(channel)
            .arg(30_000)
            .arg(owner)
            .query_async(&mut self.connection)
            .await?;
        assert_eq!(freed, Some(1));
        Ok(())
    }
}
