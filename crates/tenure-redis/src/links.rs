//! One connection for commands per runtime.
//!
//! A connection is driven by a task on the runtime that opened it. If that runtime is blocked, or gone, nobody else may
//! suffer: so every runtime, the one of the client's own thread among them, has a connection of its own.

use crate::calendar::Calendar;
use crate::driver::{Answer, Driver, Failure, Link};
use crate::error::unreachable;
use redis::{Cmd, Value};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tenure_core::StoreError;
use tokio::runtime::{Handle, Id};

/// So many runtimes are nothing to tidy up after.
const MANY: usize = 32;
/// A connection that nobody has used for so long is let go, should there be many.
const IDLE: Duration = Duration::from_secs(60);
/// A connection that has answered nothing that was sent for this long is dead, not slow.
const DEAD: Duration = Duration::from_millis(250);
/// A connection to a replica is given up no more often than this: those who wait must not connect anew with every
/// attempt while the name still leads there.
const REPLICA: Duration = Duration::from_millis(100);

pub(crate) struct Links<D: Driver> {
    driver: D,
    /// Sees every connection before it is used.
    witness: Option<Arc<dyn Witness>>,
    slots: Mutex<Slots<D::Link>>,
}

/// Whoever wants to know to which run of a server every connection leads.
pub(crate) trait Witness: Send + Sync + 'static {
    /// What the server says of itself, before anything else is asked over a new connection.
    fn saw(&self, info: &Value);
}

/// The runtimes' connections.
struct Slots<L> {
    /// Few as a rule, so that to look through them costs less than to hash.
    by_runtime: Vec<(Id, Arc<Slot<L>>)>,
    /// How many there may be before they are looked through.
    tidy_at: usize,
}

/// A runtime's connection, if it has one.
struct Slot<L> {
    current: Mutex<Current<L>>,
    opening: tokio::sync::Mutex<()>,
}

struct Current<L> {
    open: Option<Open<L>>,
    /// Rises with every connection, so that a failure of an old one does not cost the new one.
    generation: u64,
    /// When one was last given up for leading to a replica.
    left_replica: Option<Instant>,
}

struct Open<L> {
    link: L,
    /// When the last request was sent that was answered, or when the connection was opened.
    answered: Instant,
    calendar: Calendar,
}

/// A connection in use.
pub(crate) struct InUse<L> {
    link: L,
    slot: Arc<Slot<L>>,
    generation: u64,
}

impl<D: Driver> Links<D> {
    pub(crate) fn new(driver: D, witness: Option<Arc<dyn Witness>>) -> Self {
        Self { driver, witness, slots: Mutex::new(Slots { by_runtime: Vec::new(), tidy_at: MANY }) }
    }

    pub(crate) fn driver(&self) -> &D {
        &self.driver
    }

    /// This runtime's connection, opened if need be.
    pub(crate) async fn get(&self, within: Duration) -> Result<InUse<D::Link>, StoreError> {
        let slot = self.slot();
        match slot.in_use() {
            Some(in_use) => Ok(in_use),
            // Boxed, because opening takes a lot of room and hardly ever happens.
            None => Box::pin(self.open(slot, within)).await,
        }
    }

    async fn open(&self, slot: Arc<Slot<D::Link>>, within: Duration) -> Result<InUse<D::Link>, StoreError> {
        let opened = tokio::time::timeout(within, async {
            // One opens, the others wait for it.
            let _opening = slot.opening.lock().await;
            if let Some(in_use) = slot.in_use() {
                return Ok(in_use);
            }
            let mut link = self.driver.open(within).await?;
            if let Some(witness) = &self.witness {
                witness.saw(&link.send(redis::cmd("INFO").arg("server"), within).await.map_err(StoreError::from)?);
            }
            let mut current = slot.lock();
            current.generation += 1;
            let calendar = Calendar::default();
            current.open = Some(Open { link: link.clone(), answered: Instant::now(), calendar });
            Ok(InUse { link, slot: Arc::clone(&slot), generation: current.generation })
        });
        match opened.await {
            Ok(opened) => opened,
            Err(_) => Err(unreachable(&self.driver.address(), "no connection in time")),
        }
    }

    fn slot(&self) -> Arc<Slot<D::Link>> {
        let runtime = Handle::current().id();
        let mut slots = self.lock();
        if let Some((_, slot)) = slots.by_runtime.iter().find(|(id, _)| *id == runtime) {
            return Arc::clone(slot);
        }
        if slots.by_runtime.len() >= slots.tidy_at {
            slots.tidy(Instant::now());
        }
        let slot = Slot::empty();
        slots.by_runtime.push((runtime, Arc::clone(&slot)));
        slot
    }

