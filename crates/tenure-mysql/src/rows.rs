//! The re-entrant lock: whoever has the row of a key, and is written down for it, is in.

use crate::desk::Desk;
use crate::error::Failure;
use crate::name::name;
use crate::session::{Row, Session, Wait};
use crate::sheet::Ground;
use crate::steps::{self, Ask};
use futures_util::future::join_all;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::kernel::Stay;
use tenure_core::{Applied, Batch, Claim, Key, Kind, Operation, Outcome, Step, StoreErrorKind};
use tokio::time::Instant;

/// How often it is looked whether a session that was ended is gone.
const LOOK: Duration = Duration::from_millis(2);

/// Who asks for the row.
struct Asker<'a> {
    step: &'a Step,
    claim: &'a Claim,
    lease: Duration,
    stay: Stay,
}

impl Desk {
    /// Does to a re-entrant lock what is asked.
    pub(crate) async fn of_row(self: &Arc<Self>, step: &Step, until: Instant) -> Result<Outcome, Failure> {
        match &step.operation {
            Operation::Acquire { claim, under, lease, stay } => {
                self.acquire(&Asker { step, claim, lease: *lease, stay: *stay }, under, until).await
            }
            Operation::Release { claim, lease, keep, .. } => self.release(step, (claim, *lease, *keep), until).await,
            Operation::Renew { claim, lease } | Operation::Reenter { claim, lease, .. } => {
                let outcome = self.step(step, Ground::Sheet, until).await?;
                if let Outcome::Renewed | Outcome::Granted(_) = &outcome
                    && !self.extend(&step.key, claim, *lease, until).await?
                {
                    return Ok(Outcome::NotHeld);
                }
                Ok(outcome)
            }
            _ => self.step(step, Ground::Sheet, until).await,
        }
    }

    async fn acquire(self: &Arc<Self>, asker: &Asker<'_>, under: &[Claim], until: Instant) -> Result<Outcome, Failure> {
        let Asker { step, claim, lease, stay } = asker;
        let key = &step.key;
        if let Some(grip) = self.grip(key, claim) {
            if grip.lasts(*lease, until).await? {
                // It asks once more: the row is its own.
                let outcome = self.step(step, Ground::Row(&grip.name), until).await?;
                match outcome {
                    Outcome::Granted(_) => grip.extend(*lease),
                    _ => self.leave(key, claim, until).await,
                }
                return Ok(outcome);
            }
            // It had the row by a session that was ended, and comes anew.
            self.leave(key, claim, until).await;
        }
        if let Some(session) = self.row(key, *stay, until).await? {
            return self.go_in(asker, session, until).await;
        }
        // Only one who stands under others can go in where somebody is.
        let outcome = match under {
            [] => steps::look(&self.sides, Ask { batch: Batch::one(step), grounds: &[Ground::NoRow] }, until).await?,
            _ => self.step(step, Ground::NoRow, until).await?,
        };
        match (&outcome, stay) {
            (Outcome::Granted(_), _) => _ = self.extend(key, claim, *lease, until).await,
            (Outcome::Busy(_), Stay::Waits | Stay::Waited { .. }) => self.wait_for(key),
            _ => {}
        }
        Ok(outcome)
    }

    /// A session that has the row of a key, unless somebody else has it.
    pub(crate) async fn row(
        self: &Arc<Self>,
        key: &Key,
        stay: Stay,
        until: Instant,
    ) -> Result<Option<Session>, Failure> {
        if let Some(session) = self.got(key, until).await {
            return Ok(Some(session));
        }
        if stay != Stay::No && self.waits_for(key) {
            return Ok(None);
        }
        let name = name(key);
        let (mut session, mut rested) = self.session(until).await?;
        loop {
            match session.lock(&name, Wait::No, until).await {
                Ok(Row::Ours) => return Ok(Some(session)),
                Ok(Row::Taken) => {
                    self.let_go(session, until).await;
                    return Ok(None);
                }
                Ok(Row::Missing) => {
                    session.let_go(until).await?;
                    self.make_row(key, until).await?;
                }
                Err(failure) if failure.is_gone() && rested => (session, rested) = self.session(until).await?,
                Err(failure) => return Err(failure),
            }
        }
    }

