//! A claim on its way: what was asked for it is undone unless a guard takes over.

use super::{Demand, Whose, terms};
use crate::alive::Living;
use crate::guard::Guard;
use crate::hold::{Granted, Hold};
use crate::inner::Inner;
use crate::janitor::Chore;
use crate::{Moment, Options, Step, StoreError, StoreErrorKind};
use std::sync::Arc;
use std::time::Duration;
use tenure_kernel::{Claim, Key, Kind, Operation, Outcome, Stay, Want};

/// A claim that undoes itself: armed before the first byte is sent, disarmed when a guard takes over.
pub(super) struct Armed<'a> {
    client: &'a Arc<Inner>,
    kind: Kind,
    key: &'a Key,
    under: Vec<Claim>,
    demand: Option<Demand>,
    lease: Duration,
    pub(super) claim: Claim,
    /// Until a guard takes over.
    living: Arc<Living>,
    /// A request is under way.
    asking: bool,
    /// What the store has of the claim, by its last answer.
    has: Has,
    /// An earlier request was never answered and might still arrive.
    ghost: bool,
}

/// What a store has of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Has {
    Nothing,
    /// A place in line.
    Place,
    /// A grant.
    Hold,
}

impl<'a> Armed<'a> {
    pub(super) fn new(client: &'a Arc<Inner>, (kind, key): (Kind, &'a Key), under: &[Claim], lease: Duration) -> Self {
        let (claim, living) = client.shared.fresh_claim(key, !under.is_empty());
        let (under, living, demand) = (under.to_vec(), Arc::new(living), None);
        Self { client, kind, key, under, demand, lease, claim, living, asking: false, has: Has::Nothing, ghost: false }
    }

    /// For permits of a semaphore.
    pub(super) fn demanding(mut self, demand: Option<Demand>) -> Self {
        self.demand = demand;
        self
    }

    pub(super) async fn ask(&mut self, stay: Stay, within: Duration) -> Result<Outcome, StoreError> {
        let (claim, lease) = (self.claim.clone(), self.lease);
        let operation = match &self.demand {
            None => self.acquires(stay),
            Some(Demand { want, of }) => Operation::Take { claim, want: want.clone(), of: *of, lease, stay },
        };
        self.asking = true;
        let answer = self.client.shared.apply(self.kind, self.key, &operation, within).await;
        self.asking = false;
        match &answer {
            Ok(Outcome::Granted(_)) => self.has = Has::Hold,
            Ok(Outcome::Busy(busy)) => self.has = if busy.ahead.is_some() { Has::Place } else { Has::Nothing },
            Err(error) if error.kind == StoreErrorKind::Unanswered => self.ghost = true,
            _ => {}
        }
        answer
    }

    fn acquires(&self, stay: Stay) -> Operation {
        Operation::Acquire { claim: self.claim.clone(), under: self.under.clone(), lease: self.lease, stay }
    }

    /// What to ask of a store that is asked for several at one moment. From here on the request is under way. Nobody stays who
    /// asks for several at once: it could stand in one line only.
    pub(super) fn asks_with_others(&mut self) -> Step {
        self.asking = true;
        Step::new(self.kind, self.key, self.acquires(Stay::No))
    }

    /// It was answered; `granted` is none if it was not, and might still arrive.
    pub(super) fn answered_with_others(&mut self, granted: Option<bool>) {
        self.asking = false;
        match granted {
            Some(true) => self.has = Has::Hold,
            Some(false) => {}
            None => self.ghost = true,
        }
    }

    pub(super) fn into_guard(mut self, token: u64, options: &Options, whose: Whose, sent: Moment) -> Guard {
        let Whose { owner, section } = whose;
        // Before the claim is disarmed: nobody would ever release a lock that is renewed without a guard.
        let span = Guard::span(self.key, &self.claim, token);
        let granted = Granted {
            kind: self.kind,
            key: self.key.clone(),
            claim: self.claim.clone(),
            living: Arc::clone(&self.living),
            under: std::mem::take(&mut self.under),
            owner,
            section,
            ghost: self.ghost,
        };
        let hold = Arc::new(Hold::new(granted, token, terms(options), sent));
        (self.has, self.ghost) = (Has::Nothing, false);
        Guard::of_new_hold(self.client, &hold, sent, span)
    }
}

impl Drop for Armed<'_> {
    fn drop(&mut self) {
        if !self.client.shared.origin.is_here() {
            return;
        }
        // What is still under way might be applied after all, and is refused from now on. A place in line is just left.
        let remember = self.asking || self.ghost || self.has == Has::Hold;
        if remember || self.has == Has::Place {
            let (kind, key, claim) = (self.kind, self.key.clone(), self.claim.clone());
            let ids = match self.demand.take() {
                Some(Demand { want: Want::Named(ids), .. }) => ids,
                _ => Vec::new(),
            };
            self.client.shared.later(Chore::Cancel { kind, key, claim, ids, lease: self.lease, remember });
        }
    }
}
