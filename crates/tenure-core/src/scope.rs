//! What a task, or a thread, is inside of: an owner's scope, and sections that lie within each other.

use crate::hold::Hold;
use crate::inner::Inner;
use crate::{Current, Owner};
use std::cell::RefCell;
use std::future::Future;
use std::sync::{Arc, Weak};
use tenure_kernel::Key;

/// One guard's part in a hold, without the duty to leave.
#[derive(Clone)]
pub(crate) struct Entered {
    pub(crate) client: Arc<Inner>,
    pub(crate) hold: Arc<Hold>,
    pub(crate) entry: u32,
}

/// The section around another. It lives for as long as what is in it, so it need not be kept.
#[derive(Debug, Clone)]
pub(crate) struct Within {
    hold: Weak<Hold>,
    entry: u32,
}

impl Entered {
    fn as_within(&self) -> Within {
        Within { hold: Arc::downgrade(&self.hold), entry: self.entry }
    }
}

/// What a task is inside of.
#[derive(Clone)]
struct Scope {
    owner: Owner,
    /// The innermost section.
    section: Option<Entered>,
}

tokio::task_local! {
    static TASK: Scope;
}

thread_local! {
    /// The innermost section of a thread that is not polling a task inside of one.
    static THREAD: RefCell<Option<Entered>> = const { RefCell::new(None) };
}

/// Runs a future under an owner, outside of all sections.
pub(crate) fn under<F: Future>(owner: Owner, future: F) -> impl Future<Output = F::Output> {
    TASK.scope(Scope { owner, section: None }, future)
}

/// Runs a future as the inside of a section. To be called where the section was entered.
pub(crate) fn inside<F: Future>(section: Entered, owner: Owner, future: F) -> impl Future<Output = F::Output> {
    TASK.scope(Scope { owner, section: Some(section) }, future)
}

/// Calls a function as the inside of a section of this thread.
pub(crate) fn inside_blocking<T>(section: Entered, work: impl FnOnce() -> T) -> T {
    /// Puts back what was before, also when the work panics.
    struct Back(Option<Entered>);
    impl Drop for Back {
        fn drop(&mut self) {
            let before = self.0.take();
            // What is replaced may be the last to know its client, so it is dropped outside.
            drop(THREAD.with(|thread| thread.replace(before)));
        }
    }
    let _back = Back(THREAD.with(|thread| thread.replace(Some(section))));
    work()
}

/// The owner whose scope this task is in.
pub(crate) fn owner() -> Option<Owner> {
    TASK.try_with(|scope| scope.owner.clone()).ok()
}

/// The innermost section that this task, or this thread, is in.
fn section() -> Option<Entered> {
    TASK.try_with(|scope| scope.section.clone()).unwrap_or_else(|_| THREAD.with(|thread| thread.borrow().clone()))
}

/// The innermost guard that this task, or this thread, runs under.
///
/// It is there inside [`Lock::run`](crate::Lock::run), [`Client::with_lock`](crate::Client::with_lock) and `#[locked]`
/// functions, however deep in the calls. A task made by `spawn` is not inside.
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

/// A guard's entry is that of a section, within the one that this task or thread is in.
pub(crate) fn settle(entered: &Entered) {
    entered.hold.lies_within(entered.entry, section().map(|around| around.as_within()));
}

/// What an owner holds of a lock by sections that this task or thread is inside of, outermost first, and as which entry: of
/// each hold the innermost.
pub(crate) fn enclosing(client: &Inner, key: &Key, owner: &Owner) -> Vec<(Arc<Hold>, Option<u32>)> {
    let mut found: Vec<(Arc<Hold>, Option<u32>)> = Vec::new();
    let mut around = section().map(|section| (section.hold, section.entry));
    while let Some((hold, entry)) = around {
        around = hold.within(entry).and_then(|within| Some((within.hold.upgrade()?, within.entry)));
        let is_it = hold.key == *key && hold.claim.client() == client.shared.id && hold.owner.as_ref() == Some(owner);
        if is_it && !found.iter().any(|(known, _)| Arc::ptr_eq(known, &hold)) {
            found.push((hold, Some(entry)));
        }
    }
    found.reverse();
    found
}
