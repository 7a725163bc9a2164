//! Tenure on Redis: locks as one Lua script per operation, on the keys that Redisson uses.
//!
//! Users depend on the `tenure` crate and give it a `redis://` URL; [`Config`] is for those who bring a client of
//! their own.

mod backend;
mod calendar;
mod call;
mod channels;
mod config;
mod count;
mod driver;
mod error;
mod found;
mod layout;
mod lines;
mod links;
mod names;
mod redlock;
mod reply;
mod script;
mod settings;
mod wakeups;

pub use backend::Redis;
pub use config::Config;
pub use layout::Layout;
/// The driver, for [`Config::from_client`].
pub use redis;
pub use redlock::{Config as RedlockConfig, Redlock};
