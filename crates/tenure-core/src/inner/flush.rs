//! Releases that dropped guards have left are finished before those end who could have waited for them: the last handle of a
//! client, and the thread that has built it. A client in a `static` is never dropped, and that thread is `main`'s as a rule.

use crate::shared::Shared;
use std::cell::RefCell;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// What of one client is waited for. It goes with the last handle, which has waited by then.
pub(crate) struct Flush {
    shared: Arc<Shared>,
    /// How long one waits at the most.
    pub(crate) within: Duration,
}

thread_local! {
    static AT_END: AtEnd = const { AtEnd(RefCell::new(Vec::new())) };
}

/// The clients that a thread waits for when it ends.
struct AtEnd(RefCell<Vec<Weak<Flush>>>);

impl Drop for AtEnd {
    fn drop(&mut self) {
        flush(self.0.take().iter().filter_map(Weak::upgrade));
    }
}

/// Waits for several clients at once, as long as for the one that is given the longest.
pub(crate) fn flush(clients: impl IntoIterator<Item = Arc<Flush>>) {
    let began = Instant::now();
    clients.into_iter().for_each(|client| client.wait(client.within.saturating_sub(began.elapsed())));
}

impl Flush {
    /// Of a client that this thread builds.
    pub(super) fn new(shared: &Arc<Shared>, within: Duration) -> Arc<Self> {
        let flush = Arc::new(Self { shared: Arc::clone(shared), within });
        flush.at_thread_end();
        flush
    }

    /// This thread waits when it ends, if there are handles then.
    pub(crate) fn at_thread_end(self: &Arc<Self>) {
        // A thread that ends already goes without.
        let _ = AT_END.try_with(|AtEnd(clients)| {
            let mut clients = clients.borrow_mut();
            if clients.iter().any(|known| known.as_ptr() == Arc::as_ptr(self)) {
                return;
            }
            // Those that are gone are forgotten before there is room made for more.
            if clients.len() == clients.capacity() {
                clients.retain(|client| client.strong_count() > 0);
            }
            clients.push(Arc::downgrade(self));
        });
    }

    /// Waits until the releases that dropped guards have left are done, or for so long.
    pub(super) fn wait(&self, within: Duration) {
        // In the child of a fork they are the parent's.
        if self.shared.origin.is_here() {
            self.shared.wait_until_tidied(within);
        }
    }
}
