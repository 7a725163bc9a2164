//! The backend: every call is a piece of work for the runtime on which the connections live.

use crate::desk::Desk;
use crate::error::Failure;
use crate::sheet::{Ask, Ground};
use crate::steps;
use crate::wakeups;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::{
    Backend, Card, Guarantee, Joint, Key, Kind, Label, Lasts, Operation, Outcome, Pattern, Port, Renewal, Sight,
    StoreError, StoreErrorKind, Wanted, keep_apart,
};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// How long a client that goes may take to end what it does in the server.
const CLOSE_WITHIN: Duration = Duration::from_secs(2);

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

impl Backend for MySql {
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

    async fn apply(
        &self,
        kind: Kind,
        key: &Key,
        operation: &Operation,
        within: Duration,
    ) -> Result<Outcome, StoreError> {
        let (desk, key, operation) = (Arc::clone(&self.desk), key.clone(), operation.clone());
        self.work(within, async move {
            let until = Instant::now() + within;
            let ask = Ask { kind, key: &key, operation: &operation, ground: Ground::Sheet };
            if operation.is_look() {
                return steps::look(&desk.sides, &ask, until).await;
            }
            let _turn = desk.turns.take(&key).await;
            match &operation {
                Operation::ForceRelease => desk.force(kind, &key, until).await,
                _ if kind == Kind::Reentrant => desk.of_row(&key, &operation, until).await,
                _ => Ok(desk.step(&ask, until).await?.outcome),
            }
        })
        .await
    }

    async fn acquire_all(&self, wanted: &[Wanted], within: Duration) -> Result<Joint, StoreError> {
        let (desk, wanted) = (Arc::clone(&self.desk), wanted.to_vec());
        self.work(within, async move { desk.acquire_all(&wanted, Instant::now() + within).await }).await
    }

    async fn renew(&self, renewals: &[Renewal], within: Duration) -> Result<Vec<Lasts>, StoreError> {
        let (desk, renewals) = (Arc::clone(&self.desk), renewals.to_vec());
        // A little less, so that what is known of the others is told when one of them is silent.
        let until = Instant::now() + within.saturating_sub(within / 20);
        self.work(within, async move { desk.renew(&renewals, until).await }).await
    }

    async fn list(&self, pattern: &Pattern, within: Duration) -> Result<Vec<(Key, Sight)>, StoreError> {
        let (desk, pattern) = (Arc::clone(&self.desk), pattern.clone());
        self.work(within, async move { desk.list(&pattern, Instant::now() + within).await }).await
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

impl fmt::Debug for MySql {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MySql({})", self.address)
    }
}
