//! The connection on which a `RedisServer` talks to its own process.

use std::time::Duration;

use redis::{
    Client, Connection, ConnectionAddr, FromRedisValue, IntoConnectionInfo, RedisConnectionInfo, RedisResult, Value,
};

/// Opens a connection and makes sure that commands are served on it.
pub(super) fn connect(addr: ConnectionAddr, password: Option<&str>, patience: Duration) -> RedisResult<Connection> {
    // No library name: the kit must not show in the counters that tests read.
    let mut settings = RedisConnectionInfo::default().set_skip_set_lib_name();
    if let Some(password) = password {
        settings = settings.set_password(password);
    }
    let info = addr.into_connection_info()?.set_redis_settings(settings);
    let mut connection = Client::open(info)?.get_connection_with_timeout(patience)?;
    connection.set_read_timeout(Some(patience))?;
    // DBSIZE rather than PING: it is refused while a durable server loads its data.
    send::<Value>(&mut connection, &["DBSIZE"])?;
    Ok(connection)
}

/// Sends one command and reads its reply.
pub(super) fn send<T: FromRedisValue>(connection: &mut Connection, words: &[&str]) -> RedisResult<T> {
    let (name, rest) = words.split_first().expect("a command has a name");
    redis::cmd(name).arg(rest).query(connection)
}