    fn lock(&self) -> MutexGuard<'_, Slots<D::Link>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<L: Link> Slots<L> {
    /// Lets go of what runtimes that are gone have left, and of what is not used.
    fn tidy(&mut self, now: Instant) {
        self.by_runtime.retain(|(_, slot)| slot.is_wanted(now));
        // Whoever is left stays for a while: to look at all of them again for each that comes would take ever longer.
        self.tidy_at = MANY.max(2 * self.by_runtime.len());
    }
}

impl<L: Link> Slot<L> {
    fn empty() -> Arc<Self> {
        let current = Current { open: None, generation: 0, left_replica: None };
        Arc::new(Self { current: Mutex::new(current), opening: tokio::sync::Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, Current<L>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn in_use(self: &Arc<Self>) -> Option<InUse<L>> {
        let current = self.lock();
        let link = current.open.as_ref()?.link.clone();
        Some(InUse { link, slot: Arc::clone(self), generation: current.generation })
    }

    /// Whether somebody opens or uses the connection now, or did of late.
    fn is_wanted(self: &Arc<Self>, now: Instant) -> bool {
        let of_late = |open: &Open<L>| now.saturating_duration_since(open.answered) < IDLE;
        Arc::strong_count(self) > 1 || self.lock().open.as_ref().is_some_and(of_late)
    }
}

impl<L> Current<L> {
    /// The connection of this generation, unless it was given up.
    fn of(&mut self, generation: u64) -> Option<&mut Open<L>> {
        self.open.as_mut().filter(|_| self.generation == generation)
    }
}

impl<L: Link> InUse<L> {
    /// Sends one command now, and gives the connection up if it turns out to be of no more use.
    pub(crate) async fn send(&mut self, command: &Cmd, sent: Instant, within: Duration) -> Answer {
        let answer = self.link.send(command, within).await;
        self.judge(sent, answer.as_ref().err());
        answer
    }

    /// Sends several commands, likewise.
    pub(crate) async fn send_all(&mut self, commands: Vec<Cmd>, within: Duration) -> Result<Vec<Answer>, Failure> {
        let sent = Instant::now();
        let answers = self.link.send_all(commands, within).await;
        self.judge(sent, answers.as_ref().err());
        answers
    }

    /// The calendar of the server at the other end; none if the connection was given up meanwhile.
    pub(crate) fn calendar<T>(&self, ask: impl FnOnce(&mut Calendar) -> T) -> Option<T> {
        self.slot.lock().of(self.generation).map(|open| ask(&mut open.calendar))
    }

    /// What the end of a request that was sent then says about the connection.
    fn judge(&self, sent: Instant, failure: Option<&Failure>) {
        let mut current = self.slot.lock();
        let left_replica = current.left_replica;
        let Some(open) = current.of(self.generation) else { return };
        let useless = match failure {
            Some(Failure::Dead(_)) => true,
            // Many short waits are as telling as a long one.
            Some(Failure::Late) => open.answered.elapsed() >= DEAD,
            Some(Failure::Replica(_)) => left_replica.is_none_or(|left| left.elapsed() >= REPLICA),
            None | Some(Failure::NoScript | Failure::Refused(_)) => false,
        };
        if useless {
            // The next request opens another.
            current.open = None;
            if let Some(Failure::Replica(_)) = failure {
                current.left_replica = Some(Instant::now());
            }
        } else if !matches!(failure, Some(Failure::Late)) {
            open.answered = open.answered.max(sent);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::RedisRs;
    use crate::settings::Settings;
    use tenure_testkit::RedisServer;
    use tokio::runtime::{Builder, Runtime};

    fn links(server: &RedisServer) -> Links<RedisRs> {
        Links::new(RedisRs::set_up(Settings::read(&server.url()).unwrap()).unwrap(), None)
    }

    fn connect(links: &Links<RedisRs>) -> Runtime {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let _ = runtime.block_on(links.get(Duration::from_secs(5)));
        runtime
    }

    #[test]
    fn runtimes_that_use_their_connections_keep_them() {
        let server = RedisServer::start();
        let links = links(&server);
        let _runtimes: Vec<Runtime> = (0..MANY * 3).map(|_| connect(&links)).collect();
        assert_eq!(links.lock().by_runtime.len(), MANY * 3);
        links.lock().tidy(Instant::now());
        assert_eq!(links.lock().by_runtime.len(), MANY * 3);
        links.lock().tidy(Instant::now() + IDLE);
        assert_eq!(links.lock().by_runtime.len(), 0, "nobody has used them for long");
    }

    /// As where every request has a runtime of its own, and there is no server.
    #[test]
    fn runtimes_without_a_connection_do_not_pile_up() {
        let server = RedisServer::start();
        server.kill();
        let links = links(&server);
        for _ in 0..MANY * 3 {
            drop(connect(&links));
        }
        assert!(links.lock().by_runtime.len() <= MANY, "{}", links.lock().by_runtime.len());
    }
}
