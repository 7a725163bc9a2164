//! One caller's wait for a lock: subscribers hear when it begins and how it ends, and the log when it is long.

use crate::event::{WaitEnd, What};
use crate::inner::Inner;
use crate::lock::ASK_WHO;
use crate::{Moment, Options, Owner};
use futures_util::future::BoxFuture;
use std::fmt::Write;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tenure_kernel::{Busy, Claim, Counting, Holder, Key, Kind, Operation, Outcome};

/// So many of this client's own locks are named at the most.
const NAMED: usize = 5;

/// A wait that may come. Nothing is heard of one that never [begins](Wait::begin).
pub(crate) struct Wait<'a> {
    client: &'a Inner,
    kind: Kind,
    key: &'a Key,
    owner: Option<Owner>,
    began: Moment,
    warn_after: Duration,
    warning: Mutex<Warning<'a>>,
    /// As whom we wait, once we do.
    claim: Option<Claim>,
    end: WaitEnd,
}

/// What becomes of the warning of a wait that is long. It goes on from where it was whenever somebody waits: who asks often would
/// never see the end of a look at the holder otherwise.
enum Warning<'a> {
    /// Nobody has waited so far, and most never do.
    None,
    UnderWay(BoxFuture<'a, ()>),
    Written,
}

impl<'a> Wait<'a> {
    pub(crate) fn new(
        client: &'a Inner,
        (kind, key): (Kind, &'a Key),
        options: &Options,
        owner: Option<&Owner>,
        began: Moment,
    ) -> Self {
        // Until something else is known of it, it was given up.
        let (warning, claim, end) = (Mutex::new(Warning::None), None, WaitEnd::Cancelled);
        let (warn_after, owner) = (options.warn_waiting_after, owner.cloned());
        Self { client, kind, key, owner, began, warn_after, warning, claim, end }
    }

    /// Subscribers hear once that this claim waits. Of a store that has not been asked yet, what others of this client were
    /// told last is said.
    pub(crate) fn begin(&mut self, claim: &Claim, busy: Option<&Busy>) {
        if self.claim.is_some() {
            return;
        }
        self.claim = Some(claim.clone());
        let shared = &self.client.shared;
        shared.say_of((self.kind, self.key), claim, || match busy {
            Some(Busy { holder, ahead, votes, .. }) => {
                What::Waiting { holder: holder.clone(), ahead: *ahead, votes: votes.clone() }
            }
            None => What::Waiting { holder: shared.busy.holder(self.key, self.began), ahead: None, votes: Vec::new() },
        });
    }

    /// The same for one whom the store does not know as a claim.
    pub(crate) fn begin_unknown(&mut self) {
        let shared = &self.client.shared;
        shared.busy.is_ours(self.key, shared.clock.now());
        self.begin_unanswered();
    }

    /// The same for one whom a silent store has told nothing.
    pub(crate) fn begin_unanswered(&mut self) {
        if self.claim.is_none() {
            let (claim, _) = self.client.shared.fresh_claim(self.key, false);
            self.begin(&claim, None);
        }
    }

    /// How it ends, when this is dropped.
    pub(crate) fn ends(&mut self, end: WaitEnd) {
        self.end = end;
    }

    /// Waits, and warns when that takes long.
    pub(crate) async fn endure<T>(&self, waiting: impl Future<Output = T>) -> T {
        let mut waiting = pin!(waiting);
        poll_fn(|context| {
            let outcome = waiting.as_mut().poll(context);
            if outcome.is_pending() {
                self.go_on_warning(context);
            }
            outcome
        })
        .await
    }

    fn go_on_warning(&self, context: &mut Context<'_>) {
        // Nobody else ever has it: it is there to be polled by one who has but a reference.
        let mut warning = self.warning.lock().unwrap_or_else(PoisonError::into_inner);
        if let Warning::None = *warning {
            let (client, kind, key, owner) = (self.client, self.kind, self.key, self.owner.clone());
            let long = Long { client, kind, key, owner, began: self.began, warn_after: self.warn_after };
            *warning = Warning::UnderWay(Box::pin(async move { long.warn().await }));
        }
        if let Warning::UnderWay(under_way) = &mut *warning
            && let Poll::Ready(()) = under_way.as_mut().poll(context)
        {
            *warning = Warning::Written;
        }
    }
}

/// One that may be long.
struct Long<'a> {
    client: &'a Inner,
    kind: Kind,
    key: &'a Key,
    owner: Option<Owner>,
    began: Moment,
    warn_after: Duration,
}

