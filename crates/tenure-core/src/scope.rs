//! What a task, or a thread, is inside of: an owner's scope, and sections that lie within each other.

use crate::hold::Hold;
use crate::inner::Inner;
use crate::{Current, Owner};
use futures_util::FutureExt;
use futures_util::future::lazy;
use std::future::Future;
use std::sync::Arc;
use tenure_kernel::Key;

/// One guard's part in a hold, without the duty to leave.
#[derive(Clone)]
pub(crate) struct Entered {
    pub(crate) client: Arc<Inner>,
    pub(crate) hold: Arc<Hold>,
    pub(crate) entry: u32,
    /// The seat it has, if it is in again.
    pub(crate) seat: Option<u64>,
    /// The section that it was entered in. It is kept, because futures can be moved out of it, and may outlive it.
    pub(crate) around: Option<Arc<Entered>>,
}

/// What a task, or a thread, is inside of.
#[derive(Clone)]
struct Scope {
    owner: Owner,
    /// The innermost section.
    section: Option<Entered>,
}

tokio::task_local! {
    /// Also that of a thread that runs no task: the innermost is the one that counts, be it a task's or a thread's.
    static SCOPE: Scope;
}

/// Runs a future under an owner, inside of the sections that it is first polled in.
pub(crate) fn under<F: Future>(owner: Owner, future: F) -> impl Future<Output = F::Output> {
    // Not in an async block, which would make room for the future twice.
    let first = lazy(move |_| SCOPE.scope(Scope { owner, section: section() }, future));
    first.flatten()
}

/// Runs a future as the inside of a section. To be called where the section was entered.
pub(crate) fn inside<F: Future>(section: Entered, owner: Owner, future: F) -> impl Future<Output = F::Output> {
    SCOPE.scope(Scope { owner, section: Some(section) }, future)
}

/// Calls a function as the inside of a section of this thread.
pub(crate) fn inside_blocking<T>(section: Entered, owner: Owner, work: impl FnOnce() -> T) -> T {
    SCOPE.sync_scope(Scope { owner, section: Some(section) }, work)
}

/// The owner whose scope this task is in.
pub(crate) fn owner() -> Option<Owner> {
    SCOPE.try_with(|scope| scope.owner.clone()).ok()
}

/// The innermost section that this task, or this thread, is in.
fn section() -> Option<Entered> {
    SCOPE.try_with(|scope| scope.section.clone()).ok().flatten()
}

/// The innermost guard that this task, or this thread, runs under.
///
/// It is there inside [`Lock::run`](crate::Lock::run), [`Client::with_lock`](crate::Client::with_lock) and `#[locked]`
/// functions, however deep in the calls. A task made by `spawn` is not inside, unless it is polled on a runtime that a thread
/// drives from inside a section: for as long as that is so it is one more branch of that section, whenever it was spawned.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tenure_core::Error> {
/// use tenure_core::{Client, Memory};
///
/// async fn write_ledger() -> u64 {
///     let lock = tenure_core::current().expect("only called under the ledger's lock");
///     lock.token()
/// }
///
/// let lock = Client::new(Memory::new())?.lock("ledger")?;
/// assert!(lock.run(write_ledger()).await? > 0);
/// assert!(tenure_core::current().is_none());
/// # Ok(()) }
/// ```
pub fn current() -> Option<Current> {
    section().map(Current::new)
}

/// The section that one which is entered here lies within.
pub(crate) fn around() -> Option<Arc<Entered>> {
    section().map(Arc::new)
}

/// The sections that this task or thread is in, innermost first: the hold of each, and its seat.
fn sections() -> impl Iterator<Item = (Arc<Hold>, Option<u64>)> {
    std::iter::successors(section(), |section| section.around.as_deref().cloned())
        .map(|section| (section.hold, section.seat))
}

/// The seats of the sections that this task or thread is in.
pub(crate) fn seats() -> Vec<u64> {
    sections().filter_map(|(_, seat)| seat).collect()
}

/// What an owner holds of a lock by sections that this task or thread is inside of, outermost first.
pub(crate) fn enclosing(client: &Inner, key: &Key, owner: &Owner) -> Vec<Arc<Hold>> {
    let mut found: Vec<Arc<Hold>> = Vec::new();
    for (hold, _) in sections() {
        let is_it = hold.key == *key && hold.claim.client() == client.shared.id && hold.owner.as_ref() == Some(owner);
        if is_it && !found.iter().any(|known| Arc::ptr_eq(known, &hold)) {
            found.push(hold);
        }
    }
    found.reverse();
    found
}
