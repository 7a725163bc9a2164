//! The client's own threads. One renews leases and finishes releases. The other hears the store's wake-ups, and sees to it that the
//! application's tasks are told. Neither runs code of the application's: voices do.

use crate::event::Loss;
use crate::janitor::{self, Chore};
use crate::report::{keep_apart, report};
use crate::shared::Shared;
use crate::wakeups::{Port, Pusher};
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

/// The handle to a client's threads. Dropping it lets them finish their chores and end.
pub(crate) struct Keeper {
    stop: Option<oneshot::Sender<()>>,
    ended: Vec<oneshot::Receiver<()>>,
}

impl Keeper {
    /// Starts the threads.
    pub(crate) fn start(
        shared: &Arc<Shared>,
        port: Port,
        chores: mpsc::UnboundedReceiver<Chore>,
    ) -> Result<Self, Error> {
        let (stop, stopped) = oneshot::channel();
        // Lives for as long as the first thread: the second ends with it.
        let (first, first_ended) = oneshot::channel::<()>();
        let pusher = port.pusher();
        let signals = Arc::clone(shared);
        let second = run("tenure-signals", shared, pusher.clone(), async move {
            let (tells, voices) = (signals.signals.run(&signals.clock), signals.signals.voices.look_after());
            tokio::select! {
                () = async { tokio::join!(tells, voices, listen(&signals, port)); } => {}
                _ = first_ended => {}
            }
        })?;
        let kept = Arc::clone(shared);
        let keeper = run("tenure-keeper", shared, pusher, async move {
            let _first = first;
            keep(kept, chores, stopped).await;
        })?;
        Ok(Self { stop: Some(stop), ended: vec![keeper, second] })
    }

    /// Lets the threads finish their chores, and waits for their end.
    pub(crate) async fn end(&mut self) {
        self.stop.take();
        while let Some(ended) = self.ended.last_mut() {
            // The thread sends before it ends, or is gone.
            let _ = ended.await;
            self.ended.pop();
        }
    }

    /// Leaves all as it is: the threads are those of the process that this one was forked from.
    pub(crate) fn disown(&mut self) {
        std::mem::forget(self.stop.take());
        std::mem::forget(std::mem::take(&mut self.ended));
    }
}

/// Runs a future to its end on a thread and a runtime of its own. Should it panic, every lock of the client is lost.
fn run(
    name: &str,
    shared: &Arc<Shared>,
    pusher: Pusher,
    future: impl Future<Output = ()> + Send + 'static,
) -> Result<oneshot::Receiver<()>, Error> {
    let failed = |what: &str, error: std::io::Error| {
        Error::new(
            ErrorKind::Unexpected,
            format!("the client has no {what}, use fewer threads and files or raise the limits: {error}"),
        )
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| failed("runtime", error))?;
    let (end, ended) = oneshot::channel();
    let shared = Arc::clone(shared);
    let thread = move || {
        keep_apart();
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| runtime.block_on(future))) {
            bury(&shared, panic.as_ref());
            // Those who wait look again, and see that nobody would look after their locks.
            pusher.interrupted();
        }
        let _ = end.send(());
    };
    std::thread::Builder::new().name(name.into()).spawn(thread).map_err(|error| failed("thread", error))?;
    Ok(ended)
}

/// Carries the store's wake-ups to the client, once it is used.
async fn listen(shared: &Shared, port: Port) {
    shared.first_use.cancelled().await;
    shared.backend.listen(port).await;
}

async fn keep(shared: Arc<Shared>, chores: mpsc::UnboundedReceiver<Chore>, stopped: oneshot::Receiver<()>) {
    let leaving = Notify::new();
    let duties =
        async { tokio::join!(watchdog::watch(Arc::clone(&shared)), janitor::tidy(Arc::clone(&shared), chores)) };
    // Ends when the client leaves, and nothing else does: until then all goes on, for one may wait for what another has begun.
    let card = async {
        tokio::select! {
            () = shared.first_use.cancelled() => show_card(&shared, &leaving).await,
            () = leaving.notified() => {}
        }
        if shared.was_used() {
            // Gone with us, but for a lock that stays taken: people are to see by whom.
            let _ = shared.backend.announce(&shared.id, &shared.card.left(), shared.kept(), CARD_WITHIN).await;
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
            report(move || tracing::debug!(%error, "could not leave the client's card in the store"));
        }
        tokio::select! {
            () = tokio::time::sleep(CARD_EVERY) => {}
            () = leaving.notified() => return,
        }
    }
}

/// A thread panicked: nobody renews any more, so nobody may go on believing to hold a lock.
fn bury(shared: &Shared, panic: &(dyn std::any::Any + Send)) {
    shared.die();
    let said = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
        .to_owned();
    let lost = watchdog::abandon(shared, Loss::WatchdogDied);
    report(move || {
        tracing::error!(panic = said, lost, "the watchdog thread died, all its locks are lost: connect a new client");
    });
}
