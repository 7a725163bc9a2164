//! The client's own thread: watchdog, janitor and wake-ups, on a runtime that no application code can block.

use crate::event::Loss;
use crate::janitor::{self, Chore};
use crate::shared::Shared;
use crate::wakeups::Port;
use crate::{Error, ErrorKind, watchdog};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, mpsc, oneshot};

/// How long a client's card stays in the store, and how often it is put there.
const CARD_KEPT: Duration = Duration::from_secs(60);
const CARD_EVERY: Duration = Duration::from_secs(20);
/// How long the store may take to put it there, or to take it away: whoever closes a client waits no longer for that.
const CARD_WITHIN: Duration = Duration::from_secs(1);

/// The handle to a client's thread. Dropping it lets the thread finish its chores and end.
pub(crate) struct Keeper {
    stop: Option<oneshot::Sender<()>>,
    ended: Option<oneshot::Receiver<()>>,
}

impl Keeper {
    /// Starts the thread.
    pub(crate) fn start(
        shared: &Arc<Shared>,
        port: Port,
        chores: mpsc::UnboundedReceiver<Chore>,
    ) -> Result<Self, Error> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Error::new(ErrorKind::Unexpected, format!("no runtime for the watchdog: {error}")))?;
        let (stop, stopped) = oneshot::channel();
        let (end, ended) = oneshot::channel();
        let shared = Arc::clone(shared);
        let pusher = port.pusher();
        std::thread::Builder::new()
            .name("tenure-keeper".into())
            .spawn(move || {
                let outcome = catch_unwind(AssertUnwindSafe(|| {
                    runtime.block_on(keep(Arc::clone(&shared), port, chores, stopped));
                }));
                if let Err(panic) = outcome {
                    // Whoever listens to the log may be what panics.
                    let _ = catch_unwind(AssertUnwindSafe(|| bury(&shared, panic.as_ref())));
                    // Those who wait look again, and see that nobody would look after their locks.
                    pusher.interrupted();
                }
                let _ = end.send(());
            })
            .map_err(|error| Error::new(ErrorKind::Unexpected, format!("no thread for the watchdog: {error}")))?;
        Ok(Self { stop: Some(stop), ended: Some(ended) })
    }

    /// Lets the thread finish its chores, and waits for its end.
    pub(crate) async fn end(&mut self) {
        self.stop.take();
        if let Some(ended) = &mut self.ended {
            // The thread sends before it ends, or is gone.
            let _ = ended.await;
            self.ended = None;
        }
    }
}

async fn keep(shared: Arc<Shared>, port: Port, chores: mpsc::UnboundedReceiver<Chore>, stopped: oneshot::Receiver<()>) {
    let (used, leaving) = (Notify::new(), Notify::new());
    let duties = async {
        tokio::join!(
            watchdog::watch(Arc::clone(&shared)),
            async {
                shared.first_use.notified().await;
                used.notify_one();
                shared.backend.listen(port).await;
            },
            janitor::tidy(Arc::clone(&shared), chores),
        )
    };
    // Ends when the client leaves, and nothing else does: until then all goes on, for one may wait for what another has begun.
    let card = async {
        tokio::select! {
            () = used.notified() => show_card(&shared, &leaving).await,
            () = leaving.notified() => {}
        }
        if shared.was_used() {
            // Gone with us, but for a lock that stays taken: people are to see by whom.
            let _ = shared.backend.announce(&shared.id, &shared.card, shared.kept(), CARD_WITHIN).await;
        }
    };
    let left = async {
        // The sender says nothing: it is dropped.
        let _ = stopped.await;
        // No client and no guard is left, so no chore can come; those that are under way are finished.
        all_tidied(&shared).await;
        leaving.notify_one();
        std::future::pending::<()>().await;
    };
    tokio::select! {
        _ = duties => {}
        () = card => {}
        () = left => {}
    }
}

async fn all_tidied(shared: &Shared) {
    loop {
        let tidied = shared.tidied.notified();
        tokio::pin!(tidied);
        tidied.as_mut().enable();
        if shared.chores_open() == 0 {
            return;
        }
        tidied.await;
    }
}

/// Keeps the client's card in the store, for people who meet its locks, until the client leaves.
async fn show_card(shared: &Shared, leaving: &Notify) {
    loop {
        let keep = CARD_KEPT.max(shared.kept());
        if let Err(error) = shared.backend.announce(&shared.id, &shared.card, keep, CARD_WITHIN).await {
            tracing::debug!(%error, "could not leave the client's card in the store");
        }
        tokio::select! {
            () = tokio::time::sleep(CARD_EVERY) => {}
            () = leaving.notified() => return,
        }
    }
}

/// The thread panicked: nobody renews any more, so nobody may go on believing to hold a lock.
fn bury(shared: &Shared, panic: &(dyn std::any::Any + Send)) {
    shared.die();
    let said = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    let lost = watchdog::abandon(shared, Loss::WatchdogDied);
    tracing::error!(panic = said, lost, "the watchdog thread died, all its locks are lost: connect a new client");
}
