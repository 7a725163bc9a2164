//! The command as people use it, on every store. In one program, because to link one takes longer than to run it.

#[path = "../support/mod.rs"]
mod support;

mod commands;
mod counting;
mod exit_codes;
mod gate;
mod kinds;
mod loss;
mod mysql;
mod one_key;
mod policy;
mod redlock;
mod run;
mod signals;
mod terminal;
mod typed;
