//! The fenced Redlock as a state machine: three nodes, two clients, one key, integer time.
//!
//! What is abstracted, and why nothing is lost by it:
//!
//! - A reply is filed with the client in the same step in which the node answers. The client acts on it in a later step
//!   of its own ([`Action::Collect`], [`Action::Grant`], [`Action::Renew`]), so a slow reply is a late step, and a lost
//!   one is a reply that `Collect` leaves out.
//! - While an attempt lasts, each of its requests can reach each node at any time, in any order, any number of times or
//!   never: a client may send again, and the network may lose, delay, reorder and double. So no request of a live
//!   attempt needs to be kept. Of a dead attempt one request may still arrive (`Node::late`); how many in a run is
//!   bounded.
//! - A release of a dead attempt can reach each node at any time or never, in the same way.
//! - A crashed client is one that takes no further step.
//! - One tick of real time is [`UNIT`] units of server time: many tokens fit into a tick, as they do into real time.

// The larger bounds use a part of this.
#![allow(dead_code, unused_imports)]

mod rules;
mod state;
mod steps;

pub(crate) use rules::{Abstain, Rules, Source};
pub(crate) use state::Action;

/// Number of nodes, and the least number of them that are more than half.
pub(crate) const NODES: usize = 3;
pub(crate) const QUORUM: usize = 2;
pub(crate) const CLIENTS: usize = 2;
/// Guards that the other client can get during one attempt, at most.
pub(crate) const RIVALS: usize = 3;
/// Units of server time in a tick: the resolution of a token.
pub(crate) const UNIT: u8 = 4;

/// Tokens rise with the real time of guards, and no two guards share one.
pub(crate) const ORDERED: &str = "tokens are ordered";
/// No two guards are valid at the same time.
pub(crate) const EXCLUSIVE: &str = "guards exclude";
/// A valid guard is the holder on a majority of nodes.
pub(crate) const BACKED: &str = "guards are backed";
/// A guard follows a guard of the other client.
pub(crate) const IN_TURN: &str = "guards in turn";
/// A guard is granted after the restart.
pub(crate) const AFTER_RESTART: &str = "guard after restart";
/// A guard is granted after the jump.
pub(crate) const AFTER_JUMP: &str = "guard after jump";
/// A guard is extended.
pub(crate) const EXTENDED: &str = "guard extended";
