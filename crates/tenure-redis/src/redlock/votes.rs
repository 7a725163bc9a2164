//! What the servers answered, and what a majority of them makes of it.

use std::time::Duration;
use tenure_core::{Busy, Claim, Holder, Outcome, StoreError, StoreErrorKind, Token};

/// What one server said of an acquire.
#[derive(Debug, Clone)]
pub(super) enum Vote {
    /// Nothing yet.
    None,
    Granted(Token),
    /// It said so, and does not count for so much longer.
    Abstains(Duration, Option<Token>),
    Said(Outcome),
    Failed(StoreError),
}

/// The votes of all servers, each with its address.
pub(super) struct Votes {
    pub(super) all: Vec<(String, Vote)>,
    quorum: usize,
}

impl Votes {
    pub(super) fn new(addresses: impl Iterator<Item = String>, quorum: usize) -> Self {
        Self { all: addresses.map(|address| (address, Vote::None)).collect(), quorum }
    }

    pub(super) fn put(&mut self, at: usize, answer: Result<Outcome, StoreError>, abstains: Option<Duration>) {
        self.all[at].1 = match (answer, abstains) {
            (Ok(Outcome::Granted(grant)), None) => Vote::Granted(grant.token),
            (Ok(Outcome::Granted(grant)), Some(left)) => Vote::Abstains(left, Some(grant.token)),
            (Ok(_), Some(left)) => Vote::Abstains(left, None),
            (Ok(outcome), None) => Vote::Said(outcome),
            (Err(error), _) => Vote::Failed(error),
        };
    }

    fn count(&self, is: impl Fn(&Vote) -> bool) -> usize {
        self.all.iter().filter(|(_, vote)| is(vote)).count()
    }

    /// Whether a majority has granted it.
    pub(super) fn is_won(&self) -> bool {
        self.count(|vote| matches!(vote, Vote::Granted(_))) >= self.quorum
    }

    /// Whether a majority may still grant it.
    pub(super) fn is_open(&self) -> bool {
        self.count(|vote| matches!(vote, Vote::Granted(_) | Vote::None)) >= self.quorum
    }

    /// The token of the hold: that which a majority has already, as of one who goes in beside others; otherwise the largest
    /// that anybody has handed out, which is above all that a majority has seen.
    pub(super) fn token(&self) -> Token {
        self.agreed().or_else(|| self.tokens().max()).unwrap_or(0)
    }

    /// The token that a majority has already.
    pub(super) fn agreed(&self) -> Option<Token> {
        self.tokens().find(|token| self.tokens().filter(|other| other == token).count() >= self.quorum)
    }

    fn tokens(&self) -> impl Iterator<Item = Token> {
        self.all.iter().filter_map(|(_, vote)| match vote {
            Vote::Granted(token) | Vote::Abstains(_, Some(token)) => Some(*token),
            _ => None,
        })
    }

    /// What to say to one who did not win.
    pub(super) fn lost(&self) -> Result<Outcome, StoreError> {
        let said = |outcome: &&Outcome| matches!(outcome, Outcome::Conflict(_) | Outcome::Refused);
        let outcomes =
            || self.all.iter().filter_map(|(_, vote)| if let Vote::Said(said) = vote { Some(said) } else { None });
        if let Some(final_) = outcomes().find(said) {
            return Ok(final_.clone());
        }
        if self.count(|vote| matches!(vote, Vote::Granted(_) | Vote::Said(_))) < self.quorum {
            return Err(self.silence());
        }
        let holders: Vec<&Holder> = outcomes()
            .filter_map(|outcome| {
                if let Outcome::Busy(Busy { holder: Some(holder), .. }) = outcome { Some(holder) } else { None }
            })
            .collect();
        let of = |claim: &Claim| holders.iter().filter(|holder| holder.claim == *claim).count();
        let first = holders.iter().max_by_key(|holder| of(&holder.claim)).copied();
        match first {
            Some(holder) if of(&holder.claim) >= self.quorum => Ok(Outcome::Busy(Busy::behind(holder.clone()))),
            // The votes are split: everybody gives up what it got, and tries again at another time.
            holder => {
                let again = Some(Duration::from_millis(fastrand::u64(5..100)));
                Ok(Outcome::Busy(Busy { holder: holder.cloned(), ahead: None, again }))
            }
        }
    }

    /// Too few servers have said anything.
    pub(super) fn silence(&self) -> StoreError {
        let unanswered = self.count(|vote| {
            matches!(vote, Vote::None | Vote::Failed(StoreError { kind: StoreErrorKind::Unanswered, .. }))
        });
        let kind = if unanswered > 0 { StoreErrorKind::Unanswered } else { StoreErrorKind::Unreachable };
        let message = format!("fewer than {} of {} servers answered: {}", self.quorum, self.all.len(), self.told());
        StoreError::new(kind, message)
    }

    /// What each of them said.
    pub(super) fn told(&self) -> String {
        let told: Vec<String> = self.all.iter().map(|(address, vote)| format!("{address} {}", tell(vote))).collect();
        told.join("; ")
    }
}

fn tell(vote: &Vote) -> String {
    match vote {
        Vote::None => "has not answered".to_owned(),
        Vote::Granted(_) => "granted it".to_owned(),
        Vote::Abstains(left, _) => format!("was restarted and does not vote for {} s", left.as_secs() + 1),
        Vote::Said(Outcome::Busy(Busy { holder: Some(holder), .. })) => format!("says it is held by {}", holder.claim),
        Vote::Said(other) => format!("says {other:?}"),
        Vote::Failed(error) => format!("failed ({error})"),
    }
}
