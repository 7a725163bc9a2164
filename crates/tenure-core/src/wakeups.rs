//! The wake-up hub: which keys this client waits for, and who is to be woken when the store says something.

use crate::bell::{Bell, wake_each};
use crate::report::must_not_wake;
use crate::voices::{About, Voices};
use crate::{Clock, Loss};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tenure_kernel::{Claim, Key, Kind};
use tokio::sync::{Notify, mpsc};

/// How long a key is still listened to after the last waiter left, so that a lock that is handed to and fro is not
/// subscribed to anew each time.
const LINGER: Duration = Duration::from_secs(1);

/// What everyone who waits for a lock can hear of it. Whoever stands in line is called by its claim as well, and hears
/// this only of those who do not call.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Topic {
    /// The lock's kind; the simple and the fenced lock are heard of as the re-entrant one is.
    pub kind: Kind,
    /// The lock.
    pub key: Key,
    /// Whom it is said to, of those who stand in line, in a store that [calls them apart](crate::Backend::calls_apart);
    /// none if it is said to everyone.
    pub claim: Option<Claim>,
}

impl Topic {
    /// What is said of a lock to everyone.
    pub fn of(kind: Kind, key: &Key) -> Self {
        let kind = if matches!(kind, Kind::Simple | Kind::Fenced) { Kind::Reentrant } else { kind };
        Self { kind, key: key.clone(), claim: None }
    }
}

/// What a waiter wants of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Interest {
    /// Listen for releases of this lock.
    Watch(Topic),
    /// No longer.
    Unwatch(Topic),
}

/// A backend's end of the hub.
#[derive(Debug)]
pub struct Port {
    hub: Arc<Hub>,
    part: Part,
    interests: mpsc::UnboundedReceiver<Interest>,
}

/// Which of several stores speaks, of a client that listens to more than one.
type Part = u32;

/// What a backend says to its client; a cheap handle.
#[derive(Debug, Clone)]
pub struct Pusher(Arc<Hub>, Part);

impl Port {
    /// What waiters want next; pending while they want nothing new.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost when the future is dropped.
    pub async fn next(&mut self) -> Interest {
        loop {
            let next_idle = self.hub.let_go_of_idle();
            tokio::select! {
                interest = self.interests.recv() => match interest {
                    Some(interest) => return interest,
                    None => std::future::pending().await,
                },
                () = async {
                    match next_idle {
                        Some(left) => tokio::time::sleep(left).await,
                        None => self.hub.idle.notified().await,
                    }
                } => {}
            }
        }
    }

    /// All that has piled up since this interest, the last word on each lock: those to listen for, and those to let go of.
    pub fn piled_up(&mut self, first: Interest) -> (Vec<Topic>, Vec<Topic>) {
        let mut wanted: HashMap<Topic, bool> = HashMap::new();
        let mut next = Some(first);
        while let Some(interest) = next {
            match interest {
                Interest::Watch(topic) => wanted.insert(topic, true),
                Interest::Unwatch(topic) => wanted.insert(topic, false),
            };
            next = self.try_next();
        }
        let of = |wish| wanted.iter().filter(|(_, wanted)| **wanted == wish).map(|(topic, _)| topic.clone()).collect();
        (of(true), of(false))
    }

    /// What waiters want next, if they want anything now.
    pub fn try_next(&mut self) -> Option<Interest> {
        self.interests.try_recv().ok()
    }

    /// All that is listened for now, for a backend that has to start over.
    pub fn watched(&self) -> Vec<Topic> {
        self.hub.lock().keys().cloned().collect()
    }

    /// The id of the client, under which notices to it alone are addressed.
    pub fn client(&self) -> &str {
        &self.hub.client
    }

    /// A port for each of several places that the same is to be heard from, and what keeps them told of what waiters want. A
    /// lock is heard of while any of them hears. At most 32.
    pub fn split(mut self, parts: u32) -> (Vec<Self>, impl Future<Output = ()> + Send) {
        let channels: Vec<_> = (0..parts).map(|part| (part, mpsc::unbounded_channel())).collect();
        let senders: Vec<_> = channels.iter().map(|(_, (sender, _))| sender.clone()).collect();
        let port = |(part, (_, interests))| Self { hub: Arc::clone(&self.hub), part, interests };
        let ports = channels.into_iter().map(port).collect();
        let telling = async move {
            loop {
                let interest = self.next().await;
                for sender in &senders {
                    // One whose place has given up listening does not need to know.
                    let _ = sender.send(interest.clone());
                }
            }
        };
        (ports, telling)
    }

    /// The handle to speak by.
    pub fn pusher(&self) -> Pusher {
        Pusher(Arc::clone(&self.hub), self.part)
    }
}

