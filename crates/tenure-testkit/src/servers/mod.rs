//! Real server processes for tests: each on its own port of 127.0.0.1, gone when dropped.

mod certificates;
mod mariadb;
mod mariadb_builder;
mod mariadb_control;
mod mariadb_template;
#[cfg(test)]
mod mariadb_tests;
pub(crate) mod port;
mod process;
mod redis;
mod redis_builder;
mod redis_control;
#[cfg(test)]
mod tests;

pub use self::mariadb::{MariaDbServer, Session};
pub use self::mariadb_builder::MariaDbServerBuilder;
pub use self::redis::RedisServer;
pub use self::redis_builder::RedisServerBuilder;
