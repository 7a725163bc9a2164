//! Who a client is, for people.

use std::fmt;

/// A client's visiting card: kept once per client beside the locks, so that a person who meets a holder knows where
/// to look.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Card {
    /// The machine's name.
    pub host: String,
    /// The process; 0 once it has left, and only [keeps](crate::Options::at_least) a lock taken.
    pub pid: u32,
    /// What the client calls itself, if anything.
    pub label: String,
}

impl Card {
    /// This process, under a label.
    pub(crate) fn of_this_process(label: &str) -> Self {
        Self { host: host(), pid: std::process::id(), label: label.to_owned() }
    }

    /// The same, when the client has left.
    pub(crate) fn left(&self) -> Self {
        Self { pid: 0, ..self.clone() }
    }

    /// Whether the client has left: what is still taken in its name is kept for as long as was asked for, and nobody holds it.
    pub fn has_left(&self) -> bool {
        self.pid == 0
    }
}

impl fmt::Display for Card {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.label.is_empty() {
            write!(f, "{} on ", self.label)?;
        }
        if self.has_left() {
            write!(f, "{}, which has left and keeps it taken", self.host)
        } else {
            write!(f, "{} pid {}", self.host, self.pid)
        }
    }
}

#[cfg(unix)]
fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(not(unix))]
fn host() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_default()
}