impl Pusher {
    /// Whether both speak to the same client.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    fn bit(&self) -> u32 {
        1 << self.1
    }

    /// From now on, nothing that is said there is missed.
    pub fn live(&self, topic: &Topic) {
        if let Some(claim) = &topic.claim {
            // It may have been called before it could hear.
            self.call(claim);
        }
        // Whoever asked before and was told no may have been released since: everyone looks again.
        self.0.each(Some(topic), |state| {
            state.epoch += u64::from(state.live & self.bit() == 0);
            state.live |= self.bit();
        });
    }

    /// The lock may be free. Says whether anybody waits for it: a topic is listened to for a while after the last has left.
    pub fn wake(&self, topic: &Topic) -> bool {
        self.0.each(Some(topic), |state| state.epoch += 1);
        self.0.lock().get(topic).is_some_and(|watched| watched.watchers > 0)
    }

    /// It is this claim's turn.
    pub fn call(&self, claim: &Claim) {
        let signal = self.0.expecting().get(claim).map(Arc::clone);
        if let Some(signal) = signal {
            self.0.set(&signal, |state| state.epoch += 1);
        }
    }

    /// Releases may have been missed, and will be until [`live`](Pusher::live) says otherwise: everyone look again.
    pub fn interrupted(&self) {
        self.0.each(None, |state| {
            state.epoch += 1;
            state.live &= !self.bit();
        });
    }

    /// Somebody released this claim by force.
    pub fn forced(&self, claim: &Claim) {
        (self.0.on_notice)(Notice::Lost(claim.clone(), Loss::Forced));
    }

    /// What this claim held it holds no more, or nobody can tell: the store need not be asked.
    pub fn gone(&self, claim: &Claim) {
        (self.0.on_notice)(Notice::Lost(claim.clone(), Loss::Gone));
    }

    /// The store may have forgotten its grants, or notices and calls may have been missed: ask it about every hold and
    /// every place in line now.
    pub fn may_have_forgotten(&self) {
        (self.0.on_notice)(Notice::MayHaveForgotten);
        let signals: Vec<_> = self.0.expecting().values().map(Arc::clone).collect();
        for signal in signals {
            self.0.set(&signal, |state| state.epoch += 1);
        }
    }
}

/// What a backend has to say to the watchdog.
#[derive(Debug, Clone)]
pub(crate) enum Notice {
    Lost(Claim, Loss),
    MayHaveForgotten,
}

type OnNotice = Box<dyn Fn(Notice) + Send + Sync>;

/// The hub itself.
pub(crate) struct Hub {
    client: String,
    clock: Clock,
    signals: Mutex<HashMap<Topic, Watched>>,
    /// Claims that stand in line, and who waits for their turn.
    expecting: Mutex<HashMap<Claim, Arc<Signal>>>,
    interests: mpsc::UnboundedSender<Interest>,
    idle: Notify,
    /// Who wakes those whom the calling thread may not.
    voices: Arc<Voices>,
    on_notice: OnNotice,
}

struct Watched {
    signal: Arc<Signal>,
    watchers: usize,
    idle_since: Option<crate::Moment>,
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hub").field("client", &self.client).finish_non_exhaustive()
    }
}

impl Hub {
    pub(crate) fn new(
        client: &str,
        clock: Clock,
        voices: &Arc<Voices>,
        on_notice: impl Fn(Notice) + Send + Sync + 'static,
    ) -> (Arc<Self>, Port) {
        let (interests, wanted) = mpsc::unbounded_channel();
        let hub = Arc::new(Self {
            client: client.to_owned(),
            clock,
            signals: Mutex::default(),
            expecting: Mutex::default(),
            interests,
            idle: Notify::new(),
            voices: Arc::clone(voices),
            on_notice: Box::new(on_notice),
        });
        let port = Port { hub: Arc::clone(&hub), part: 0, interests: wanted };
        (hub, port)
    }

    /// Starts listening for a lock, or joins those who do.
    pub(crate) fn watch(self: &Arc<Self>, topic: Topic) -> Watch {
        let mut signals = self.lock();
        let watched = signals.entry(topic.clone()).or_insert_with(|| {
            // The receiver is gone only when the client's thread is; then the safety poll is all there is.
            let _ = self.interests.send(Interest::Watch(topic.clone()));
            Watched { signal: Arc::new(Signal::default()), watchers: 0, idle_since: None }
        });
        watched.watchers += 1;
        watched.idle_since = None;
        Watch { hub: Arc::clone(self), topic, signal: Arc::clone(&watched.signal) }
    }

    /// Starts listening for a claim to be called.
    pub(crate) fn expect(self: &Arc<Self>, claim: &Claim) -> Expected {
        let signal = Arc::new(Signal::default());
        self.expecting().insert(claim.clone(), Arc::clone(&signal));
        Expected { hub: Arc::clone(self), claim: claim.clone(), signal, apart: None }
    }

    /// Until something was said to everyone since `heard`, which was read off the watch before the store was asked.
    pub(crate) async fn news(self: &Arc<Self>, watch: &mut Option<Watch>, topic: Topic, heard: Option<u64>) {
        let watch = watch.get_or_insert_with(|| self.watch(topic));
        match heard {
            // We could already hear when we asked: nothing was missed.
            Some(heard) if watch.is_live() => watch.changed(heard).await,
            // It may have been said between our asking and our listening: ask again as soon as we hear. Where there is nobody to
            // hear, this client still hears itself.
            _ => {
                let heard = heard.unwrap_or_else(|| watch.epoch());
                watch.signal.until(|state| state.live != 0 || state.epoch != heard).await;
            }
        }
    }

