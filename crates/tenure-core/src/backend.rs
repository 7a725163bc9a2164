//! The narrow waist: what a store must do for a client, and nothing more.

use crate::origin::Origin;
use crate::{Card, Clock, Joint, Label, Over, Port, Wanted};
use futures_util::future::BoxFuture;
use std::fmt;
use std::future::Future;
use std::time::Duration;
use tenure_kernel::{Claim, Key, Kind, Operation, Outcome, Pattern, Sight, Vote};

/// A place that applies a lock's steps atomically.
///
/// # Contract
///
/// * [`apply`](Backend::apply) runs one [`Operation`] as [`tenure_kernel::step`] would, at one moment of
///   the store's own clock. It may be sent more than once; the operations are made for that.
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

    /// Applies one operation to one lock. To look at a lock and to free it by force, its kind need not be the one it is
    /// held as.
    fn apply(
        &self,
        kind: Kind,
        key: &Key,
        operation: &Operation,
        within: Duration,
    ) -> impl Future<Output = Result<Outcome, StoreError>> + Send;

    /// Takes several locks at one moment, all or none, as [`apply`](Backend::apply) would take each: asked again by the
    /// same claims, it says the same again, and one claim that was cancelled is enough to refuse all. A store that cannot
    /// do that for these says so, and is then asked for one after the other. At most [`Wanted::MOST`] at a time.
    fn acquire_all(
        &self,
        wanted: &[Wanted],
        within: Duration,
    ) -> impl Future<Output = Result<Joint, StoreError>> + Send;

    /// Renews many holds at once and says for each whether it lasts. At most [`Renewal::BATCH`] at a time.
    fn renew(
        &self,
        renewals: &[Renewal],
        within: Duration,
    ) -> impl Future<Output = Result<Vec<Lasts>, StoreError>> + Send;

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

/// One hold to renew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renewal {
    /// The lock's kind.
    pub kind: Kind,
    /// The lock.
    pub key: Key,
    /// The claim that holds it.
    pub claim: Claim,
    /// How long at least it must then last.
    pub lease: Duration,
}

impl Renewal {
    /// How many holds one call renews at the most: enough to make calls rare, few enough to keep each one short.
    pub const BATCH: usize = 420;
}

/// Whether a hold that was to be renewed lasts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lasts {
    /// For as long as was asked, at least.
    Yes,
    /// The store does not know it any more.
    No,
    /// It could not be learned of this one, though it could of others: too few of several servers answered that know it.
    Unknown(StoreError),
}

impl From<bool> for Lasts {
    fn from(lasts: bool) -> Self {
        if lasts { Self::Yes } else { Self::No }
    }
}

/// Why a store did not do as it was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreError {
    /// What a caller can make of it.
    pub kind: StoreErrorKind,
    /// What happened, without secrets.
    pub message: String,
    /// What each server said, where a majority of several keeps the lock. The message says it too.
    pub votes: Vec<Vote>,
}

/// What a caller can make of a [`StoreError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// Nothing was sent, or the store said that it cannot now: try again later.
    Unreachable,
    /// It was sent and no answer came: it may have been done. Ask again.
    Unanswered,
    /// The store does not let us.
    Denied,
    /// The key is in use for something else.
    Conflict,
    /// The store cannot do this at all.
    Unsupported,
    /// An answer that makes no sense.
    Unexpected,
}

