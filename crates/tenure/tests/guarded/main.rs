//! Guarded writes against the real things: a Redis server, a cluster's node, SQLite.

mod redis;
mod sql;
