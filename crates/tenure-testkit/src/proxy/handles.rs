//! What a test holds of a trap it set: it can wait for the moment, and let go.

use std::future::IntoFuture;
use std::pin::Pin;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::timeout;

use super::traps::{Progress, Stage, Traps};

/// How long a test waits for a trap before it fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// Tells when a reply was dropped, see [`FaultProxy::drop_reply_after`].
///
/// Await it, or call [`wait`](Self::wait). Dropping it leaves the trap set.
///
/// [`FaultProxy::drop_reply_after`]: super::FaultProxy::drop_reply_after
pub struct DroppedReply(Watcher);

/// A request or a reply kept by the proxy, see [`FaultProxy::hold_request`] and
/// [`FaultProxy::pause_before_reply`].
///
/// Dropping it releases what is held, or removes the trap if nothing was caught.
///
/// [`FaultProxy::hold_request`]: super::FaultProxy::hold_request
/// [`FaultProxy::pause_before_reply`]: super::FaultProxy::pause_before_reply
#[must_use = "dropping the handle releases what is held"]
pub struct Held {
    watcher: Watcher,
    traps: Arc<Traps>,
}

/// The waiting behind both handles. It runs on the proxy's own runtime, whose clock is real, so
/// that it works in a test that pauses tokio's clock and gives up in a test that went wrong.
pub(super) struct Watcher {
    pub(super) progress: Arc<watch::Sender<Progress>>,
    pub(super) needle: String,
    pub(super) runtime: Handle,
}

/// What became of a trap that somebody waits for.
#[derive(Clone, Copy)]
enum Outcome {
    Reached,
    Lost,
    TimedOut,
}

impl DroppedReply {
    pub(super) fn new(watcher: Watcher) -> Self {
        Self(watcher)
    }

    /// Blocks until the server has answered, the answer is gone and the connection closed.
    pub fn wait(self) {
        self.0.wait("lost its reply", Stage::Done);
    }
}

impl IntoFuture for DroppedReply {
    type Output = ();
    type IntoFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            self.0.reach("lost its reply", Stage::Done).await;
        })
    }
}

impl Held {
    pub(super) fn new(watcher: Watcher, traps: Arc<Traps>) -> Self {
        Self { watcher, traps }
    }

    /// Waits until the proxy holds the request, or the server's reply to it.
    pub async fn caught(&self) {
        self.watcher.reach("was caught", Stage::Caught).await;
    }

    /// [`caught`](Self::caught) for code that blocks.
    pub fn wait_caught(&self) {
        self.watcher.wait("was caught", Stage::Caught);
    }

    /// Lets the request go on to the server, or the reply to the client.
    pub fn release(&self) {
        self.watcher.progress.send_modify(|progress| progress.released = true);
    }

    /// Waits until the released request was answered by the server, or the released reply was
    /// passed on to the client.
    pub async fn done(&self) {
        self.watcher.reach("was done with", Stage::Done).await;
    }

    /// [`done`](Self::done) for code that blocks.
    pub fn wait_done(&self) {
        self.watcher.wait("was done with", Stage::Done);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.traps.disarm(&self.watcher.progress);
        self.release();
    }
}

impl Watcher {
    async fn reach(&self, what: &str, stage: Stage) {
        let outcome = self.runtime.spawn(self.look_for(stage)).await;
        self.judge(what, outcome.ok());
    }

    fn wait(&self, what: &str, stage: Stage) {
        let (sender, receiver) = mpsc::channel();
        let looking = self.look_for(stage);
        self.runtime.spawn(async move {
            // Nobody listens only if the waiting thread was killed.
            let _ = sender.send(looking.await);
        });
        self.judge(what, receiver.recv().ok());
    }

    fn look_for(&self, stage: Stage) -> impl Future<Output = Outcome> + Send + 'static {
        let mut progress = self.progress.subscribe();
        async move {
            let settled = progress.wait_for(|progress| progress.stage >= stage || progress.lost);
            match timeout(PATIENCE, settled).await {
                Ok(Ok(last)) if last.stage >= stage => Outcome::Reached,
                Ok(_) => Outcome::Lost,
                Err(_) => Outcome::TimedOut,
            }
        }
    }

    fn judge(&self, what: &str, outcome: Option<Outcome>) {
        let needle = &self.needle;
        match outcome {
            Some(Outcome::Reached) => {}
            Some(Outcome::Lost) => panic!(
                "the connection ended before the request containing {needle:?} {what}; check what else the test breaks"
            ),
            Some(Outcome::TimedOut) => panic!(
                "no request containing {needle:?} {what} within {PATIENCE:?}; check the needle, and that the client connects to the proxy's addr()"
            ),
            None => panic!("the proxy is gone; keep the FaultProxy alive while waiting"),
        }
    }
}
