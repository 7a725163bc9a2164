//! In what two answers differ, if they do.

use std::collections::HashMap;
use std::time::Duration;
use tenure_core::kernel::{Grant, Latch};
use tenure_core::{Busy, Holder, Key, Kind, Outcome, Sight, Token};

/// What two clocks cannot tell apart.
pub(super) struct Tolerance {
    /// No call is made when a lease's end is nearer than this.
    pub(super) clear: Duration,
    /// A call that took longer happened too indefinitely to be compared.
    pub(super) slowest: Duration,
    pub(super) remaining: Duration,
    /// Tokens tell since when a lock is held; a store may make them a little behind its clock.
    pub(super) held_for: Duration,
}

/// Which of the backend's tokens stands for which of the specification's.
#[derive(Default)]
pub(super) struct Tokens {
    pairs: HashMap<Token, Token>,
    largest: HashMap<Key, Token>,
}

impl Tokens {
    /// Says in what the two differ, if they do.
    pub(super) fn compare(
        &mut self,
        (kind, key): (Kind, &Key),
        specified: &Outcome,
        answered: &Outcome,
        tolerance: &Tolerance,
    ) -> Result<(), &'static str> {
        match (specified, answered) {
            (Outcome::Granted(specified), Outcome::Granted(answered)) => {
                self.compare_grants((kind, key), *specified, *answered)
            }
            (Outcome::Busy(specified), Outcome::Busy(answered)) => {
                self.compare_busy(kind, specified, answered, tolerance)
            }
            (Outcome::Latch(specified), Outcome::Latch(answered)) => self.compare_latches(key, *specified, *answered),
            (Outcome::Forced(specified), Outcome::Forced(answered))
            | (Outcome::Seen(specified), Outcome::Seen(answered)) => {
                self.compare_sights(specified.as_ref(), answered.as_ref(), tolerance)
            }
            (specified, answered) if specified == answered => Ok(()),
            _ => Err("kind"),
        }
    }

    fn compare_grants(
        &mut self,
        (kind, key): (Kind, &Key),
        specified: Grant,
        answered: Grant,
    ) -> Result<(), &'static str> {
        if specified.count != answered.count {
            return Err("count");
        }
        if is_counted_alike(kind) {
            return if specified.token == answered.token { Ok(()) } else { Err("token: it is counted") };
        }
        self.compare_tokens(key, specified.token, answered.token)
    }

    fn compare_latches(&mut self, key: &Key, specified: Latch, answered: Latch) -> Result<(), &'static str> {
        match (specified.round, answered.round) {
            _ if (specified.was, specified.count) != (answered.was, answered.count) => Err("count"),
            (None, None) => Ok(()),
            (Some(specified), Some(answered)) => self.compare_tokens(key, specified, answered),
            _ => Err("whether it has a round"),
        }
    }

    fn compare_tokens(&mut self, key: &Key, specified: Token, answered: Token) -> Result<(), &'static str> {
        if let Some(known) = self.pairs.get(&specified) {
            return if *known == answered { Ok(()) } else { Err("token: it is the same hold") };
        }
        self.pairs.insert(specified, answered);
        match self.largest.insert(key.clone(), answered) {
            Some(largest) if largest >= answered => Err("token: it is a later grant"),
            _ => Ok(()),
        }
    }

    fn compare_sights(
        &self,
        specified: Option<&Sight>,
        answered: Option<&Sight>,
        tolerance: &Tolerance,
    ) -> Result<(), &'static str> {
        let (specified, answered) = match (specified, answered) {
            (None, None) => return Ok(()),
            (Some(specified), Some(answered)) => (specified, answered),
            _ => return Err("whether anybody holds"),
        };
        if specified.kind != answered.kind {
            return Err("as what it is held");
        }
        if specified.holders.len() != answered.holders.len() {
            return Err("how many hold");
        }
        let (mut one, mut other): (Vec<&Holder>, Vec<&Holder>) =
            (specified.holders.iter().collect(), answered.holders.iter().collect());
        if specified.kind == Kind::Permits {
            // A store need not know in which order they were taken.
            one.sort_by_key(|holder| &holder.claim);
            other.sort_by_key(|holder| &holder.claim);
        }
        let mut holders = one.into_iter().zip(other);
        let kind = specified.kind;
        holders.try_for_each(|(specified, answered)| self.compare_holders(kind, specified, answered, tolerance))?;
        // A line of clients is the store's own affair.
        if specified.kind.has_line()
            && (specified.waiters, specified.line.len()) != (answered.waiters, answered.line.len())
        {
            return Err("how many wait");
        }
        let mut line = specified.line.iter().zip(&answered.line);
        let same = line.all(|(specified, answered)| {
            (&specified.claim, specified.kind) == (&answered.claim, answered.kind)
                && near(specified.waited, answered.waited, tolerance.held_for)
        });
        if same { Ok(()) } else { Err("who waits") }
    }

    fn compare_busy(
        &self,
        kind: Kind,
        specified: &Busy,
        answered: &Busy,
        tolerance: &Tolerance,
    ) -> Result<(), &'static str> {
        match (&specified.holder, &answered.holder) {
            (None, None) => {}
            (Some(specified), Some(answered)) if is_tie(kind, specified, answered, tolerance) => {}
            (Some(specified), Some(answered)) => self.compare_holders(kind, specified, answered, tolerance)?,
            _ => return Err("whether anybody holds"),
        }
        if specified.ahead != answered.ahead {
            Err("how many stand before")
        } else if !near(specified.again, answered.again, tolerance.remaining) {
            Err("when it changes by itself")
        } else {
            Ok(())
        }
    }

    fn compare_holders(
        &self,
        kind: Kind,
        specified: &Holder,
        answered: &Holder,
        tolerance: &Tolerance,
    ) -> Result<(), &'static str> {
        let paired = |token: Token| if is_counted_alike(kind) { Some(token) } else { self.pairs.get(&token).copied() };
        let token = specified.token.and_then(paired);
        // Since when a permit is taken that anybody may give back, a store need not know.
        let held_for =
            if kind == Kind::Permits { answered.held_for.and(specified.held_for) } else { specified.held_for };
        if specified.claim != answered.claim {
            Err("claim")
        } else if specified.count != answered.count {
            Err("count")
        } else if token != answered.token {
            Err("token")
        } else if !near(specified.remaining, answered.remaining, tolerance.remaining) {
            Err("remaining")
        } else if !near(held_for, answered.held_for, tolerance.held_for) {
            Err("held_for")
        } else {
            Ok(())
        }
    }
}

