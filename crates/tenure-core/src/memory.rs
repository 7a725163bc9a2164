//! The memory backend: the kernel under a mutex, for tests, examples and single processes.

use crate::records::{Done, Entry, Liveness, Loaded, Page, Records, run};
use crate::wakeups::{Interest, Pusher};
use crate::{Applied, Batch, Card, Clock, Guarantee, Label, ManualClock, Moment, Port, StoreError};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use tenure_kernel::{Key, Kind, Operation, Record, Time, Token, step};

/// A store in this process's memory. Clones are the same store.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tenure_core::Error> {
/// use tenure_core::{Client, Memory};
///
/// let store = Memory::new();
/// let (one, other) = (Client::new(store.clone())?, Client::new(store)?);
/// let _guard = one.lock("a")?.lock().await?;
/// assert!(other.lock("a")?.try_lock().await?.is_none());
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Memory(Arc<Store>);

struct Store {
    clock: Clock,
    /// What the store's epoch is on the clock, so that tokens look like those of other stores.
    zero: Duration,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    records: HashMap<Key, Record>,
    watermark: Token,
    cards: HashMap<String, (Card, Moment)>,
    listeners: Vec<Pusher>,
    /// With this many records, those that ended unseen are swept out.
    sweep_at: usize,
}

/// Fewer records than this are not worth sweeping.
const SWEEP_FROM: usize = 1024;

impl Memory {
    const LABEL: Label = Label {
        name: "memory",
        guarantees: &[Guarantee::Fencing, Guarantee::PushedWakeups],
        caveat: "one process only; forgets everything when it ends",
    };

    /// An empty store on the machine's clock.
    pub fn new() -> Self {
        let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let clock = Clock::system();
        let zero = wall.saturating_sub(clock.now().since_zero());
        Self(Arc::new(Store { clock, zero, state: Mutex::default() }))
    }

