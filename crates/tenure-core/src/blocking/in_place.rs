//! What a thread holds is released where it is dropped: its process may end right after.

use super::runtime::{is_ending, wait_if_allowed};
use crate::inner::{Flush, flush};
use crate::section::Section;
use crate::{Guard, MultiGuard};
use std::iter::once;
use std::ops::Deref;
use std::sync::{Arc, Weak};

/// What can be given back.
pub(crate) trait GiveBack {
    /// Gives it back, whatever comes of it.
    fn give_back(self) -> impl Future<Output = ()>;

    /// How its clients wait for that. What is not done in time is finished in the background.
    fn flushes(&self) -> impl Iterator<Item = &Arc<Flush>>;
}

impl GiveBack for Guard {
    async fn give_back(self) {
        let _ = self.release().await;
    }

    fn flushes(&self) -> impl Iterator<Item = &Arc<Flush>> {
        once(&self.client().flush)
    }
}

impl GiveBack for MultiGuard {
    async fn give_back(self) {
        let _ = self.release().await;
    }

    fn flushes(&self) -> impl Iterator<Item = &Arc<Flush>> {
        self.guards().iter().flat_map(GiveBack::flushes)
    }
}

impl GiveBack for Section {
    async fn give_back(self) {
        let _ = self.into_guard().release().await;
    }

    fn flushes(&self) -> impl Iterator<Item = &Arc<Flush>> {
        self.guard().flushes()
    }
}

/// Releases what it holds when it is dropped, and waits for that, but in async code: there it is released in the background.
pub(crate) struct InPlace<T: GiveBack>(Option<T>);

impl<T: GiveBack> InPlace<T> {
    pub(crate) fn new(held: T) -> Self {
        Self(Some(held))
    }

    /// Leaves the release to the caller.
    pub(crate) fn take(mut self) -> T {
        self.0.take().expect("it is only taken here, and then this is gone")
    }
}

impl<T: GiveBack> Deref for InPlace<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect("it is there until this is gone")
    }
}

impl<T: GiveBack> Drop for InPlace<T> {
    fn drop(&mut self) {
        let Some(held) = self.0.take() else { return };
        if is_ending() {
            // It was kept in a thread-local. The client's own thread releases it, and this one waits without tokio.
            let flushes: Vec<_> = held.flushes().map(Arc::downgrade).collect();
            drop(held);
            return flush(flushes.iter().filter_map(Weak::upgrade));
        }
        let within = held.flushes().map(|flush| flush.within).max().unwrap_or_default();
        let give_back = async { tokio::time::timeout(within, held.give_back()).await };
        let _ = wait_if_allowed(give_back);
    }
}
