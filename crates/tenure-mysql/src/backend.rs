//! The backend: every call is a piece of work for the runtime on which the connections live.

use crate::desk::Desk;
use crate::error::Failure;
use crate::sheet::Ground;
use crate::steps::{self, Ask};
use crate::{table, wakeups};
use futures_util::future::join_all;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::records::{Page, Records};
use tenure_core::{
    Applied, Batch, Card, Guarantee, Key, Kind, Label, Operation, Outcome, Port, Step, StoreError, StoreErrorKind,
    keep_apart,
};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// How long a client that goes may take to end what it does in the server.
const CLOSE_WITHIN: Duration = Duration::from_secs(2);

/// How many locks are listed at a time.
const PAGE: u64 = 500;

/// A database that keeps locks. Made by [`Config`](crate::Config).
pub struct MySql {
    address: String,
    pub(crate) desk: Arc<Desk>,
    runtime: Handle,
    /// Its end tells the runtime's thread that nobody needs it any more.
    _open: oneshot::Sender<()>,
}

impl MySql {
    /// What this backend promises.
    pub const LABEL: Label = Label {
        name: "mysql",
        guarantees: &[Guarantee::Fencing, Guarantee::BetweenProcesses, Guarantee::BetweenMachines],
        caveat: "the re-entrant lock is a row lock, which ends with its connection: when that is cut, killed or \
                 silent for a second, or the server restarts, the next holder may be in before the last one is told, which \
                 takes 350 ms, and a second more if nothing comes over it, so guard writes with the token; every other kind is a record with a lease, and is waited for by \
                 looking every 10 to 250 ms; one server that is written to, and no Galera cluster: row locks are not replicated; \
                 every held or awaited re-entrant lock takes a connection",
    };

    pub(crate) fn new(address: String, desk: Desk) -> Self {
        let (open, closed) = oneshot::channel();
        let (desk, (tell, told)) = (Arc::new(desk), std::sync::mpsc::channel());
        let thread = std::thread::Builder::new().name("tenure-mysql".to_owned()).spawn({
            let desk = Arc::clone(&desk);
            move || live(&desk, closed, &tell)
        });
        thread.expect("the system has no more threads for this process");
        let runtime = told.recv().expect("the thread says so before anything else");
        Self { address, desk, runtime, _open: open }
    }

    /// Does some work where the connections live. It is done to its end, also when nobody waits for it any more: a connection
    /// is never left in the middle of something.
    pub(crate) async fn work<T: Send + 'static>(
        &self,
        within: Duration,
        work: impl Future<Output = Result<T, Failure>> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, answered) = self.desk.answers.expect();
        self.runtime.spawn(async move { answer.tell(work.await) });
        match tokio::time::timeout(within, answered).await {
            Ok(Some(done)) => done.map_err(|failure| {
                if failure.is_missing() {
                    self.desk.sides.doubt_schema();
                }
                self.named(failure.into_store())
            }),
            Ok(None) => {
                Err(StoreError::new(StoreErrorKind::Unanswered, "the thread of this store has failed, see the log"))
            }
            Err(_) => Err(self.named(StoreError::new(StoreErrorKind::Unanswered, "the server did not answer in time"))),
        }
    }

    /// An error of a server that is not there says which one.
    fn named(&self, error: StoreError) -> StoreError {
        if !error.is_transient() {
            return error;
        }
        StoreError { message: format!("{}: address=`{}`", error.message, self.address), ..error }
    }

    /// Ends the wait for a row that nobody wants any more.
    pub(crate) fn give_up_wait(&self, key: &Key) {
        let (desk, key) = (Arc::clone(&self.desk), key.clone());
        self.runtime.spawn(async move { desk.give_up_wait(&key, Instant::now() + CLOSE_WITHIN).await });
    }
}