    /// An empty store on a clock that is moved by hand. Clients of it live by the same clock.
    pub fn with_clock(clock: ManualClock) -> Self {
        Self(Arc::new(Store { clock: clock.into(), zero: Duration::ZERO, state: Mutex::default() }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Time {
        Time::from_micros(0).plus(self.0.zero + self.0.clock.now().since_zero())
    }

    fn run(&self, state: &mut State, batch: Batch<'_>) -> Done {
        let keys = batch.keys();
        let load = |key: &&Key| Entry::new(state.records.remove(*key).unwrap_or_default(), state.watermark);
        let loaded = Loaded { entries: keys.iter().map(load).collect(), now: self.now(), liveness: Liveness::Leases };
        let mut done = run(batch, loaded);
        state.watermark = done.watermark();
        for (key, entry) in keys.into_iter().zip(done.entries.drain(..)) {
            if !entry.record.is_empty() {
                state.records.insert(key.clone(), entry.record);
            }
        }
        self.sweep(state);
        done
    }

    /// Forgets what ended while nobody looked, whenever the records have doubled since the last time.
    fn sweep(&self, state: &mut State) {
        if state.records.len() < state.sweep_at.max(SWEEP_FROM) {
            return;
        }
        let (now, watermark) = (self.now(), state.watermark);
        state.records.retain(|_, record| {
            *record = step(Kind::Reentrant, std::mem::take(record), &Operation::Inspect, now, watermark).record;
            !record.is_empty()
        });
        state.sweep_at = state.records.len() * 2;
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

impl Records for Memory {
    fn label(&self) -> Label {
        Self::LABEL
    }

    fn address(&self) -> String {
        format!("memory:{:p}", self.0)
    }

    fn clock(&self) -> Clock {
        self.0.clock.clone()
    }

    async fn reach(&self, _within: Duration) -> Result<(), StoreError> {
        Ok(())
    }

    async fn transact(&self, batch: Batch<'_>, _within: Duration) -> Result<Applied, StoreError> {
        let (Done { applied, notices, .. }, listeners) = {
            let mut state = self.lock();
            let done = self.run(&mut state, batch);
            let listeners = if done.notices.is_empty() { Vec::new() } else { state.listeners.clone() };
            (done, listeners)
        };
        for listener in &listeners {
            notices.tell(listener);
        }
        Ok(applied)
    }

    async fn page(&self, _after: Option<Vec<u8>>, _within: Duration) -> Result<Page, StoreError> {
        let entry = |(key, record): (&Key, &Record)| (key.clone(), Entry::new(record.clone(), 0));
        let entries = self.lock().records.iter().map(entry).collect();
        Ok(Page { entries, now: self.now(), liveness: Liveness::Leases, next: None })
    }

    async fn announce(&self, client: &str, card: &Card, keep: Duration, _within: Duration) -> Result<(), StoreError> {
        let (mut state, now) = (self.lock(), self.0.clock.now());
        // Those that outlasted their clients go with it.
        state.cards.retain(|_, (_, until)| *until > now);
        if keep.is_zero() {
            state.cards.remove(client);
        } else {
            state.cards.insert(client.to_owned(), (card.clone(), now.plus(keep)));
        }
        Ok(())
    }

    async fn look_up(&self, client: &str, _within: Duration) -> Result<Option<Card>, StoreError> {
        let now = self.0.clock.now();
        Ok(self.lock().cards.get(client).filter(|(_, until)| *until > now).map(|(card, _)| card.clone()))
    }

    async fn listen(&self, mut port: Port) {
        let listening = Listening { store: self, pusher: port.pusher() };
        self.lock().listeners.push(listening.pusher.clone());
        // A notice may have been sent before we could hear it: ask about every hold.
        listening.pusher.may_have_forgotten();
        loop {
            if let Interest::Watch(topic) = port.next().await {
                listening.pusher.live(&topic);
            }
        }
    }
}

/// A client that listens, until it is gone.
struct Listening<'a> {
    store: &'a Memory,
    pusher: Pusher,
}

impl Drop for Listening<'_> {
    fn drop(&mut self) {
        self.store.lock().listeners.retain(|pusher| !pusher.is(&self.pusher));
    }
}

impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Memory")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wakeups::{Hub, Topic};
    use crate::{Backend, Step};
    use tenure_kernel::{Claim, Outcome, Stay};

    #[test]
    fn locks_that_ended_unseen_do_not_pile_up() {
        let clock = ManualClock::new();
        let store = Memory::with_clock(clock.clone());
        for number in 0..20 * SWEEP_FROM as u64 {
            let lease = Duration::from_secs(1);
            let claim = Claim::new("c", number);
            let operation = Operation::Acquire { claim, under: Vec::new(), lease, stay: Stay::No };
            let step = Step::new(Kind::Simple, &Key::new(&format!("key {number}")).unwrap(), operation);
            store.run(&mut store.lock(), Batch::one(&step));
            clock.advance(Duration::from_millis(10));
        }
        assert!(store.lock().records.len() <= SWEEP_FROM, "a hundred are held, the others ended");
    }

    /// Its siblings may go in now, under those that are still in.
    #[tokio::test]
    async fn who_waits_is_woken_when_a_claim_leaves_others_in() {
        let (store, key) = (Memory::new(), Key::new("k").unwrap());
        let (hub, port) = Hub::new("c", Backend::clock(&store), &Arc::default(), |_| {});
        let listens = store.clone();
        let listening = tokio::spawn(async move { Backend::listen(&listens, port).await });
        let watch = hub.watch(Topic::of(Kind::Reentrant, &key));
        watch.live().await;
        let lease = Duration::from_secs(60);
        let (outer, inner) = (Claim::new("c", 1), Claim::nested("c", 2));
        let acquire = |claim: &Claim, under: &[Claim]| Operation::Acquire {
            claim: claim.clone(),
            under: under.to_vec(),
            lease,
            stay: Stay::No,
        };
        let apply = async |operation| store.apply_one(Kind::Reentrant, &key, &operation, lease).await.unwrap();
        assert!(matches!(apply(acquire(&outer, &[])).await, Outcome::Granted(_)));
        assert!(matches!(apply(acquire(&inner, std::slice::from_ref(&outer))).await, Outcome::Granted(_)));
        let heard = watch.epoch();
        let (left, change, keep) = (0, u32::MAX, Duration::ZERO);
        let leave = Operation::Release { claim: inner, left, change, lease, keep, cancel: None };
        assert_eq!(apply(leave).await, Outcome::Left);
        assert!(watch.epoch() > heard, "nobody is told");
        listening.abort();
    }
}
