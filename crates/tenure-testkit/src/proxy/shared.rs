//! What the test's side of a proxy and its connections share: counters, the log and the traps.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::traps::{Traps, contains};

/// Counters and traps of one proxy.
#[derive(Default)]
pub(super) struct Shared {
    open: AtomicUsize,
    accepted: AtomicUsize,
    requests: Mutex<Vec<Vec<u8>>>,
    traps: Arc<Traps>,
}

impl Shared {
    /// Counts a new connection, which is open as long as the returned value lives.
    pub(super) fn opened(self: &Arc<Self>) -> OpenConnection {
        self.accepted.fetch_add(1, Ordering::Relaxed);
        self.open.fetch_add(1, Ordering::Relaxed);
        OpenConnection(Arc::clone(self))
    }

    pub(super) fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    pub(super) fn accepted(&self) -> usize {
        self.accepted.load(Ordering::Relaxed)
    }

    pub(super) fn saw_request(&self, bytes: &[u8]) {
        self.requests().push(bytes.to_owned());
    }

    pub(super) fn requests_seen(&self, needle: &[u8]) -> usize {
        self.requests().iter().filter(|request| contains(request, needle)).count()
    }

    pub(super) fn traps(&self) -> &Arc<Traps> {
        &self.traps
    }

    fn requests(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts one connection as open until it is dropped.
pub(super) struct OpenConnection(Arc<Shared>);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}
