//! Five servers under load: faults that come and go, a majority that is away, long holds, and many turns.

#[path = "../majority/mod.rs"]
mod majority;
#[path = "../support/mod.rs"]
mod support;

mod away;
mod keeping;
mod phases;
mod turns;
