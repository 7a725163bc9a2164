//! What servers are told to refuse of a claim that leaves for good: with it all that is over of its client, so that what they
//! remember does not grow with the claims that have left.

use std::sync::OnceLock;
use std::time::Duration;
use tenure_core::kernel::{Cancelled, FIRST_ENTRY, Span, Spot};
use tenure_core::{Claim, Key, Operation, Over};

/// What the client asks for no more.
#[derive(Default)]
pub(super) struct GivenUp(OnceLock<Over>);

impl GivenUp {
    /// For this client. Another one's claims are refused each by itself.
    pub(super) fn attach(&self, over: Over) {
        let _ = self.0.set(over);
    }

    /// A claim is over: none of its requests is to be let in, should one still be on its way.
    pub(super) fn cancel(&self, key: &Key, claim: &Claim, lease: Duration) -> Cancelled {
        let spans = self.0.get().and_then(|over| over.up_to(key, claim)).unwrap_or_else(|| alone(claim));
        Cancelled { spans, remember: Cancelled::memory(lease) }
    }

    /// It leaves for good, whatever the server has of it, and a request that is still on its way is kept out.
    pub(super) fn leave(&self, key: &Key, claim: &Claim, lease: Duration) -> Operation {
        let cancel = Some(self.cancel(key, claim, lease));
        Operation::Release { claim: claim.clone(), left: 0, change: u32::MAX, lease, keep: Duration::ZERO, cancel }
    }
}

/// All of one claim.
fn alone(claim: &Claim) -> Vec<Span> {
    let spot = |entry| claim.number().map(|claim| Spot { claim, entry });
    let all = spot(FIRST_ENTRY).zip(spot(u32::MAX)).map(|(since, until)| Span { since, until });
    all.into_iter().collect()
}