/// Whether tokens of this kind are the same everywhere: there are none at all.
fn is_counted_alike(kind: Kind) -> bool {
    kind == Kind::Permits
}

/// Whether each names another of several holders, because the clocks cannot tell which of them holds for longest.
fn is_tie(kind: Kind, specified: &Holder, answered: &Holder, tolerance: &Tolerance) -> bool {
    let unsure = !tolerance.remaining.is_zero() && near(specified.remaining, answered.remaining, tolerance.remaining);
    kind.is_side() && specified.claim != answered.claim && unsure
}

/// Whether two times are as near as this.
fn near(one: Option<Duration>, other: Option<Duration>, by: Duration) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one.abs_diff(other) <= by,
        (one, other) => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_core::Claim;

    const MILLI: Duration = Duration::from_millis(1);
    const ABOUT: Tolerance = Tolerance { clear: MILLI, slowest: MILLI, remaining: MILLI, held_for: MILLI };

    fn behind(number: u64, micros: u64) -> Outcome {
        let remaining = Some(Duration::from_micros(micros));
        let claim = Claim::new("client", number);
        let holder = Holder { claim, count: 1, token: None, remaining, held_for: None };
        Outcome::Busy(Busy { holder: Some(holder), ahead: None, again: remaining, votes: Vec::new() })
    }

    fn compare(kind: Kind, answered: &Outcome) -> Result<(), &'static str> {
        Tokens::default().compare((kind, &Key::new("k").unwrap()), &behind(1, 5_000), answered, &ABOUT)
    }

    #[test]
    fn either_of_two_who_hold_for_as_long_may_be_named() {
        assert_eq!(compare(Kind::Read, &behind(2, 5_200)), Ok(()));
        assert_eq!(compare(Kind::Read, &behind(2, 7_000)), Err("claim"));
        assert_eq!(compare(Kind::Fair, &behind(2, 5_200)), Err("claim"), "one alone holds it");
    }
}
