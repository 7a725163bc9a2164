//! Tenure on MySQL and MariaDB: the row lock of `SELECT … FOR UPDATE`, with a lease, a token and every other kind of lock.
//!
//! Users depend on the `tenure` crate and give it a `mysql://` URL; [`InTransaction`] is for those who want a lock that ends
//! with a transaction of their own.

mod backend;
mod cards;
mod config;
mod desk;
mod error;
mod grip;
mod in_transaction;
mod joint;
mod link;
mod name;
mod notices;
mod rows;
mod schema;
mod session;
mod settings;
mod sheet;
mod sides;
mod steps;
mod sweep;
mod table;
mod turns;
mod waits;
mod wakeups;

pub use backend::MySql;
pub use config::Config;
pub use in_transaction::InTransaction;
/// The driver, for those who lock in transactions of their own.
pub use mysql_async;
pub use schema::SCHEMA;
