//! What the servers answered to one who asks for a lock, and what a majority of them makes of it.

use std::time::Duration;
use tenure_core::{Busy, Claim, Holder, Outcome, Said, StoreError, StoreErrorKind, Token, Vote};

/// Whoever finds the votes split asks again after a time left to chance, up to this long: most are split among those who
/// asked at one moment, and who have given them back by then.
pub(super) const SPLIT: Duration = Duration::from_millis(100);
/// And not before this.
const BREATH: Duration = Duration::from_millis(5);

/// What one server answered.
#[derive(Debug, Clone)]
pub(super) enum Answer {
    /// Nothing yet.
    None,
    Granted(Token),
    /// It does not count for so much longer, whatever it said; the token if it granted the lock.
    Abstains(Duration, Option<Token>),
    Said(Outcome),
    /// Nothing of the lock.
    Other,
    Failed(StoreError),
}

/// The answers of all servers, in the order of the URL.
pub(super) struct Votes {
    pub(super) all: Vec<(String, Answer)>,
    quorum: usize,
}

impl Votes {
    pub(super) fn new(servers: impl Iterator<Item = String>, quorum: usize) -> Self {
        Self { all: servers.map(|server| (server, Answer::None)).collect(), quorum }
    }

    pub(super) fn put(&mut self, at: usize, answer: Result<Outcome, StoreError>, abstains: Option<Duration>) {
        self.all[at].1 = match (answer, abstains) {
            (Ok(Outcome::Granted(grant)), None) => Answer::Granted(grant.token),
            (Ok(Outcome::Granted(grant)), Some(left)) => Answer::Abstains(left, Some(grant.token)),
            (Ok(_), Some(left)) => Answer::Abstains(left, None),
            (Ok(outcome), None) => Answer::Said(outcome),
            (Err(error), _) => Answer::Failed(error),
        };
    }

    /// It has answered what is about no lock.
    pub(super) fn heard<T>(&mut self, at: usize, answer: Result<T, StoreError>) {
        self.all[at].1 = answer.map_or_else(Answer::Failed, |_| Answer::Other);
    }

    fn count(&self, is: impl Fn(&Answer) -> bool) -> usize {
        self.all.iter().filter(|(_, answer)| is(answer)).count()
    }

    /// Whether a majority has granted it.
    pub(super) fn is_won(&self) -> bool {
        self.count(|answer| matches!(answer, Answer::Granted(_))) >= self.quorum
    }

    /// Whether no majority grants it, and enough have answered to say why. Those that were silent the last time are not waited
    /// for: two who share the votes of the others would keep them until then, and never come to a majority.
    pub(super) fn is_lost(&self, is_silent: impl Fn(usize) -> bool) -> bool {
        let may_grant = |(at, (_, answer)): (usize, &(String, Answer))| match answer {
            Answer::Granted(_) => true,
            Answer::None => !is_silent(at),
            _ => false,
        };
        let granting = self.all.iter().enumerate().filter(|one| may_grant(*one)).count();
        granting < self.quorum && self.answered() >= self.quorum
    }

    fn answered(&self) -> usize {
        self.count(|answer| matches!(answer, Answer::Granted(_) | Answer::Said(_)))
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
        self.all.iter().filter_map(|(_, answer)| match answer {
            Answer::Granted(token) | Answer::Abstains(_, Some(token)) => Some(*token),
            _ => None,
        })
    }

    /// What to say to one who did not win, if the youngest of those in the way has been there for so long.
    pub(super) fn lost(&self, age: Duration) -> Result<Outcome, StoreError> {
        let outcomes = || {
            self.all.iter().filter_map(|(_, answer)| if let Answer::Said(said) = answer { Some(said) } else { None })
        };
        if outcomes().any(|outcome| *outcome == Outcome::Refused) {
            return Ok(Outcome::Refused);
        }
        // Somebody may have it as another kind on a server that nobody needs.
        let conflict = |outcome: &&Outcome| matches!(outcome, Outcome::Conflict(_));
        if let Some(said) = outcomes().find(conflict).filter(|_| self.is_hopeless(outcomes().filter(conflict).count()))
        {
            return Ok(said.clone());
        }
        if self.answered() < self.quorum {
            return Err(self.silence());
        }
        let holders: Vec<&Holder> = self.holders().collect();
        let of = |claim: &Claim| holders.iter().filter(|holder| holder.claim == *claim).count();
        let first = holders.iter().max_by_key(|holder| of(&holder.claim)).copied();
        Ok(Outcome::Busy(match first {
            Some(holder) if of(&holder.claim) >= self.quorum => {
                Busy { votes: self.told(), ..Busy::behind(holder.clone()) }
            }
            // With those that are silent it may have one.
            Some(holder) if of(&holder.claim) + self.all.len() - self.answered() >= self.quorum => {
                Busy { holder: Some(holder.clone()), ..self.split(None, age) }
            }
            first => self.split(first, age),
        }))
    }

