//! What is written down of a lock: the kernel's record, and which session has the row of a re-entrant one.

use tenure_core::kernel::{Busy, Record, Stepped, Time, step};
use tenure_core::{Claim, Key, Kind, Operation, Outcome, Token};

/// One lock as it is written down.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sheet {
    pub(crate) key: Key,
    pub(crate) record: Record,
    /// Who has the row, if it is held as a re-entrant lock.
    pub(crate) seat: Option<Seat>,
    /// The last token, or none if none was ever handed out since there is this sheet.
    pub(crate) token: Token,
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

/// One step that is wanted of one lock.
#[derive(Debug, Clone)]
pub(crate) struct Ask<'a> {
    pub(crate) kind: Kind,
    pub(crate) key: &'a Key,
    pub(crate) operation: &'a Operation,
    pub(crate) ground: Ground<'a>,
}

/// What became of a step.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) outcome: Outcome,
    /// Whose turn has come with it.
    pub(crate) called: Vec<Claim>,
    /// Whether those who wait should look.
    pub(crate) stirs: bool,
    /// The session whose row lock is taken away by it, and the server's number for it.
    pub(crate) put_out: Option<(String, u64)>,
}

impl Sheet {
    pub(crate) fn new(key: &Key) -> Self {
        Self { key: key.clone(), record: Record::default(), seat: None, token: 0, version: 0 }
    }

    /// A claim whose session ended has lost the row, whatever its lease says.
    fn bury(&mut self) {
        let dead = self.seat.take_if(|seat| seat.connection.is_none());
        if let (Some(seat), Some(hold)) = (dead, &mut self.record.hold) {
            hold.claims.retain(|entered| entered.claim != seat.claim);
            self.record.hold.take_if(|hold| hold.claims.is_empty());
        }
    }

    /// Takes the step.
    pub(crate) fn step(&mut self, ask: &Ask<'_>, now: Time) -> Done {
        self.bury();
        let before = std::mem::take(&mut self.record);
        let Stepped { record, watermark, outcome, called } =
            step(ask.kind, before.clone(), ask.operation, now, self.token);
        self.record = record;
        if let (Ground::NoRow, Outcome::Granted(_), Operation::Acquire { .. }) = (ask.ground, &outcome, ask.operation)
            && before.hold.as_ref().is_none_or(|hold| hold.ends <= now)
        {
            self.record = before;
            let outcome = Outcome::Busy(Busy { holder: None, ahead: None, again: None, votes: Vec::new() });
            return Done { outcome, called: Vec::new(), stirs: false, put_out: None };
        }
        self.token = watermark.max(self.record.hold.as_ref().map_or(0, |hold| hold.token));
        let mut put_out = None;
        match (&outcome, ask.ground, ask.operation) {
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
                put_out = self.seat.take().and_then(|seat| seat.connection.map(|number| (seat.session, number)));
            }
            _ => {
                let hold = self.record.hold.as_ref();
                let is_of = |seat: &Seat, claim: &Claim| seat.claim == *claim || seat.claim.as_str() == NOBODY;
                let is_in =
                    |seat: &Seat| hold.is_some_and(|hold| hold.claims.iter().any(|in_| is_of(seat, &in_.claim)));
                self.seat.take_if(|seat| !is_in(seat));
            }
        }
        let freed = matches!(outcome, Outcome::Released | Outcome::Left | Outcome::Forced(Some(_)));
        let stirs = freed || outcome.concerns_all() || !called.is_empty();
        self.version += u64::from(stirs);
        Done { outcome, called, stirs, put_out }
    }
}
