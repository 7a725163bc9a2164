//! What a run may contain, and which rules the protocol keeps in it.

use super::{EXCLUSIVE, IN_TURN, NODES, ORDERED};

/// Where the token comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Two phases: collect the watermarks, then stamp. The right one.
    Stamped,
    /// One phase: each node counts its own grants, the token is the largest count. Planted.
    Counters,
}

/// How the client knows that a node has forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Abstain {
    /// It does not care. Planted.
    Never,
    /// The run id differs from the one this client saw before. Planted when alone.
    RunId,
    /// The uptime that the node reports is below the longest lease.
    Uptime,
    /// Either of the two.
    Both,
}

impl Abstain {
    pub(super) fn by_run_id(self) -> bool {
        matches!(self, Self::RunId | Self::Both)
    }

    pub(super) fn by_uptime(self) -> bool {
        matches!(self, Self::Uptime | Self::Both)
    }
}

/// What the run may contain and which rules the protocol keeps. The default is the right protocol without faults.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each one is a rule that a planted variant leaves out")]
pub(crate) struct Rules {
    /// The last tick of the run.
    pub(crate) end: u8,
    /// The lease, which is also the longest lease that any client may take.
    pub(crate) lease: u8,
    /// What the client takes off the lease for clocks of unequal speed.
    pub(crate) drift: u8,
    /// Attempts, of both clients together.
    pub(crate) attempts: u8,
    /// Extensions, of both clients together.
    pub(crate) extensions: u8,
    /// Requests that outlive their attempt, in the whole run.
    pub(crate) late: u8,
    /// How far each node's clock is ahead from the start.
    pub(crate) skew: [u8; NODES],
    /// How far one node's clock jumps, once. 0: never.
    pub(crate) jump: u8,
    /// Whether each node's clock gains one tick, once.
    pub(crate) fast: bool,
    /// How long an amnesiac restart takes, once, on one node. 0: none happens.
    pub(crate) downtime: u8,
    pub(crate) source: Source,
    /// A token is not below the largest server time among the counted grants.
    pub(crate) timed: bool,
    pub(crate) abstain: Abstain,
    /// A stamp needs the claim to be the holder.
    pub(crate) holder_check: bool,
    /// A stamp needs a token above the watermark, or to be there already; an extension one not below it.
    pub(crate) watermark_check: bool,
    /// A stamp counts only on a node whose grant went into the token. Not needed, and no substitute.
    pub(crate) stamp_chosen: bool,
    /// An extension writes the token, and raises the watermark to it.
    pub(crate) extend_token: bool,
    /// An extension counts only if its replies are in before the deadline it is to move.
    pub(crate) extend_in_time: bool,
    /// An extension leaves out the votes of abstaining nodes, as an attempt does.
    pub(crate) extend_abstains: bool,
    /// An extension that found no majority leaves the hold as it is.
    pub(crate) extend_gently: bool,
    /// The lease runs from the time before the first request.
    pub(crate) from_start: bool,
    /// The properties to check.
    pub(crate) check: Vec<&'static str>,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            end: 5,
            lease: 2,
            drift: 0,
            attempts: 3,
            extensions: 0,
            late: 0,
            skew: [0; NODES],
            jump: 0,
            fast: false,
            downtime: 0,
            source: Source::Stamped,
            timed: true,
            abstain: Abstain::Both,
            holder_check: true,
            watermark_check: true,
            stamp_chosen: false,
            extend_token: true,
            extend_in_time: true,
            extend_abstains: true,
            extend_gently: true,
            from_start: true,
            check: vec![ORDERED, EXCLUSIVE, IN_TURN],
        }
    }
}
