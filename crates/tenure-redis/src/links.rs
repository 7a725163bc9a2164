//! One connection for commands per runtime.
//!
//! A connection is driven by a task on the runtime that opened it. If that runtime is blocked, or gone, nobody else may
//! suffer: so every runtime, the one of the client's own thread among them, has a connection of its own.

use crate::driver::{Answer, Driver, Failure, Link};
use crate::error::unreachable;
use redis::Cmd;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tenure_core::StoreError;
use tokio::runtime::{Handle, Id};

/// More runtimes than a process has at a time; beyond it the connections of runtimes long gone are let go.
const MANY: usize = 32;
/// A connection that has answered nothing that was sent for this long is dead, not slow.
const DEAD: Duration = Duration::from_millis(250);

pub(crate) struct Links<D: Driver> {
    driver: D,
    by_runtime: Mutex<HashMap<Id, Arc<Slot<D::Link>>>>,
    opened: AtomicU64,
}

/// A runtime's connection, if it has one.
struct Slot<L> {
    current: Mutex<Current<L>>,
    opening: tokio::sync::Mutex<()>,
}

struct Current<L> {
    link: Option<L>,
    /// Rises with every connection, so that a failure of an old one does not cost the new one.
    generation: u64,
    /// When the last request was sent that this connection answered, or when it was opened.
    answered: Option<Instant>,
}

/// A connection in use.
pub(crate) struct InUse<L> {
    link: L,
    slot: Arc<Slot<L>>,
    generation: u64,
}

impl<D: Driver> Links<D> {
    pub(crate) fn new(driver: D) -> Self {
        Self { driver, by_runtime: Mutex::default(), opened: AtomicU64::new(0) }
    }

    pub(crate) fn driver(&self) -> &D {
        &self.driver
    }

    /// How many connections have been opened so far.
    pub(crate) fn opened(&self) -> u64 {
        self.opened.load(Ordering::Acquire)
    }

    /// This runtime's connection, opened if need be.
    pub(crate) async fn get(&self, within: Duration) -> Result<InUse<D::Link>, StoreError> {
        let slot = self.slot();
        match slot.in_use() {
            Some(in_use) => Ok(in_use),
            // Boxed, because opening takes a lot of room and hardly ever happens.
            None => Box::pin(self.open(slot, within)).await,
        }
    }

    async fn open(&self, slot: Arc<Slot<D::Link>>, within: Duration) -> Result<InUse<D::Link>, StoreError> {
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
            Err(_) => Err(unreachable(&self.driver.address(), "no connection in time")),
        }
    }

    fn slot(&self) -> Arc<Slot<D::Link>> {
        let runtime = Handle::current().id();
        let mut by_runtime = self.by_runtime.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = by_runtime.get(&runtime) {
            return Arc::clone(slot);
        }
        if by_runtime.len() >= MANY {
            by_runtime.clear();
        }
        Arc::clone(by_runtime.entry(runtime).or_insert_with(Slot::empty))
    }
}

impl<L: Link> Slot<L> {
    fn empty() -> Arc<Self> {
        let current = Current { link: None, generation: 0, answered: None };
        Arc::new(Self { current: Mutex::new(current), opening: tokio::sync::Mutex::default() })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Current<L>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn in_use(self: &Arc<Self>) -> Option<InUse<L>> {
        let current = self.lock();
        let link = current.link.clone()?;
        Some(InUse { link, slot: Arc::clone(self), generation: current.generation })
    }
}

impl<L: Link> InUse<L> {
    /// Sends one command, and gives the connection up if it turns out to be dead.
    pub(crate) async fn send(&mut self, command: &Cmd, within: Duration) -> Answer {
        let sent = Instant::now();
        let answer = self.link.send(command, within).await;
        self.judge(sent, answer.as_ref().err());
        answer
    }

    /// Sends several commands, likewise.
    pub(crate) async fn send_all(&mut self, commands: Vec<Cmd>, within: Duration) -> Result<Vec<Answer>, Failure> {
        let sent = Instant::now();
        let answers = self.link.send_all(commands, within).await;
        self.judge(sent, answers.as_ref().err());
        answers
    }

    /// What the end of a request that was sent then says about the connection.
    fn judge(&self, sent: Instant, failure: Option<&Failure>) {
        let mut current = self.slot.lock();
        if current.generation != self.generation {
            return;
        }
        let dead = match failure {
            Some(Failure::Dead(_)) => true,
            // Many short waits are as telling as a long one.
            Some(Failure::Late) => current.answered.is_some_and(|answered| answered.elapsed() >= DEAD),
            None | Some(Failure::NoScript | Failure::Refused(_)) => {
                current.answered = current.answered.max(Some(sent));
                false
            }
        };
        if dead {
            // The next request opens another.
            current.link = None;
        }
    }
}
