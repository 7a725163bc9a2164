//! Faults that wait for one request: the traps, and what a connection does with one it sprang.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

/// What happens to the request that springs a trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plan {
    /// It is kept from the server until released.
    HoldRequest,
    /// Its answer is discarded and the connection closed.
    DropReply,
    /// Its answer is kept from the client until released.
    HoldReply,
}

/// How far a trap has come.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    pub(super) stage: Stage,
    /// The test has let go.
    pub(super) released: bool,
    /// The connection ended in the middle: `Stage::Done` will never come.
    pub(super) lost: bool,
}

/// The stages of a trap, in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    #[default]
    Set,
    /// The request, or its answer, is in the proxy's hands.
    Caught,
    /// All that the trap is for has happened.
    Done,
}

/// The traps that are set, oldest first.
#[derive(Default)]
pub(super) struct Traps(Mutex<Vec<(Vec<u8>, Snare)>>);

impl Traps {
    /// Sets a trap and returns where its progress can be seen.
    pub(super) fn set(&self, needle: &[u8], plan: Plan) -> Arc<watch::Sender<Progress>> {
        let progress = Arc::new(watch::Sender::new(Progress::default()));
        let snare = Snare { plan, progress: Arc::clone(&progress) };
        self.lock().push((needle.to_owned(), snare));
        progress
    }

    /// Takes the oldest trap that `request` springs.
    pub(super) fn spring(&self, request: &[u8]) -> Option<Snare> {
        let mut traps = self.lock();
        let found = traps.iter().position(|(needle, _)| contains(request, needle))?;
        Some(traps.remove(found).1)
    }

    /// Removes a trap that has not been sprung.
    pub(super) fn disarm(&self, progress: &Arc<watch::Sender<Progress>>) {
        self.lock().retain(|(_, snare)| !Arc::ptr_eq(&snare.progress, progress));
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Vec<u8>, Snare)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A trap in the hands of the connection that sprang it.
pub(super) struct Snare {
    plan: Plan,
    progress: Arc<watch::Sender<Progress>>,
}

impl Snare {
    pub(super) fn plan(&self) -> Plan {
        self.plan
    }

    pub(super) fn caught(&self) {
        self.progress.send_modify(|progress| progress.stage = Stage::Caught);
    }

    /// Waits until the test lets go.
    pub(super) async fn released(&self) {
        let mut progress = self.progress.subscribe();
        // `self` keeps the sender alive, so waiting cannot fail.
        let _ = progress.wait_for(|progress| progress.released).await;
    }

    pub(super) fn done(self) {
        self.progress.send_modify(|progress| progress.stage = Stage::Done);
    }
}

impl Drop for Snare {
    fn drop(&mut self) {
        self.progress.send_modify(|progress| progress.lost = progress.stage != Stage::Done);
    }
}

/// Whether `needle` occurs in `bytes`; the empty needle always does.
pub(super) fn contains(bytes: &[u8], needle: &[u8]) -> bool {
    needle.is_empty() || bytes.windows(needle.len()).any(|window| window == needle)
}
