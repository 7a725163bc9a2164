//! Real server processes for tests: each on its own port of 127.0.0.1, gone when dropped.

mod certificates;
pub(crate) mod port;
mod process;
mod redis;
mod redis_builder;
mod redis_control;
#[cfg(test)]
mod tests;

pub use self::redis::RedisServer;
pub use self::redis_builder::RedisServerBuilder;
