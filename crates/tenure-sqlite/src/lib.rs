//! Tenure in one SQLite file: locks between the processes of one machine, with nothing to install.
//!
//! Users depend on the `tenure` crate and give it a `sqlite:` URL; [`Config`] is for those who have a path.

#[cfg(not(target_os = "linux"))]
compile_error!("tenure-sqlite needs a boot id and a clock that all processes share, which it knows only on linux");

mod actor;
mod backend;
mod bells;
mod cards;
mod config;
mod desk;
mod error;
mod file;
mod line;
mod locks;
mod machine;
mod parts;
mod patience;
mod place;
mod schema;
mod sweep;
mod ticket;
mod unrung;
mod wakeups;

pub use backend::Sqlite;
pub use config::Config;
