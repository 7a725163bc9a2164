//! What a thread holds is released where it is dropped: its process may end right after.

use super::runtime::wait_if_allowed;
use crate::section::Section;
use crate::{Guard, MultiGuard};
use std::ops::Deref;
use std::time::Duration;

/// What can be given back.
pub(crate) trait GiveBack {
    /// Gives it back, whatever comes of it.
    fn give_back(self) -> impl Future<Output = ()>;

    /// How long to wait for that. What is not done then is finished in the background.
    fn flush_within(&self) -> Duration;
}

impl GiveBack for Guard {
    async fn give_back(self) {
        let _ = self.release().await;
    }

    fn flush_within(&self) -> Duration {
        self.client().flush_within
    }
}

impl GiveBack for MultiGuard {
    async fn give_back(self) {
        let _ = self.release().await;
    }

    fn flush_within(&self) -> Duration {
        self.guards().iter().map(GiveBack::flush_within).max().unwrap_or_default()
    }
}

impl GiveBack for Section {
    async fn give_back(self) {
        let _ = self.into_guard().release().await;
    }

    fn flush_within(&self) -> Duration {
        self.guard().flush_within()
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
        if let Some(held) = self.0.take() {
            let within = held.flush_within();
            let give_back = async { tokio::time::timeout(within, held.give_back()).await };
            let _ = wait_if_allowed(give_back);
        }
    }
}
