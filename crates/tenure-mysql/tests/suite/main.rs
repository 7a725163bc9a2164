//! A real MariaDB server, and what becomes of locks in it. In one program, because to link one takes longer than to run it.

#[path = "../support/mod.rs"]
mod support;

mod abandoned;
mod access;
mod cancel;
mod cap;
mod crowds;
mod faults;
mod first_comers;
mod in_transaction;
mod keys;
mod reused;
mod strange_servers;
mod sweep;
mod tls;
mod tokens;
