//! What a backend promises, in words a program can check.

use std::fmt;

/// One promise that a store can make or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Guarantee {
    /// Every grant carries a token that grows for ever.
    Fencing,
    /// Locks exclude other processes on the machine.
    BetweenProcesses,
    /// Locks exclude other machines.
    BetweenMachines,
    /// Waiters are woken by the store instead of asking again and again.
    PushedWakeups,
    /// A store that restarts still knows its grants.
    SurvivesRestart,
    /// A store that fails over to a copy still knows its grants.
    SurvivesFailover,
}

impl fmt::Display for Guarantee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fencing => "fencing tokens",
            Self::BetweenProcesses => "exclusion between processes",
            Self::BetweenMachines => "exclusion between machines",
            Self::PushedWakeups => "pushed wake-ups",
            Self::SurvivesRestart => "surviving a restart of the store",
            Self::SurvivesFailover => "surviving a fail-over of the store",
        })
    }
}

/// A backend's label: its name, its promises, and the one sentence its users should have read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label {
    /// The backend's name, such as `redis`.
    pub name: &'static str,
    /// What it promises.
    pub guarantees: &'static [Guarantee],
    /// What it does not.
    pub caveat: &'static str,
}

impl Label {
    /// Whether the backend promises this.
    pub fn has(&self, guarantee: Guarantee) -> bool {
        self.guarantees.contains(&guarantee)
    }
}
