//! A held lock as it is shown, and its JSON: `{"key","kind","token","waiters","holders":[…],"line":[…]}`, with
//! `"more_holders"` and `"more_in_line"` where some are left out, and `"votes":[…]` where a majority of several servers keeps it.

use serde::Serialize;
use std::time::Duration;
use tenure::{Card, Held, HeldBy, InLine, Said, Vote};

/// A lock as anybody can see it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Seen {
    pub(crate) key: String,
    /// None if the lock is free.
    pub(crate) kind: Option<String>,
    /// None if the lock is free, or another library took it.
    pub(crate) token: Option<u64>,
    /// None where the store cannot tell.
    pub(crate) waiters: Option<u32>,
    pub(crate) holders: Vec<Holder>,
    /// How many more hold it.
    #[serde(rename = "more_holders", skip_serializing_if = "is_none")]
    pub(crate) more: u32,
    /// The first of those who stand in line, for a kind of lock that has one.
    pub(crate) line: Vec<Waiter>,
    /// How many more stand in line.
    #[serde(skip_serializing_if = "is_none")]
    pub(crate) more_in_line: u32,
    /// What each of several servers says.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) votes: Vec<Voter>,
}

/// One of several servers, and what it says of the lock.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Voter {
    pub(crate) server: String,
    /// `granted`, `held`, `free`, `abstains`, `silent` or `refused`.
    pub(crate) said: &'static str,
    /// The same in words, with the holder or the reason.
    pub(crate) text: String,
    /// Who holds it there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) owner: Option<String>,
    /// For how much longer it does not vote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) abstains_ms: Option<u64>,
}

/// One of those who stand in line for it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Waiter {
    /// The claim, as the store has it.
    pub(crate) owner: String,
    pub(crate) kind: String,
    /// None where the store cannot tell.
    pub(crate) waited_ms: Option<u64>,
    #[serde(flatten)]
    pub(crate) home: Home,
}

/// Where a holder or a waiter lives, if it left its card.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Home {
    pub(crate) host: Option<String>,
    pub(crate) pid: Option<u32>,
    pub(crate) label: Option<String>,
}

/// One of those who hold it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Holder {
    /// The claim, as the store has it.
    pub(crate) owner: String,
    /// How often it is in.
    pub(crate) count: u32,
    /// How long the lease still runs; none if it has no end.
    pub(crate) ttl_ms: Option<u64>,
    /// For how long it has held, where the store can tell.
    pub(crate) held_ms: Option<u64>,
    /// Whether it has left, and the lock is only kept taken (`--at-least`).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) kept: bool,
    #[serde(flatten)]
    pub(crate) home: Home,
}

impl Seen {
    pub(crate) fn free(key: &str) -> Self {
        let (holders, line, votes) = (Vec::new(), Vec::new(), Vec::new());
        let (more, more_in_line) = (0, 0);
        Self { key: key.to_owned(), kind: None, token: None, waiters: None, holders, more, line, more_in_line, votes }
    }

    /// With what each of several servers says.
    pub(crate) fn with_votes(self, votes: Vec<Vote>) -> Self {
        Self { votes: votes.into_iter().map(Voter::from).collect(), ..self }
    }
}

impl From<Held> for Seen {
    fn from(held: Held) -> Self {
        let named = u32::try_from(held.line.len()).unwrap_or(u32::MAX);
        // Where there is no line, nobody stands in it.
        let in_line = held.waiters.filter(|_| named > 0).unwrap_or(0);
        Self {
            key: held.key.to_string(),
            kind: Some(held.kind.to_string()),
            token: held.holder().token,
            waiters: held.waiters,
            holders: held.holders.into_iter().map(Holder::from).collect(),
            more: held.more,
            line: held.line.into_iter().map(Waiter::from).collect(),
            more_in_line: in_line.saturating_sub(named),
            votes: held.votes.into_iter().map(Voter::from).collect(),
        }
    }
}

impl From<Vote> for Voter {
    fn from(Vote { server, said }: Vote) -> Self {
        let (owner, abstains_ms) = match &said {
            Said::Held(claim) => (Some(claim.to_string()), None),
            Said::Abstains(left) => (None, Some(millis(*left))),
            _ => (None, None),
        };
        Self { server, said: said.name(), text: said.to_string(), owner, abstains_ms }
    }
}

impl From<HeldBy> for Holder {
    fn from(HeldBy { holder, card, .. }: HeldBy) -> Self {
        Self {
            owner: holder.claim.to_string(),
            count: holder.count,
            ttl_ms: holder.remaining.map(millis),
            held_ms: holder.held_for.map(millis),
            kept: card.as_ref().is_some_and(Card::has_left),
            home: card.into(),
        }
    }
}

impl From<InLine> for Waiter {
    fn from(InLine { waiting, card, .. }: InLine) -> Self {
        Self {
            owner: waiting.claim.to_string(),
            kind: waiting.kind.to_string(),
            waited_ms: waiting.waited.map(millis),
            home: card.into(),
        }
    }
}

impl From<Option<Card>> for Home {
    fn from(card: Option<Card>) -> Self {
        match card {
            Some(card) => {
                let pid = (!card.has_left()).then_some(card.pid);
                let label = Some(card.label).filter(|label| !label.is_empty());
                Self { host: Some(card.host), pid, label }
            }
            None => Self { host: None, pid: None, label: None },
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks like this")]
fn is_none(count: &u32) -> bool {
    *count == 0
}

pub(crate) fn millis(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}