    fn unwatch(&self, topic: &Topic) {
        let mut signals = self.lock();
        if let Some(watched) = signals.get_mut(topic) {
            watched.watchers -= 1;
            if watched.watchers == 0 && topic.claim.is_some() {
                // Nobody else is ever called there.
                signals.remove(topic);
                let _ = self.interests.send(Interest::Unwatch(topic.clone()));
            } else if watched.watchers == 0 {
                watched.idle_since = Some(self.clock.now());
                self.idle.notify_one();
            }
        }
    }

    /// Lets go of locks nobody has waited for in a while; says when to look again.
    fn let_go_of_idle(&self) -> Option<Duration> {
        let mut signals = self.lock();
        let now = self.clock.now();
        let mut next = None;
        signals.retain(|topic, watched| {
            let Some(since) = watched.idle_since else { return true };
            let left = LINGER.saturating_sub(now.since(since));
            if left.is_zero() {
                let _ = self.interests.send(Interest::Unwatch(topic.clone()));
                return false;
            }
            next = Some(next.map_or(left, |next: Duration| next.min(left)));
            true
        });
        next
    }

    fn each(&self, topic: Option<&Topic>, change: impl Fn(&mut SignalState)) {
        let signal = |watched: &Watched| Arc::clone(&watched.signal);
        let signals: Vec<_> = match topic {
            Some(topic) => self.lock().get(topic).map(signal).into_iter().collect(),
            None => self.lock().values().map(signal).collect(),
        };
        // Outside of the mutex, because it runs wakers of the application's.
        for signal in signals {
            self.set(&signal, &change);
        }
    }

    /// Wakes those who wait, unless the calling thread may not: then others do.
    fn set(&self, signal: &Arc<Signal>, change: impl Fn(&mut SignalState)) {
        change(&mut signal.state.lock().unwrap_or_else(PoisonError::into_inner));
        let wakers = signal.changed.ring();
        if must_not_wake() { self.voices.wake(About::News, wakers) } else { wake_each(wakers) }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Topic, Watched>> {
        self.signals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn expecting(&self) -> MutexGuard<'_, HashMap<Claim, Arc<Signal>>> {
        self.expecting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Default)]
struct Signal {
    state: Mutex<SignalState>,
    changed: Bell,
}

#[derive(Default, Clone, Copy)]
struct SignalState {
    /// Rises with every sign that the key may be free.
    epoch: u64,
    /// By whom a release now would be heard, a bit for each part.
    live: u32,
}

impl Signal {
    fn get(&self) -> SignalState {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn until(&self, wanted: impl Fn(SignalState) -> bool) {
        loop {
            // It hears before the look, so that a change between look and sleep is not missed.
            let changed = self.changed.rung();
            if wanted(self.get()) {
                return;
            }
            changed.await;
        }
    }
}

/// One waiter's ear on one lock.
pub(crate) struct Watch {
    hub: Arc<Hub>,
    topic: Topic,
    signal: Arc<Signal>,
}

impl Watch {
    /// To be read before the lock is asked; [`changed`](Watch::changed) then misses nothing that comes after.
    pub(crate) fn epoch(&self) -> u64 {
        self.signal.get().epoch
    }

    /// Whether a release now would be heard.
    pub(crate) fn is_live(&self) -> bool {
        self.signal.get().live != 0
    }

    /// Until a release would be heard.
    #[cfg(test)]
    pub(crate) async fn live(&self) {
        self.signal.until(|state| state.live != 0).await;
    }

    /// Until something was heard since `epoch`.
    pub(crate) async fn changed(&self, epoch: u64) {
        self.signal.until(|state| state.epoch != epoch).await;
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.hub.unwatch(&self.topic);
    }
}

/// The ear of a claim that stands in line.
pub(crate) struct Expected {
    hub: Arc<Hub>,
    claim: Claim,
    signal: Arc<Signal>,
    /// For stores that have a place of their own for what is said to one claim.
    apart: Option<Watch>,
}

impl Expected {
    /// Whose ear it is.
    pub(crate) fn claim(&self) -> &Claim {
        &self.claim
    }

    /// Listens where this claim alone is called. It is called once that is so, for it may have been before.
    pub(crate) fn listen_apart(&mut self, lock: Topic) {
        let topic = Topic { claim: Some(self.claim.clone()), ..lock };
        self.apart.get_or_insert_with(|| self.hub.watch(topic));
    }

    /// To be read before the lock is asked; [`called`](Expected::called) then misses nothing that comes after.
    pub(crate) fn epoch(&self) -> u64 {
        self.signal.get().epoch
    }

    /// Until the claim was called since `epoch`, or may have been.
    pub(crate) async fn called(&self, epoch: u64) {
        self.signal.until(|state| state.epoch != epoch).await;
    }
}

impl Drop for Expected {
    fn drop(&mut self) {
        self.hub.expecting().remove(&self.claim);
    }
}
