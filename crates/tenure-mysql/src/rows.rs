//! The re-entrant lock: whoever has the row of a key, and is written down for it, is in.

use crate::desk::Desk;
use crate::error::Failure;
use crate::name::name;
use crate::session::{Row, Session, Wait};
use crate::sheet::{Ask, Ground};
use crate::steps;
use futures_util::future::join_all;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::kernel::Stay;
use tenure_core::{Claim, Key, Kind, Lasts, Operation, Outcome, Renewal, StoreErrorKind};
use tokio::time::Instant;

/// How often it is looked whether a session that was ended is gone.
const LOOK: Duration = Duration::from_millis(2);

/// Who asks for the row.
struct Asker<'a> {
    key: &'a Key,
    claim: &'a Claim,
    operation: &'a Operation,
    lease: Duration,
    stay: Stay,
}

impl Desk {
    /// Does to a re-entrant lock what is asked.
    pub(crate) async fn of_row(
        self: &Arc<Self>,
        key: &Key,
        operation: &Operation,
        until: Instant,
    ) -> Result<Outcome, Failure> {
        match operation {
            Operation::Acquire { claim, under, lease, stay } => {
                let asker = Asker { key, claim, operation, lease: *lease, stay: *stay };
                self.acquire(&asker, under, until).await
            }
            Operation::Release { claim, lease, keep, .. } => {
                self.release(key, operation, (claim, *lease, *keep), until).await
            }
            Operation::Renew { claim, lease } | Operation::Reenter { claim, lease, .. } => {
                let outcome = self.step(&ask(key, operation, Ground::Sheet), until).await?.outcome;
                if let Outcome::Renewed | Outcome::Granted(_) = &outcome
                    && !self.extend(key, claim, *lease, until).await?
                {
                    return Ok(Outcome::NotHeld);
                }
                Ok(outcome)
            }
            _ => Ok(self.step(&ask(key, operation, Ground::Sheet), until).await?.outcome),
        }
    }

    async fn acquire(self: &Arc<Self>, asker: &Asker<'_>, under: &[Claim], until: Instant) -> Result<Outcome, Failure> {
        let Asker { key, claim, operation, lease, stay } = asker;
        if let Some(grip) = self.grip(key, claim) {
            if grip.lasts(*lease, until).await? {
                // It asks once more: the row is its own.
                let outcome = self.step(&ask(key, operation, Ground::Row(&grip.name)), until).await?.outcome;
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
        let ask = ask(key, operation, Ground::NoRow);
        // Only one who stands under others can go in where somebody is.
        let outcome = match under {
            [] => steps::look(&self.sides, &ask, until).await?,
            _ => self.step(&ask, until).await?.outcome,
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
        let Asker { key, claim, operation, lease, stay } = asker;
        if let Err(failure) = session.lease(*lease, until).await {
            self.let_go(session, until).await;
            return Err(failure);
        }
        let name = session.name.clone();
        match self.step(&ask(key, operation, Ground::Row(&name)), until).await.map(|done| done.outcome) {
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
        key: &Key,
        operation: &Operation,
        (claim, lease, keep): (&Claim, Duration, Duration),
        until: Instant,
    ) -> Result<Outcome, Failure> {
        let outcome = self.step(&ask(key, operation, Ground::Sheet), until).await?.outcome;
        match (&outcome, self.grip(key, claim)) {
            (Outcome::StillHeld(_), Some(_)) => _ = self.extend(key, claim, lease, until).await,
            // Nobody gets the row before the time is over, whoever asks for it in a transaction included.
            (Outcome::Kept, Some(grip)) => grip.end_in(keep),
            (_, Some(_)) => self.leave(key, claim, until).await,
            (_, None) => {}
        }
        Ok(outcome)
    }

    /// Renews many holds in one transaction; for each, whether it still holds. One whose session is silent keeps no other waiting.
    pub(crate) async fn renew(self: &Arc<Self>, renewals: &[Renewal], until: Instant) -> Result<Vec<Lasts>, Failure> {
        let operations: Vec<Operation> = renewals
            .iter()
            .map(|renewal| Operation::Renew { claim: renewal.claim.clone(), lease: renewal.lease })
            .collect();
        let asks: Vec<Ask<'_>> = renewals
            .iter()
            .zip(&operations)
            .map(|(Renewal { kind, key, .. }, operation)| Ask { kind: *kind, key, operation, ground: Ground::Sheet })
            .collect();
        let done = steps::step_all(&self.sides, &asks, until, false).await?;
        let lasts = renewals.iter().zip(&done).map(async |(renewal, done)| {
            if done.outcome != Outcome::Renewed {
                return Lasts::No;
            }
            self.holds_for(renewal.lease);
            if renewal.kind != Kind::Reentrant {
                return Lasts::Yes;
            }
            let extended = self.extend(&renewal.key, &renewal.claim, renewal.lease, until).await;
            extended.map_or_else(|failure| Lasts::Unknown(failure.into_store()), Lasts::from)
        });
        Ok(join_all(lasts).await)
    }

    /// Frees a lock by force: the session that has the row is ended.
    pub(crate) async fn force(self: &Arc<Self>, kind: Kind, key: &Key, until: Instant) -> Result<Outcome, Failure> {
        let ask = Ask { kind, key, operation: &Operation::ForceRelease, ground: Ground::Sheet };
        let done = self.step(&ask, until).await?;
        if let Some((session, _)) = &done.put_out {
            // The row is free when the session is gone, and not before. It is on its way out, whether or not we can see that.
            while Instant::now() < until
                && self.connection_of(session, until).await.is_ok_and(|number| number.is_some())
            {
                tokio::time::sleep(LOOK).await;
            }
        }
        Ok(done.outcome)
    }
}

fn ask<'a>(key: &'a Key, operation: &'a Operation, ground: Ground<'a>) -> Ask<'a> {
    Ask { kind: Kind::Reentrant, key, operation, ground }
}
