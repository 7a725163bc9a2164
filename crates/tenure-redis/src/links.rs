//! One connection for commands per runtime.
//!
//! A connection is driven by a task on the runtime that opened it. If that runtime is blocked, or gone, nobody else may
//! suffer: so every runtime, the one of the client's own thread among them, has a connection of its own.

use crate::driver::{Driver, Link};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tenure_core::StoreError;
use tokio::runtime::{Handle, Id};

/// More runtimes than a process has at a time; beyond it the connections of runtimes long gone are let go.
const MANY: usize = 32;

pub(crate) struct Links {
    driver: Driver,
    by_runtime: Mutex<HashMap<Id, Arc<Slot>>>,
    opened: AtomicU64,
}

/// A runtime's connection, if it has one.
#[derive(Default)]
struct Slot {
    current: Mutex<Current>,
    opening: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Current {
    link: Option<Link>,
    /// Rises with every connection, so that a failure of an old one does not cost the new one.
    generation: u64,
    /// When the last request was sent that this connection answered, or when it was opened.
    answered: Option<Instant>,
}

/// A connection in use.
pub(crate) struct InUse {
    pub(crate) link: Link,
    slot: Arc<Slot>,
    generation: u64,
}

impl Links {
    pub(crate) fn new(driver: Driver) -> Self {
        Self { driver, by_runtime: Mutex::default(), opened: AtomicU64::new(0) }
    }

    pub(crate) fn driver(&self) -> &Driver {
        &self.driver
    }

    /// How many connections have been opened so far.
    pub(crate) fn opened(&self) -> u64 {
        self.opened.load(Ordering::Acquire)
    }

    /// This runtime's connection, opened if need be.
    pub(crate) async fn get(&self, within: Duration) -> Result<InUse, StoreError> {
        let slot = self.slot();
        match slot.in_use() {
            Some(in_use) => Ok(in_use),
            // Boxed, because opening takes a lot of room and hardly ever happens.
            None => Box::pin(self.open(slot, within)).await,
        }
    }

    async fn open(&self, slot: Arc<Slot>, within: Duration) -> Result<InUse, StoreError> {
        let opened = tokio::time::timeout(within, async {
            // One opens, the others wait for it.
            let _opening = slot.opening.lock().await;
            if let Some(in_use) = slot.in_use() {
                return Ok(in_use);
            }
            let link = self.driver.open(within).await?;
            self.opened.fetch_add(1, Ordering::AcqRel);
            let mut current = slot.lock();
            current.generation += 1;
            current.link = Some(link.clone());
            current.answered = Some(Instant::now());
            Ok(InUse { link, slot: Arc::clone(&slot), generation: current.generation })
        });
        match opened.await {
            Ok(opened) => opened,
            Err(_) => Err(self.driver.unreachable("no connection in time")),
        }
    }

    fn slot(&self) -> Arc<Slot> {
        let runtime = Handle::current().id();
        let mut by_runtime = self.by_runtime.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = by_runtime.get(&runtime) {
            return Arc::clone(slot);
        }
        if by_runtime.len() >= MANY {
            by_runtime.clear();
        }
        Arc::clone(by_runtime.entry(runtime).or_default())
    }
}

impl Slot {
    fn lock(&self) -> std::sync::MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn in_use(self: &Arc<Self>) -> Option<InUse> {
        let current = self.lock();
        let link = current.link.clone()?;
        Some(InUse { link, slot: Arc::clone(self), generation: current.generation })
    }
}

impl InUse {
    /// A request that was sent then has been answered.
    pub(crate) fn answered(&self, sent: Instant) {
        let mut current = self.slot.lock();
        if current.generation == self.generation {
            current.answered = current.answered.max(Some(sent));
        }
    }

    /// When the last request was sent that was answered.
    pub(crate) fn last_answered(&self) -> Instant {
        self.slot.lock().answered.unwrap_or_else(Instant::now)
    }

    /// The connection failed: the next request opens another.
    pub(crate) fn retire(&self) {
        let mut current = self.slot.lock();
        if current.generation == self.generation {
            current.link = None;
        }
    }
}