    /// Who is in the way.
    pub(super) fn holders(&self) -> impl Iterator<Item = &Holder> {
        self.all.iter().filter_map(|(_, answer)| match answer {
            Answer::Said(Outcome::Busy(busy)) => busy.holder.as_ref(),
            _ => None,
        })
    }

    /// Nobody is known to have a majority: whoever asked gives up what it got, and tries again at another time.
    ///
    /// The longer the youngest vote that is in the way has been there, the later that is: votes that were left behind, or
    /// whose holder has its majority with servers that are silent, would be asked about all the time. While it is young,
    /// nobody is said to hold the lock.
    pub(super) fn split(&self, first: Option<&Holder>, age: Duration) -> Busy {
        let end = self.holders().filter_map(|holder| holder.remaining).min().unwrap_or(Duration::MAX);
        let again = BREATH + age.max(SPLIT).mul_f64(fastrand::f64());
        let holder = first.filter(|_| age >= SPLIT).cloned();
        Busy { holder, ahead: None, again: Some(again.min(end.max(BREATH))), votes: self.told() }
    }

    /// Another one is about to take it: it is asked for again after a time left to chance, or when that one leaves.
    pub(super) fn rival(busy: Busy) -> Busy {
        Busy { again: Some(BREATH + SPLIT.mul_f64(fastrand::f64())), ..busy }
    }

    /// Whether a majority cannot be had without these.
    fn is_hopeless(&self, these: usize) -> bool {
        self.all.len() - these < self.quorum
    }

    /// Too few servers have said anything.
    pub(super) fn silence(&self) -> StoreError {
        let is_final = |error: &&StoreError| !error.is_transient();
        let failed = || {
            self.all.iter().filter_map(|(_, answer)| if let Answer::Failed(why) = answer { Some(why) } else { None })
        };
        let finals = failed().filter(is_final).count();
        let unanswered = self.count(|answer| matches!(answer, Answer::None))
            + failed().filter(|error| error.kind == StoreErrorKind::Unanswered).count();
        let abstain = self.count(|answer| matches!(answer, Answer::Abstains(..)));
        let what = if abstain > 0 && abstain + self.answered() >= self.quorum {
            "too few servers vote yet, try again when they do"
        } else {
            "too few servers can be used, see what each says"
        };
        let kind = match failed().find(is_final) {
            Some(error) if self.is_hopeless(finals) => error.kind,
            _ if unanswered > 0 => StoreErrorKind::Unanswered,
            _ => StoreErrorKind::Unreachable,
        };
        let message = format!("{what}: needed={} of={}", self.quorum, self.all.len());
        StoreError::new(kind, message).with_votes(self.told())
    }

    /// What each of them said.
    pub(super) fn told(&self) -> Vec<Vote> {
        self.all.iter().map(|(server, answer)| Vote { server: server.clone(), said: said(server, answer) }).collect()
    }
}

fn said(server: &str, answer: &Answer) -> Said {
    match answer {
        Answer::None => Said::Silent("no answer yet".to_owned()),
        Answer::Granted(_) => Said::Granted,
        Answer::Abstains(left, _) => Said::Abstains(*left),
        Answer::Said(Outcome::Busy(Busy { holder: Some(holder), .. })) => Said::Held(holder.claim.clone()),
        Answer::Said(Outcome::Seen(Some(sight))) => match sight.holders.first() {
            Some(holder) => Said::Held(holder.claim.clone()),
            None => Said::Free,
        },
        Answer::Said(Outcome::Conflict(held)) => {
            Said::Refused(format!("the key is held as another kind of lock: {held}"))
        }
        Answer::Said(Outcome::Refused) => Said::Refused("the claim was given up".to_owned()),
        Answer::Said(_) => Said::Free,
        Answer::Other => Said::Answered,
        Answer::Failed(error) => failed(server, error),
    }
}

/// Why a server has said nothing of use, without its address, which is said anyway.
pub(super) fn failed(server: &str, error: &StoreError) -> Said {
    let why = error.message.replace(&format!(" address=`{server}`"), "");
    if error.is_transient() { Said::Silent(why) } else { Said::Refused(why) }
}
