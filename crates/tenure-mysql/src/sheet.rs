//! What is written down of a lock: the kernel's record, and which session has the row of a re-entrant one.

use tenure_core::kernel::Time;
use tenure_core::records::Entry;
use tenure_core::{Busy, Claim, Key, Operation, Outcome};

/// One lock as it is written down.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sheet {
    pub(crate) key: Key,
    /// The record, and the last token; none if none was ever handed out since there is this sheet.
    pub(crate) entry: Entry,
    /// Who has the row, if it is held as a re-entrant lock.
    pub(crate) seat: Option<Seat>,
    /// How often those who wait were to look again.
    pub(crate) version: u64,
}

/// Whose the seat is when a lock is kept by nobody who is in.
const NOBODY: &str = "";

/// A claim that has the row, by a session.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Seat {
    pub(crate) claim: Claim,
    pub(crate) session: String,
    /// The server's number for the session, if it is alive.
    pub(crate) connection: Option<u64>,
}

/// On what ground a lock is asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ground<'a> {
    /// The sheet alone: all kinds but the re-entrant one.
    Sheet,
    /// The asker's session of this name has the row.
    Row(&'a str),
    /// Somebody else has the row. The asker may go in beside them, but never as the first: they may not have come to write
    /// themselves down.
    NoRow,
}

impl Sheet {
    pub(crate) fn new(key: &Key) -> Self {
        Self { key: key.clone(), entry: Entry::default(), seat: None, version: 0 }
    }

    /// What the step functions get to see: a claim whose session ended has lost the row, whatever its lease says.
    pub(crate) fn entry(&self) -> Entry {
        let dead = self.seat.iter().filter(|seat| seat.connection.is_none());
        Entry { dead: dead.map(|seat| seat.claim.clone()).collect(), ..self.entry.clone() }
    }

    /// The answer to one who has no row, where nobody is written down beside whom it could go in.
    pub(crate) fn turns_away(&self, ground: Ground<'_>, operation: &Operation, now: Time) -> Option<Outcome> {
        let lives =
            |claim: &Claim| self.seat.as_ref().is_none_or(|seat| seat.connection.is_some() || seat.claim != *claim);
        let hold = self.entry.record.hold.as_ref().filter(|hold| hold.ends > now);
        let is_in = hold.is_some_and(|hold| hold.claims.iter().any(|entered| lives(&entered.claim)));
        let goes_first = matches!((ground, operation), (Ground::NoRow, Operation::Acquire { .. })) && !is_in;
        goes_first.then_some(Outcome::Busy(Busy { holder: None, ahead: None, again: None, votes: Vec::new() }))
    }

    /// Takes over what has become of the lock.
    pub(crate) fn update(&mut self, entry: Entry) {
        self.version += u64::from(entry.news);
        self.seat.take_if(|seat| seat.connection.is_none());
        // One who goes in beside others has their token.
        let token = entry.watermark.max(entry.record.hold.as_ref().map_or(0, |hold| hold.token));
        self.entry = Entry::new(entry.record, token);
    }

    /// Who has the row after a step; and the session from which it is taken away, with the server's number for it.
    pub(crate) fn reseat(
        &mut self,
        ground: Ground<'_>,
        operation: &Operation,
        outcome: &Outcome,
    ) -> Option<(String, u64)> {
        match (outcome, ground, operation) {
            (Outcome::Granted(_), Ground::Row(session), Operation::Acquire { claim, .. }) => {
                self.seat = Some(Seat { claim: claim.clone(), session: session.to_owned(), connection: Some(0) });
            }
            // It is the record alone that keeps it, whatever becomes of the session; but whoever frees it by force ends that.
            (Outcome::Kept, ..) => {
                if let Some(seat) = &mut self.seat {
                    seat.claim = Claim::found(NOBODY);
                }
            }
            (Outcome::Forced(Some(_)), ..) => {
                return self.seat.take().and_then(|seat| seat.connection.map(|number| (seat.session, number)));
            }
            _ => {
                let hold = self.entry.record.hold.as_ref();
                let is_of = |seat: &Seat, claim: &Claim| seat.claim == *claim || seat.claim.as_str() == NOBODY;
                let is_in =
                    |seat: &Seat| hold.is_some_and(|hold| hold.claims.iter().any(|in_| is_of(seat, &in_.claim)));
                self.seat.take_if(|seat| !is_in(seat));
            }
        }
        None
    }
}
