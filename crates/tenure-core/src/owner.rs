//! Who holds, where re-entry is wanted.

use crate::scope;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Somebody who may go in more than once: a task, a request, a job.
///
/// Re-entry is chosen, never guessed: tasks that merely share a [`Lock`](crate::Lock) exclude each other. Whoever asks
/// for a lock under an owner that already holds it (in this process) goes in at once, past all waiters, and the store
/// counts it.
///
/// An owner can be given by hand ([`Options::owner`](crate::Options::owner)), or it can follow a task as a
/// [scope](Owner::scope) and be picked up by [`Options::reentrant`](crate::Options::reentrant).
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tenure_core::Error> {
/// use tenure_core::{Client, Error, Lock, Memory, Options, Owner};
///
/// async fn method_a(lock: &Lock) -> Result<(), Error> {
///     let guard = lock.lock_with(Options::new().reentrant()).await?;
///     method_b(lock).await?;                       // goes in again instead of waiting for itself
///     guard.release().await?;
///     Ok(())
/// }
///
/// async fn method_b(lock: &Lock) -> Result<(), Error> {
///     let guard = lock.lock_with(Options::new().reentrant()).await?;
///     guard.release().await?;
///     Ok(())
/// }
///
/// let lock = Client::new(Memory::new())?.lock("inventory")?;
/// Owner::new().scope(method_a(&lock)).await?;
/// assert!(!lock.is_locked().await?);
/// # Ok(()) }
/// ```
///
/// [Sections](crate::Lock::run) and `#[locked]` functions bring their own owner if there is none, and go in again where they
/// are nested. **The branches of a `join!` inside one scope are one owner**, so `reentrant` lets a branch in beside another
/// that already is: they are the same task. (If both ask for a free lock at once, one of them waits for the other, for
/// neither is in yet.) Use sections where they must exclude each other, give each its own scope, or leave `reentrant` off. A
/// task made by `spawn` never inherits a scope.
#[derive(Clone)]
pub struct Owner {
    number: u64,
    label: Option<Arc<str>>,
}

impl Owner {
    /// A new owner, equal to no other.
    pub fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self { number: NEXT.fetch_add(1, Ordering::Relaxed), label: None }
    }

    /// A new owner with a name for people.
    pub fn labelled(label: impl Into<String>) -> Self {
        Self { label: Some(label.into().into()), ..Self::new() }
    }

    /// What it is called.
    pub fn label(&self) -> &str {
        self.label.as_deref().unwrap_or_default()
    }

    /// Runs a future under this owner. It stays inside of the [sections](crate::Lock::run) that it is first polled in, but goes in
    /// again only where they are of this owner: for a lock that another owner's section holds it would wait, like anybody else.
    pub fn scope<F: Future>(&self, future: F) -> impl Future<Output = F::Output> + use<F> {
        scope::under(self.clone(), future)
    }

    /// The owner whose scope this task is in.
    pub fn current() -> Option<Self> {
        scope::owner()
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }
}

impl Default for Owner {
    fn default() -> Self {
        Self::new()
    }
}

impl PartialEq for Owner {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Owner {}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Owner").field("number", &self.number).field("label", &self.label()).finish()
    }
}