impl StoreError {
    /// An error of this kind.
    pub fn new(kind: StoreErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), votes: Vec::new() }
    }

    /// With what each server said, which becomes part of the message.
    #[must_use]
    pub fn with_votes(self, votes: Vec<Vote>) -> Self {
        Self { message: format!("{}: {}", self.message, Vote::told(&votes)), votes, ..self }
    }

    /// Whether the same request may succeed later.
    pub fn is_transient(&self) -> bool {
        matches!(self.kind, StoreErrorKind::Unreachable | StoreErrorKind::Unanswered)
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for StoreError {}

/// Any backend, its type forgotten: what a client is built on.
pub struct Store {
    pub(crate) backend: std::sync::Arc<dyn DynBackend>,
    /// Backends have threads and connections, which a fork does not copy.
    pub(crate) origin: Origin,
}

impl<B: Backend> From<B> for Store {
    fn from(backend: B) -> Self {
        Self { backend: std::sync::Arc::new(backend), origin: Origin::here() }
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Store({})", self.backend.label().name)
    }
}

/// The same trait with boxed futures, so that a client need not know its backend's type.
pub(crate) trait DynBackend: Send + Sync {
    fn label(&self) -> Label;
    fn address(&self) -> String;
    fn clock(&self) -> Clock;
    fn reach(&self, within: Duration) -> BoxFuture<'_, Result<(), StoreError>>;
    fn apply<'a>(
        &'a self,
        kind: Kind,
        key: &'a Key,
        operation: &'a Operation,
        within: Duration,
    ) -> BoxFuture<'a, Result<Outcome, StoreError>>;
    fn acquire_all<'a>(&'a self, wanted: &'a [Wanted], within: Duration) -> BoxFuture<'a, Result<Joint, StoreError>>;
    fn renew<'a>(&'a self, renewals: &'a [Renewal], within: Duration) -> BoxFuture<'a, Result<Vec<Lasts>, StoreError>>;
    fn list<'a>(
        &'a self,
        pattern: &'a Pattern,
        within: Duration,
    ) -> BoxFuture<'a, Result<Vec<(Key, Sight)>, StoreError>>;
    fn announce<'a>(
        &'a self,
        client: &'a str,
        card: &'a Card,
        keep: Duration,
        within: Duration,
    ) -> BoxFuture<'a, Result<(), StoreError>>;
    fn look_up<'a>(&'a self, client: &'a str, within: Duration) -> BoxFuture<'a, Result<Option<Card>, StoreError>>;
    fn votes<'a>(&'a self, kind: Kind, key: &'a Key, within: Duration) -> BoxFuture<'a, Result<Vec<Vote>, StoreError>>;
    fn calls_apart(&self, kind: Kind) -> bool;
    fn refuses(&self, kind: Kind) -> Option<&'static str>;
    fn refuses_key(&self, key: &Key) -> Option<&'static str>;
    fn longest_lease(&self) -> Option<(Duration, &'static str)>;
    fn attach(&self, over: Over);
    fn asks_anew(&self) -> bool;
    fn listen(&self, port: Port) -> BoxFuture<'_, ()>;
}

impl<B: Backend> DynBackend for B {
    fn label(&self) -> Label {
        Backend::label(self)
    }
    fn address(&self) -> String {
        Backend::address(self)
    }
    fn clock(&self) -> Clock {
        Backend::clock(self)
    }
    fn reach(&self, within: Duration) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(Backend::reach(self, within))
    }
    fn apply<'a>(
        &'a self,
        kind: Kind,
        key: &'a Key,
        operation: &'a Operation,
        within: Duration,
    ) -> BoxFuture<'a, Result<Outcome, StoreError>> {
        Box::pin(Backend::apply(self, kind, key, operation, within))
    }
    fn acquire_all<'a>(&'a self, wanted: &'a [Wanted], within: Duration) -> BoxFuture<'a, Result<Joint, StoreError>> {
        Box::pin(Backend::acquire_all(self, wanted, within))
    }
    fn renew<'a>(&'a self, renewals: &'a [Renewal], within: Duration) -> BoxFuture<'a, Result<Vec<Lasts>, StoreError>> {
        Box::pin(Backend::renew(self, renewals, within))
    }
    fn list<'a>(
        &'a self,
        pattern: &'a Pattern,
        within: Duration,
    ) -> BoxFuture<'a, Result<Vec<(Key, Sight)>, StoreError>> {
        Box::pin(Backend::list(self, pattern, within))
    }
    fn announce<'a>(
        &'a self,
        client: &'a str,
        card: &'a Card,
        keep: Duration,
        within: Duration,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(Backend::announce(self, client, card, keep, within))
    }
    fn look_up<'a>(&'a self, client: &'a str, within: Duration) -> BoxFuture<'a, Result<Option<Card>, StoreError>> {
        Box::pin(Backend::look_up(self, client, within))
    }
    fn votes<'a>(&'a self, kind: Kind, key: &'a Key, within: Duration) -> BoxFuture<'a, Result<Vec<Vote>, StoreError>> {
        Box::pin(Backend::votes(self, kind, key, within))
    }
    fn calls_apart(&self, kind: Kind) -> bool {
        Backend::calls_apart(self, kind)
    }
    fn refuses(&self, kind: Kind) -> Option<&'static str> {
        Backend::refuses(self, kind)
    }
    fn refuses_key(&self, key: &Key) -> Option<&'static str> {
        Backend::refuses_key(self, key)
    }
    fn longest_lease(&self) -> Option<(Duration, &'static str)> {
        Backend::longest_lease(self)
    }
    fn attach(&self, over: Over) {
        Backend::attach(self, over);
    }
    fn asks_anew(&self) -> bool {
        Backend::asks_anew(self)
    }
    fn listen(&self, port: Port) -> BoxFuture<'_, ()> {
        Box::pin(Backend::listen(self, port))
    }
}
