//! A backend whose type is forgotten, so that a client need not know it.

use super::{Applied, Backend, Batch, StoreError};
use crate::origin::Origin;
use crate::{Card, Clock, Label, Over, Port};
use futures_util::future::BoxFuture;
use std::fmt;
use std::time::Duration;
use tenure_kernel::{Key, Kind, Pattern, Sight, Vote};

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
    fn apply<'a>(&'a self, batch: Batch<'a>, within: Duration) -> BoxFuture<'a, Result<Applied, StoreError>>;
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
    fn apply<'a>(&'a self, batch: Batch<'a>, within: Duration) -> BoxFuture<'a, Result<Applied, StoreError>> {
        Box::pin(Backend::apply(self, batch, within))
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
