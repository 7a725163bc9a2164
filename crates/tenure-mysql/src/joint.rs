//! Several locks taken at one moment: their rows one after the other, without waiting, and their records in one transaction.

use crate::desk::Desk;
use crate::error::Failure;
use crate::session::Session;
use crate::sheet::Ground;
use crate::steps::{self, Ask, Taken};
use futures_util::stream::{self, StreamExt};
use std::sync::Arc;
use std::time::Duration;
use tenure_core::kernel::Stay;
use tenure_core::{Applied, Batch, Claim, Key, Kind, Operation, Outcome, Step, StoreError, StoreErrorKind};
use tokio::time::Instant;

/// So many rows are asked for at once.
const AT_ONCE: usize = 16;

/// One of the locks that are wanted together.
struct Wanted<'a> {
    kind: Kind,
    key: &'a Key,
    claim: &'a Claim,
    under: &'a [Claim],
    lease: Duration,
}

impl<'a> Wanted<'a> {
    fn of(step: &'a Step) -> Option<Self> {
        let Operation::Acquire { claim, under, lease, .. } = &step.operation else { return None };
        Some(Self { kind: step.kind, key: &step.key, claim, under, lease: *lease })
    }
}

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
    pub(crate) async fn acquire_all(self: &Arc<Self>, steps: &[Step], until: Instant) -> Result<Applied, Failure> {
        let wanted: Vec<Wanted<'_>> = steps.iter().filter_map(Wanted::of).collect();
        if wanted.len() < steps.len() {
            return Ok(Applied::Apart);
        }
        let _turns = self.turns.take_all(wanted.iter().map(|one| one.key)).await;
        self.has_room_for(&wanted)?;
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
            let rowless: Vec<usize> = (0..at).filter(|before| matches!(rows[*before], Row::None)).collect();
            self.let_go_all(rows, until).await;
            why?;
            return self.first_in_the_way(steps, &rowless, at, until).await;
        }
        let grounds: Vec<Ground<'_>> = rows.iter().map(Row::ground).collect();
        let ask = Ask { batch: Batch::all_or_none(steps), grounds: &grounds };
        let taken = self.take(ask, until).await;
        drop(grounds);
        self.settle(&wanted, rows, taken, until).await
    }

    /// A set that can never be had is refused: whoever waited for it would do so for ever.
    fn has_room_for(&self, wanted: &[Wanted<'_>]) -> Result<(), Failure> {
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
    async fn first_in_the_way(
        &self,
        steps: &[Step],
        before: &[usize],
        last: usize,
        until: Instant,
    ) -> Result<Applied, Failure> {
        for at in before.iter().copied() {
            let answer = steps::look(&self.sides, Ask::plain(Batch::one(&steps[at])), until).await?;
            if !matches!(answer, Outcome::Granted(_)) {
                return Ok(Applied::Stopped { at, answer: Ok(answer) });
            }
        }
        let ask = Ask { batch: Batch::one(&steps[last]), grounds: &[Ground::NoRow] };
        let answer = steps::look(&self.sides, ask, until).await.map_err(Failure::into_store);
        Ok(Applied::Stopped { at: last, answer })
    }

    /// The row of a lock, if it needs one; nothing if others have it who are in the way.
    async fn row_of(self: &Arc<Self>, wanted: &Wanted<'_>, until: Instant) -> Result<Option<Row>, Failure> {
        if wanted.kind != Kind::Reentrant {
            return Ok(Some(Row::None));
        }
        if let Some(grip) = self.grip(wanted.key, wanted.claim) {
            if grip.lasts(wanted.lease, until).await? {
                return Ok(Some(Row::Again(grip.name.clone())));
            }
            self.leave(wanted.key, wanted.claim, until).await;
        }
        match self.row(wanted.key, Stay::No, until).await? {
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
        wanted: &[Wanted<'_>],
        rows: Vec<Row>,
        taken: Result<Taken, Failure>,
        until: Instant,
    ) -> Result<Applied, Failure> {
        match taken.map_err(Failure::into_store) {
            Ok(Taken { applied, .. }) => {
                match &applied {
                    Applied::Each(_) => self.hold_all(wanted, rows, until).await,
                    _ => self.let_go_all(rows, until).await,
                }
                Ok(applied)
            }
            Err(error) => {
                match error.kind {
                    StoreErrorKind::Unanswered => self.hold_all(wanted, rows, until).await,
                    _ => self.let_go_all(rows, until).await,
                }
                Err(error.into())
            }
        }
    }

    async fn hold_all(self: &Arc<Self>, wanted: &[Wanted<'_>], rows: Vec<Row>, until: Instant) {
        for (Wanted { key, claim, lease, .. }, row) in wanted.iter().zip(rows) {
            match row {
                Row::Ours(session) => self.hold(key, claim, session, *lease),
                Row::Again(_) => {
                    if let Some(grip) = self.grip(key, claim) {
                        grip.extend(*lease);
                    }
                }
                Row::Theirs => _ = self.extend(key, claim, *lease, until).await,
                Row::None => {}
            }
        }
    }
}
