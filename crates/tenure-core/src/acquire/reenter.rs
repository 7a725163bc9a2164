//! Going in again under a claim that holds.

use super::{Patience, terms};
use crate::guard::Guard;
use crate::hold::{Hold, Left, Standing, Tally};
use crate::inner::Inner;
use crate::{Error, Options, StoreError, StoreErrorKind};
use std::sync::Arc;
use std::time::Duration;
use tenure_kernel::{Operation, Outcome};

/// Goes in once more under a hold. None if the hold is over.
pub(crate) async fn reenter(
    client: &Arc<Inner>,
    hold: &Arc<Hold>,
    options: &Options,
    patience: Patience,
) -> Result<Option<Guard>, Error> {
    let shared = &client.shared;
    let now = shared.clock.now();
    let Some(entry) = hold.prepare_entry(terms(options), now) else { return Ok(None) };
    let mut entering = Entering { client, hold, entry, sent: false, armed: true };
    loop {
        let sent = shared.clock.now();
        let Some(Tally { entries: count, change, .. }) = hold.tally(sent) else { return Ok(None) };
        let claim = hold.claim.clone();
        let operation = Operation::Reenter { claim, entry, count, change, lease: options.span() };
        if !entering.sent {
            hold.asks();
        }
        entering.sent = true;
        let within = client.answer_within.min(patience.left(sent));
        match shared.apply(hold.kind, &hold.key, &operation, within).await {
            Ok(Outcome::Granted(_)) => {
                hold.answered();
                hold.confirm_entry(entry, shared.clock.now(), sent);
                shared.agenda.move_to(hold, hold.next_look());
                if matches!(hold.standing(entry, shared.clock.now()), Standing::Lost(_)) {
                    // Let in so late that it is over already. If the hold is over too, the caller waits for the lock;
                    // if not, it would wait for itself.
                    if !hold.is_live(shared.clock.now()) {
                        return Ok(None);
                    }
                    let slow =
                        StoreError::new(StoreErrorKind::Unreachable, "the store answers later than the lease lasts");
                    return Err(Error::from_store(Some(&hold.key), slow));
                }
                // Before it is disarmed: nobody would ever leave an entry without a guard.
                let span = Guard::span(&hold.key, &hold.claim, hold.token);
                entering.armed = false;
                return Ok(Some(Guard::of_entry(client, Arc::clone(hold), entry, span)));
            }
            Ok(_) => {
                hold.answered();
                entering.sent = false;
                crate::watchdog::lose(shared, hold, crate::Loss::Gone);
                return Ok(None);
            }
            Err(error)
                if error.is_transient()
                    && hold.is_live(shared.clock.now())
                    && !patience.is_over(shared.clock.now()) =>
            {
                shared.clock.sleep_until(sent.plus(Duration::from_millis(50))).await;
            }
            Err(error) => return Err(Error::from_store(Some(&hold.key), error)),
        }
    }
}

/// A re-entry that undoes itself unless a guard takes over.
struct Entering<'a> {
    client: &'a Arc<Inner>,
    hold: &'a Arc<Hold>,
    entry: u32,
    sent: bool,
    armed: bool,
}

impl Drop for Entering<'_> {
    fn drop(&mut self) {
        let shared = &self.client.shared;
        if !self.armed || !shared.origin.is_here() {
            return;
        }
        let left = self.hold.leave(self.entry, shared.clock.now(), self.sent);
        if let Left::Lost(..) = left {
            shared.signals.tell(self.hold);
        }
        match left {
            Left::Well(leaving) | Left::Lost(_, Some(leaving)) => shared.leave_later(self.hold, leaving),
            Left::Lost(_, None) => {}
        }
    }
}
