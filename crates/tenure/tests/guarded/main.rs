//! Guarded writes against the real things: a Redis server, a cluster's node, SQLite, MariaDB.

mod mysql;
mod redis;
mod sql;