impl Long<'_> {
    /// Warns when it is long. Of all that wait for the same lock for long, one at a time is written of: the others look again later,
    /// for the one that was may have given up meanwhile.
    async fn warn(self) {
        let clock = &self.client.shared.clock;
        let mut at = self.began;
        loop {
            at = at.plus(self.warn_after).max(clock.now());
            clock.sleep_until(at).await;
            if self.client.shared.busy.is_to_be_warned_of(self.key, clock.now(), self.warn_after) && self.look().await {
                return;
            }
            at = at.max(clock.now());
        }
    }

    /// Whether it may be written now. Another may have been while the holder was looked at.
    fn is_first(&self) -> bool {
        let shared = &self.client.shared;
        shared.busy.warns(self.key, shared.clock.now(), self.warn_after)
    }

    /// Looks who holds the lock, and writes of it; whether it did.
    async fn look(&self) -> bool {
        let shared = &self.client.shared;
        if self.kind == Kind::Latch {
            return self.speak_of_latch().await;
        }
        let holder = match shared.apply(self.kind, self.key, &Operation::Inspect, ASK_WHO).await {
            Ok(Outcome::Seen(Some(sight))) => sight.holders.into_iter().next(),
            _ => shared.busy.holder(self.key, self.began),
        };
        let is_known = holder.is_some();
        let (is_ours, holder) = match holder {
            Some(holder) => self.name(&holder).await,
            None => (false, "not known".to_owned()),
        };
        let held = self.held_here();
        let advice = if is_ours {
            "this very process holds it, and if its holder waits for whoever wants it, neither goes on: pass the guard on \
             instead, or let one owner take both (`Options::owner`)"
        } else if self.kind.has_permits() && !is_known {
            "nobody has permits of it: say how many there are (`of`, `set_permits`)"
        } else if held.is_empty() {
            "its holder has not released it"
        } else {
            "if its holder waits for one of the locks that are held here, neither goes on: take locks in one order everywhere, \
             or together (`Client::multi`)"
        };
        if !self.is_first() {
            return false;
        }
        let waited = shared.clock.now().since(self.began);
        tracing::warn!(key = %self.key, kind = %self.kind, ?waited, holder, held_here = held, "long wait for a lock: {advice}");
        true
    }

    /// A latch says nothing of how long it takes to open, so that this is no warning.
    async fn speak_of_latch(&self) -> bool {
        let shared = &self.client.shared;
        let look = Operation::Count(Counting::Look);
        let left = match shared.apply(self.kind, self.key, &look, ASK_WHO).await {
            Ok(Outcome::Latch(latch)) => Some(latch.count),
            _ => None,
        };
        if !self.is_first() {
            return false;
        }
        let (waited, held) = (shared.clock.now().since(self.began), self.held_here());
        tracing::info!(
            key = %self.key,
            kind = %self.kind,
            ?waited,
            still_to_count = left,
            held_here = held,
            "long wait for a latch: look whether those who are to count it down still run, and whether they wait for a lock that is \
             held here; `Latch::set` and `Latch::delete` mend its count"
        );
        true
    }

    /// Whether a holder is this very process, and what people know it by.
    async fn name(&self, holder: &Holder) -> (bool, String) {
        let shared = &self.client.shared;
        let id = holder.claim.client();
        if id == shared.id {
            return (true, format!("{} ({})", holder.claim, shared.card));
        }
        match shared.backend.look_up(id, ASK_WHO).await.ok().flatten() {
            Some(card) => {
                let is_ours = card.host == shared.card.host && card.pid == shared.card.pid;
                (is_ours, format!("{} ({card})", holder.claim))
            }
            None => (false, holder.claim.to_string()),
        }
    }

    /// What our owner holds by this client, or else what anybody does.
    fn held_here(&self) -> String {
        let mut holds = self.client.shared.agenda.all();
        if self.owner.is_some() && holds.iter().any(|hold| hold.owner == self.owner) {
            holds.retain(|hold| hold.owner == self.owner);
        }
        let mut named = String::new();
        for hold in holds.iter().take(NAMED) {
            let _ = write!(named, "{}{}", if named.is_empty() { "" } else { " " }, hold.key);
        }
        if holds.len() > NAMED {
            let _ = write!(named, " and {} more", holds.len() - NAMED);
        }
        named
    }
}

impl Drop for Wait<'_> {
    /// Whoever was told that we wait is told that we do no longer, also when we were cancelled.
    fn drop(&mut self) {
        let shared = &self.client.shared;
        let Some(claim) = self.claim.as_ref().filter(|_| shared.origin.is_here()) else { return };
        let (waited, end) = (shared.clock.now().since(self.began), self.end);
        shared.say_of((self.kind, self.key), claim, || What::Waited { waited, end });
    }
}