/// The life of the thread on which the connections live.
fn live(desk: &Arc<Desk>, closed: oneshot::Receiver<()>, tell: &std::sync::mpsc::Sender<Handle>) {
    // Renewals are made here.
    keep_apart();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("the system has no more descriptors for this process");
    let _ = tell.send(runtime.handle().clone());
    runtime.block_on(async {
        let tidying = tokio::spawn(Arc::clone(desk).keep_tidy());
        // It is never sent, only dropped.
        let _ = closed.await;
        tidying.abort();
        let _ = tokio::time::timeout(CLOSE_WITHIN, desk.close(Instant::now() + CLOSE_WITHIN)).await;
        // Connections say goodbye on tasks of their own.
        tokio::task::yield_now().await;
    });
    runtime.shutdown_timeout(Duration::from_millis(100));
}

impl Records for MySql {
    fn label(&self) -> Label {
        Self::LABEL
    }

    fn address(&self) -> String {
        self.address.clone()
    }

    async fn reach(&self, within: Duration) -> Result<(), StoreError> {
        let desk = Arc::clone(&self.desk);
        self.work(within, async move { desk.reach(Instant::now() + within).await }).await
    }

    async fn transact(&self, batch: Batch<'_>, within: Duration) -> Result<Applied, StoreError> {
        let (desk, steps, all_or_none) = (Arc::clone(&self.desk), batch.steps.to_vec(), batch.all_or_none);
        // A little less where several ask, so that what is known of the others is told when one of them is silent.
        let spare = if steps.len() > 1 { within / 20 } else { Duration::ZERO };
        let until = Instant::now() + within.saturating_sub(spare);
        self.work(within, async move { desk.apply(Batch { steps: &steps, all_or_none }, until).await }).await
    }

    async fn page(&self, after: Option<Vec<u8>>, within: Duration) -> Result<Page, StoreError> {
        let desk = Arc::clone(&self.desk);
        let look =
            async move { table::page(&desk.sides, &after.unwrap_or_default(), PAGE, Instant::now() + within).await };
        self.work(within, look).await
    }

    async fn announce(&self, client: &str, card: &Card, keep: Duration, within: Duration) -> Result<(), StoreError> {
        let (desk, client, card) = (Arc::clone(&self.desk), client.to_owned(), card.clone());
        self.work(within, async move { desk.announce(&client, &card, keep, Instant::now() + within).await }).await
    }

    async fn look_up(&self, client: &str, within: Duration) -> Result<Option<Card>, StoreError> {
        let (desk, client) = (Arc::clone(&self.desk), client.to_owned());
        self.work(within, async move { desk.look_up(&client, Instant::now() + within).await }).await
    }

    fn calls_apart(&self, kind: Kind) -> bool {
        // Whoever looks must know for whom.
        kind.has_line()
    }

    async fn listen(&self, port: Port) {
        wakeups::listen(self, port).await;
    }
}

impl Desk {
    async fn apply(self: &Arc<Self>, batch: Batch<'_>, until: Instant) -> Result<Applied, Failure> {
        let renews = |step: &Step| matches!(step.operation, Operation::Renew { .. });
        match batch.steps {
            steps if batch.all_or_none => self.acquire_all(steps, until).await,
            [step] => Ok(Applied::one(self.apply_one(step, until).await?)),
            steps if steps.iter().all(renews) => self.renew(batch, until).await,
            steps => {
                let answers =
                    steps.iter().map(async |step| self.apply_one(step, until).await.map_err(Failure::into_store));
                Ok(Applied::Each(join_all(answers).await))
            }
        }
    }

    async fn apply_one(self: &Arc<Self>, step: &Step, until: Instant) -> Result<Outcome, Failure> {
        if step.operation.is_look() {
            return steps::look(&self.sides, Ask::plain(Batch::one(step)), until).await;
        }
        let _turn = self.turns.take(&step.key).await;
        match &step.operation {
            Operation::ForceRelease => self.force(step, until).await,
            _ if step.kind == Kind::Reentrant => self.of_row(step, until).await,
            _ => self.step(step, Ground::Sheet, until).await,
        }
    }
}

impl fmt::Debug for MySql {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MySql({})", self.address)
    }
}
