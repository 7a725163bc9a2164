//! What each of several servers says of a lock that a majority of them keeps.

use crate::Claim;
use std::fmt;
use std::time::Duration;

/// What one of several servers said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vote {
    /// Where it is, without secrets.
    pub server: String,
    /// What it said.
    pub said: Said,
}

/// What a server said of a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Said {
    /// It let the asker in.
    Granted,
    /// This claim is in.
    Held(Claim),
    /// Nobody is in.
    Free,
    /// Something that is about no lock.
    Answered,
    /// It was restarted, or is too young to be trusted by one who has not seen it before, and may have forgotten what it granted: its
    /// vote does not count for so much longer.
    Abstains(Duration),
    /// Nothing: it could not be reached, or did not answer in time.
    Silent(String),
    /// It cannot, or does not let us.
    Refused(String),
}

impl Said {
    /// The same as one word, for programs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Granted => "granted",
            Self::Held(_) => "held",
            Self::Free => "free",
            Self::Answered => "answered",
            Self::Abstains(_) => "abstains",
            Self::Silent(_) => "silent",
            Self::Refused(_) => "refused",
        }
    }
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Granted => f.write_str("granted it"),
            Self::Held(claim) => write!(f, "says it is held by {claim}"),
            Self::Free => f.write_str("says it is free"),
            Self::Answered => f.write_str("answered"),
            // Rounded up: nobody is told that it votes in 0 s.
            Self::Abstains(left) => write!(f, "does not vote for {} s, for it may have forgotten", left.as_secs() + 1),
            Self::Silent(why) => write!(f, "is silent ({why})"),
            Self::Refused(why) => write!(f, "refused ({why})"),
        }
    }
}

impl fmt::Display for Vote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.server, self.said)
    }
}

impl Vote {
    /// All of them in one line.
    pub fn told(votes: &[Self]) -> String {
        let told: Vec<String> = votes.iter().map(Self::to_string).collect();
        told.join("; ")
    }
}
