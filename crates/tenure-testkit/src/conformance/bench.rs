//! What a case works with: clients of one store, and keys that are its alone.

use super::Fixture;
use super::tap::{Tap, Tapped};
use futures_util::future::BoxFuture;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tenure_core::{Applied, Backend, Batch, Client, Key, Kind, Lock, Operation, Options, Outcome, Step, Store};

/// A fixture, its type forgotten.
trait Site: Send + Sync {
    fn store(&self) -> Store;
    fn tapped(&self, tap: &Arc<Tap>) -> Store;
    fn apply<'a>(&'a self, kind: Kind, key: &'a Key, operation: &'a Operation) -> BoxFuture<'a, Outcome>;
    fn apply_batch<'a>(&'a self, batch: Batch<'a>) -> BoxFuture<'a, Applied>;
    fn keys_left<'a>(&'a self, part: &'a str) -> BoxFuture<'a, Vec<String>>;
}

/// A fixture, and the backend by which things are done behind every client's back. It lives for as long as the case: in some
/// stores a hold ends with the connection that took it.
struct Place<F: Fixture> {
    fixture: F,
    backstage: OnceLock<F::Backend>,
}

impl<F: Fixture> Place<F> {
    fn backstage(&self) -> &F::Backend {
        self.backstage.get_or_init(|| self.fixture.backend())
    }
}

impl<F: Fixture> Site for Place<F> {
    fn store(&self) -> Store {
        self.fixture.backend().into()
    }

    fn tapped(&self, tap: &Arc<Tap>) -> Store {
        Tapped::new(self.fixture.backend(), tap).into()
    }

    fn apply<'a>(&'a self, kind: Kind, key: &'a Key, operation: &'a Operation) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let answer = self.backstage().apply_one(kind, key, operation, Duration::from_secs(5)).await;
            answer.expect("the store answers")
        })
    }

    fn apply_batch<'a>(&'a self, batch: Batch<'a>) -> BoxFuture<'a, Applied> {
        Box::pin(async move {
            let answer = self.backstage().apply(batch, Duration::from_secs(5)).await;
            answer.expect("the store answers")
        })
    }

    fn keys_left<'a>(&'a self, part: &'a str) -> BoxFuture<'a, Vec<String>> {
        Box::pin(self.fixture.keys_left(part))
    }
}

/// One case's share of a store.
pub(super) struct Bench {
    site: Box<dyn Site>,
    kind: Kind,
    prefix: String,
}

impl Bench {
    pub(super) fn new(fixture: impl Fixture, kind: Kind) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        // Of one length and with an end, so that none is a part of another.
        let prefix = format!("case{:05}.", NEXT.fetch_add(1, Ordering::Relaxed));
        Self { site: Box::new(Place { fixture, backstage: OnceLock::new() }), kind, prefix }
    }

    /// The kind of lock that the case is tried on.
    pub(super) fn kind(&self) -> Kind {
        self.kind
    }

    /// A key that no other case uses.
    pub(super) fn key(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// Another way to the store.
    pub(super) fn store(&self) -> Store {
        self.site.store()
    }

    /// A client that has nothing in common with the others but the store.
    pub(super) async fn client(&self) -> Client {
        Client::builder().label("conformance").connect(self.store()).await.expect("the store can be reached")
    }

    /// A client whose keys begin with the case's own prefix and this.
    pub(super) async fn client_with_prefix(&self, prefix: &str) -> Client {
        let builder = Client::builder().prefix(self.key(prefix));
        builder.connect(self.store()).await.expect("the store can be reached")
    }

    /// So many clients.
    pub(super) async fn clients(&self, count: usize) -> Vec<Client> {
        let mut clients = Vec::with_capacity(count);
        for _ in 0..count {
            clients.push(self.client().await);
        }
        clients
    }

    /// The lock of this name as a new client has it.
    pub(super) async fn lock(&self, name: &str) -> Lock {
        self.client().await.lock_of(self.kind, &self.key(name)).expect("the key is one")
    }

    /// A client whose backend can be listened in on and made to fail.
    pub(super) async fn tapped(&self) -> (Client, Arc<Tap>) {
        let (client, tap) = self.deaf().await;
        tap.hear();
        (client, tap)
    }

    /// The same, of one that hears nothing of what the store pushes until its tap says so.
    pub(super) async fn deaf(&self) -> (Client, Arc<Tap>) {
        let tap = Arc::new(Tap::default());
        let client = Client::builder().connect(self.site.tapped(&tap)).await.expect("the store can be reached");
        (client, tap)
    }

    /// Does something to a lock behind every client's back.
    pub(super) async fn apply(&self, kind: Kind, key: &Key, operation: &Operation) -> Outcome {
        self.site.apply(kind, key, operation).await
    }

    /// Takes several locks behind every client's back.
    pub(super) async fn take_all(&self, steps: &[Step]) -> Applied {
        self.site.apply_batch(Batch::all_or_none(steps)).await
    }

    /// What the store still keeps of this case.
    pub(super) async fn keys_left(&self) -> Vec<String> {
        self.site.keys_left(&self.prefix).await
    }

    /// Fails if the store still keeps anything of this case.
    pub(super) async fn assert_nothing_left(&self) {
        let left = self.keys_left().await;
        assert!(left.is_empty(), "left behind in the store: {left:?}");
    }
}

/// A lease of so many milliseconds, renewed.
pub(super) fn renewed(lease: u64) -> Options {
    Options::new().lease(millis(lease))
}

/// A lease of so many milliseconds that ends by itself.
pub(super) fn unrenewed(lease: u64) -> Options {
    renewed(lease).no_renew()
}

pub(super) const fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}
