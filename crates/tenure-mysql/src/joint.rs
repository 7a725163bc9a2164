//! Several locks taken at one moment: their rows one after the other, without waiting, and their records in one transaction.

use crate::desk::Desk;
use crate::error::Failure;
use crate::session::Session;
use crate::sheet::{Ask, Done, Ground};
use crate::steps;
use futures_util::stream::{self, StreamExt};
use std::sync::Arc;
use tenure_core::kernel::Stay;
use tenure_core::{Joint, Kind, Operation, Outcome, StoreError, StoreErrorKind, Wanted};
use tokio::time::Instant;

/// So many rows are asked for at once.
const AT_ONCE: usize = 16;

/// By what each of the locks is asked for.
enum Row {
    /// It needs none.
    None,
    /// We have it.
    Ours(Session),
    /// We had it before, by a session of this name: the same is asked once more.
    Again(String),
    /// Others have it, and the one who asks may go in beside them.
    Theirs,
}

impl Row {
    fn ground(&self) -> Ground<'_> {
        match self {
            Self::None => Ground::Sheet,
            Self::Ours(session) => Ground::Row(&session.name),
            Self::Again(name) => Ground::Row(name),
            Self::Theirs => Ground::NoRow,
        }
    }
}

impl Desk {
    /// Takes all of the locks or none.
    pub(crate) async fn acquire_all(self: &Arc<Self>, wanted: &[Wanted], until: Instant) -> Result<Joint, Failure> {
        let _turns = self.turns.take_all(wanted.iter().map(|one| &one.key)).await;
        let operations: Vec<Operation> = wanted.iter().map(Wanted::operation).collect();
        let ask =
            |at: usize, ground| Ask { kind: wanted[at].kind, key: &wanted[at].key, operation: &operations[at], ground };
        self.has_room_for(wanted)?;
        let found: Vec<_> = wanted.iter().map(|one| self.row_of(one, until)).collect();
        let found: Vec<Result<Option<Row>, Failure>> = stream::iter(found).buffered(AT_ONCE).collect().await;
        let (mut rows, mut missing) = (Vec::with_capacity(found.len()), None);
        for (at, row) in found.into_iter().enumerate() {
            match row {
                Ok(Some(row)) => rows.push(row),
                other => {
                    missing.get_or_insert((at, other));
                    rows.push(Row::Theirs);
                }
            }
        }
        if let Some((at, why)) = missing {
            // The first that is in the way may be one before it, which needs no row.
            let rowless = (0..at).filter(|before| matches!(rows[*before], Row::None));
            let mut looks: Vec<Ask<'_>> = rowless.map(|before| ask(before, Ground::Sheet)).collect();
            looks.push(ask(at, Ground::NoRow));
            self.let_go_all(rows, until).await;
            why?;
            return self.first_in_the_way(wanted, &looks, until).await;
        }
        let asks: Vec<Ask<'_>> = rows.iter().enumerate().map(|(at, row)| ask(at, row.ground())).collect();
        let done = steps::step_all(&self.sides, &asks, until, true).await;
        drop(asks);
        self.settle(wanted, rows, done, until).await
    }

    /// A set that can never be had is refused: whoever waited for it would do so for ever.
    fn has_room_for(&self, wanted: &[Wanted]) -> Result<(), Failure> {
        let rows = wanted.iter().filter(|one| one.kind == Kind::Reentrant).count();
        if rows <= self.connections {
            return Ok(());
        }
        let message = format!(
            "every re-entrant lock of a set needs a connection, raise `connections` in the url or use the simple lock: \
             locks={rows} connections={}",
            self.connections
        );
        Err(StoreError::new(StoreErrorKind::Unsupported, message).into())
    }

    /// Which of these is in the way: the last of them, unless one before it is.
    async fn first_in_the_way(&self, wanted: &[Wanted], looks: &[Ask<'_>], until: Instant) -> Result<Joint, Failure> {
        let place = |ask: &Ask<'_>| wanted.iter().position(|one| one.key == *ask.key).unwrap_or_default();
        let Some((last, before)) = looks.split_last() else { return Ok(Joint::OneByOne) };
        for ask in before {
            let answer = steps::look(&self.sides, ask, until).await?;
            if !matches!(answer, Outcome::Granted(_)) {
                return Ok(Joint::InTheWay { at: place(ask), answer: Ok(answer) });
            }
        }
        let answer = steps::look(&self.sides, last, until).await.map_err(Failure::into_store);
        Ok(Joint::InTheWay { at: place(last), answer })
    }

    /// The row of a lock, if it needs one; nothing if others have it who are in the way.
    async fn row_of(self: &Arc<Self>, wanted: &Wanted, until: Instant) -> Result<Option<Row>, Failure> {
        if wanted.kind != Kind::Reentrant {
            return Ok(Some(Row::None));
        }
        if let Some(grip) = self.grip(&wanted.key, &wanted.claim) {
            if grip.lasts(wanted.lease, until).await? {
                return Ok(Some(Row::Again(grip.name.clone())));
            }
            self.leave(&wanted.key, &wanted.claim, until).await;
        }
        match self.row(&wanted.key, Stay::No, until).await? {
            Some(mut session) => {
                session.lease(wanted.lease, until).await?;
                Ok(Some(Row::Ours(session)))
            }
            None if wanted.under.is_empty() => Ok(None),
            None => Ok(Some(Row::Theirs)),
        }
    }

    async fn let_go_all(&self, rows: Vec<Row>, until: Instant) {
        for row in rows {
            if let Row::Ours(session) = row {
                self.let_go(session, until).await;
            }
        }
    }

    /// Keeps the rows if all was granted, or may have been; lets go of them otherwise.
    async fn settle(
        self: &Arc<Self>,
        wanted: &[Wanted],
        rows: Vec<Row>,
        done: Result<Vec<Done>, Failure>,
        until: Instant,
    ) -> Result<Joint, Failure> {
        let done = match done.map_err(Failure::into_store) {
            Err(error) if error.kind == StoreErrorKind::Unanswered => {
                self.hold_all(wanted, rows, until).await;
                return Err(error.into());
            }
            Err(error) => {
                self.let_go_all(rows, until).await;
                return Err(error.into());
            }
            Ok(done) => done,
        };
        let mut grants = Vec::with_capacity(done.len());
        for (at, one) in done.iter().enumerate() {
            match &one.outcome {
                Outcome::Granted(grant) => grants.push(*grant),
                other => {
                    self.let_go_all(rows, until).await;
                    return Ok(Joint::InTheWay { at, answer: Ok(other.clone()) });
                }
            }
        }
        self.hold_all(wanted, rows, until).await;
        for (one, done) in wanted.iter().zip(&done) {
            self.tell(&one.key, done);
            self.holds_for(one.lease);
        }
        Ok(Joint::Granted(grants))
    }

    async fn hold_all(self: &Arc<Self>, wanted: &[Wanted], rows: Vec<Row>, until: Instant) {
        for (one, row) in wanted.iter().zip(rows) {
            match row {
                Row::Ours(session) => self.hold(&one.key, &one.claim, session, one.lease),
                Row::Again(_) => {
                    if let Some(grip) = self.grip(&one.key, &one.claim) {
                        grip.extend(one.lease);
                    }
                }
                Row::Theirs => _ = self.extend(&one.key, &one.claim, one.lease, until).await,
                Row::None => {}
            }
        }
    }
}
