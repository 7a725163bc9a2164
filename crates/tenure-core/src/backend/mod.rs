//! The narrow waist: what a store must do for a client, and nothing more.

mod batch;
mod error;
mod store;

pub use batch::{Applied, Batch, Step};
pub use error::{StoreError, StoreErrorKind};
pub(crate) use store::DynBackend;
pub use store::Store;

use crate::{Card, Clock, Label, Over, Port};
use std::future::Future;
use std::time::Duration;
use tenure_kernel::{Key, Kind, Operation, Outcome, Pattern, Sight, Vote};

/// A place that applies a lock's steps atomically.
///
/// # Contract
///
/// * [`apply`](Backend::apply) runs each [`Step`] as [`tenure_kernel::step`] would, at one moment of the store's own
///   clock. It may be sent more than once; the operations are made for that.
/// * Every call answers, or fails with [`StoreErrorKind::Unanswered`], within the time it is given.
/// * An error other than `Unanswered` means that nothing was changed.
/// * Calls come from any runtime. What a backend spawns must not outlive the runtime it was called on in a way that
///   breaks calls from another: the client's own thread renews and releases on a runtime of its own, also while the
///   application's runtime is blocked or shutting down.
/// * Dropping a call's future may leave the operation applied or not; the client resolves it by asking again or by
///   cancelling the claim.
pub trait Backend: Send + Sync + 'static {
    /// What this backend promises.
    fn label(&self) -> Label;

    /// Where the store is, in words that are the same in every process that uses it, as far as that can be known, and
    /// without secrets. Whoever takes one key in several stores takes them in the order of these.
    fn address(&self) -> String;

    /// The clock by which guards of this backend are judged.
    fn clock(&self) -> Clock {
        Clock::system()
    }

    /// Makes sure that the store can be reached and lets us in.
    fn reach(&self, within: Duration) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Applies the steps of a batch, each at one moment, as if by itself. To look at a lock and to free it by force, its kind
    /// need not be the one it is held as.
    ///
    /// Of a batch of all or none all steps are taken at one moment, or none; asked again by the same claims, it says the same
    /// again, and one claim that was cancelled is enough to refuse all. A store that cannot do that for these steps says so
    /// ([`Applied::Apart`]), and is then asked for one after the other.
    fn apply(&self, batch: Batch<'_>, within: Duration) -> impl Future<Output = Result<Applied, StoreError>> + Send;

    /// Applies one step.
    fn apply_one(
        &self,
        kind: Kind,
        key: &Key,
        operation: &Operation,
        within: Duration,
    ) -> impl Future<Output = Result<Outcome, StoreError>> + Send {
        async move {
            let step = Step::new(kind, key, operation.clone());
            self.apply(Batch::one(&step), within).await?.single()
        }
    }

    /// All held locks whose keys match.
    fn list(
        &self,
        pattern: &Pattern,
        within: Duration,
    ) -> impl Future<Output = Result<Vec<(Key, Sight)>, StoreError>> + Send;

    /// Leaves a client's card in the store for a while; for no time at all, takes it away.
    fn announce(
        &self,
        client: &str,
        card: &Card,
        keep: Duration,
        within: Duration,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// The card of a client, if it left one.
    fn look_up(&self, client: &str, within: Duration) -> impl Future<Output = Result<Option<Card>, StoreError>> + Send;

    /// What each server says of a lock, where a majority of several keeps it; nothing where the store is one place.
    /// It is answered also if a majority is silent.
    fn votes(&self, _: Kind, _: &Key, _: Duration) -> impl Future<Output = Result<Vec<Vote>, StoreError>> + Send {
        std::future::ready(Ok(Vec::new()))
    }

    /// Whether those who stand in line for this kind are each called in a [`Topic`](crate::Topic) of their own, instead of
    /// over the client's.
    fn calls_apart(&self, kind: Kind) -> bool;

    /// Why this store has no locks of a kind, if it has none: then nobody is given a handle to one.
    fn refuses(&self, _: Kind) -> Option<&'static str> {
        None
    }

    /// Why this store cannot have a lock under a key, and what to do about it: it keeps something of its own under that name.
    /// Then nobody is given a handle to it. The key is as the store sees it, a client's prefix included.
    fn refuses_key(&self, _: &Key) -> Option<&'static str> {
        None
    }

    /// The longest that it keeps a lock for one who is not heard from, if there is such a bound besides
    /// [`Options::lease`](crate::Options::lease)'s own; and what to do about it.
    fn longest_lease(&self) -> Option<(Duration, &'static str)> {
        None
    }

    /// A client was built on this store, and has asked for nothing yet. A store that gives up claims of its own accord learns here
    /// what is over besides, so that what it refuses does not grow with them.
    fn attach(&self, _: Over) {}

    /// Whether a claim that was not granted is never asked for again, so that whoever waits asks with a fresh one each time.
    fn asks_anew(&self) -> bool {
        false
    }

    /// Carries wake-ups from the store to the client, for as long as the client lives; runs on the client's thread.
    fn listen(&self, port: Port) -> impl Future<Output = ()> + Send;
}