    /// The row is ours: all that is left to do is to write ourselves down, unless the record says no.
    async fn go_in(
        self: &Arc<Self>,
        asker: &Asker<'_>,
        mut session: Session,
        until: Instant,
    ) -> Result<Outcome, Failure> {
        let Asker { step, claim, lease, stay } = asker;
        let key = &step.key;
        if let Err(failure) = session.lease(*lease, until).await {
            self.let_go(session, until).await;
            return Err(failure);
        }
        let name = session.name.clone();
        match self.step(step, Ground::Row(&name), until).await {
            Ok(Outcome::Granted(grant)) => {
                self.hold(key, claim, session, *lease);
                if *stay == (Stay::Waited { more: true }) {
                    // The next of our own does not ask before it is woken.
                    self.wait_for(key);
                }
                Ok(Outcome::Granted(grant))
            }
            Ok(outcome) => {
                self.let_go(session, until).await;
                Ok(outcome)
            }
            Err(failure) => {
                let error = failure.into_store();
                if error.kind == StoreErrorKind::Unanswered {
                    // It may be written down. Whoever asks again finds the row its own, and whoever gives up releases it.
                    self.hold(key, claim, session, *lease);
                } else {
                    self.let_go(session, until).await;
                }
                Err(error.into())
            }
        }
    }

    async fn release(
        self: &Arc<Self>,
        step: &Step,
        (claim, lease, keep): (&Claim, Duration, Duration),
        until: Instant,
    ) -> Result<Outcome, Failure> {
        let outcome = self.step(step, Ground::Sheet, until).await?;
        let key = &step.key;
        match (&outcome, self.grip(key, claim)) {
            (Outcome::StillHeld(_), Some(_)) => _ = self.extend(key, claim, lease, until).await,
            // Nobody gets the row before the time is over, whoever asks for it in a transaction included.
            (Outcome::Kept, Some(grip)) => grip.end_in(keep),
            (_, Some(_)) => self.leave(key, claim, until).await,
            (_, None) => {}
        }
        Ok(outcome)
    }

    /// Renews many holds in one transaction. One whose session is silent keeps no other waiting.
    pub(crate) async fn renew(self: &Arc<Self>, batch: Batch<'_>, until: Instant) -> Result<Applied, Failure> {
        let taken = self.take(Ask::plain(batch), until).await?;
        let Applied::Each(answers) = taken.applied else { return Ok(taken.applied) };
        let renewed = batch.steps.iter().zip(answers).map(async |(step, answer)| match (&answer, &step.operation) {
            (Ok(Outcome::Renewed), Operation::Renew { claim, lease }) if step.kind == Kind::Reentrant => {
                match self.extend(&step.key, claim, *lease, until).await {
                    Ok(true) => answer,
                    Ok(false) => Ok(Outcome::NotHeld),
                    Err(failure) => Err(failure.into_store()),
                }
            }
            _ => answer,
        });
        Ok(Applied::Each(join_all(renewed).await))
    }

    /// Frees a lock by force: the session that has the row is ended.
    pub(crate) async fn force(self: &Arc<Self>, step: &Step, until: Instant) -> Result<Outcome, Failure> {
        let taken = self.take(Ask::plain(Batch::one(step)), until).await?;
        for (session, _) in &taken.put_out {
            // The row is free when the session is gone, and not before. It is on its way out, whether or not we can see that.
            while Instant::now() < until
                && self.connection_of(session, until).await.is_ok_and(|number| number.is_some())
            {
                tokio::time::sleep(LOOK).await;
            }
        }
        Ok(taken.applied.single()?)
    }
}
