//! All holds of a client, in the order in which they next need looking after.

use crate::Moment;
use crate::hold::Hold;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Filled by those who take and release locks, read by the watchdog.
///
/// Putting a hold down wakes the watchdog only if it would otherwise sleep past it, so that a lock that is taken and
/// released again within its renewal interval costs no wake-up.
pub(crate) struct Agenda {
    slot: Slot,
    plan: Mutex<Plan>,
    /// Rung when something comes up before the watchdog would look by itself.
    pub(crate) bell: Notify,
}

/// What a hold is looked after for. It knows for each when it is down.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Slot {
    /// To be renewed, and given up when that fails.
    Renewal,
    /// For its tokens to be cancelled.
    Deadline,
}

impl Slot {
    /// How many there are.
    pub(crate) const ALL: usize = 2;
}

#[derive(Default)]
struct Plan {
    /// Every hold; it knows itself when it is down for.
    by_time: BTreeMap<(Moment, u64), Arc<Hold>>,
    /// When the watchdog will look by itself.
    planned: Option<Moment>,
    /// When it was last doubted that the store knows the holds.
    doubted: Option<Moment>,
}

impl Agenda {
    pub(crate) fn new(slot: Slot) -> Self {
        Self { slot, plan: Mutex::default(), bell: Notify::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A hold joins that was asked for at `sent`.
    pub(crate) fn add(&self, hold: &Arc<Hold>, sent: Moment) {
        let plan = self.lock();
        // Granted, forgotten and doubted before it came here, a hold would be the only one not asked about.
        if let Some(doubted) = plan.doubted.filter(|doubted| *doubted >= sent) {
            hold.doubt(doubted);
        }
        let at = hold.next_look();
        self.put(plan, hold, at);
    }

    /// A hold joins, or is due at another time.
    pub(crate) fn add_at(&self, hold: &Arc<Hold>, at: Moment) {
        self.put(self.lock(), hold, at);
    }

    /// The store may have forgotten its holds: every one is to be asked about, those on their way here included.
    pub(crate) fn doubt(&self, now: Moment) {
        self.lock().doubted = Some(now);
        for hold in self.all() {
            hold.doubt(now);
            self.move_to(&hold, now);
        }
    }

    /// A hold that is on the agenda is due at another time.
    pub(crate) fn move_to(&self, hold: &Arc<Hold>, at: Moment) {
        let plan = self.lock();
        // It may have been released while the watchdog was busy with it.
        if hold.is_scheduled(self.slot) {
            self.put(plan, hold, at);
        }
    }

    fn put(&self, mut plan: MutexGuard<'_, Plan>, hold: &Arc<Hold>, at: Moment) {
        if let Some(before) = hold.reschedule(self.slot, Some(at)) {
            plan.by_time.remove(&(before, hold.number));
        }
        plan.by_time.insert((at, hold.number), Arc::clone(hold));
        let early = plan.planned.is_none_or(|planned| at < planned);
        if early {
            plan.planned = Some(at);
            drop(plan);
            self.bell.notify_one();
        }
    }

    /// A hold goes.
    pub(crate) fn remove(&self, hold: &Hold) {
        let mut plan = self.lock();
        if let Some(at) = hold.reschedule(self.slot, None) {
            plan.by_time.remove(&(at, hold.number));
        }
    }

    /// The holds that need looking after by `until`, earliest first. They stay on the agenda.
    pub(crate) fn due_by(&self, until: Moment) -> Vec<Arc<Hold>> {
        self.lock().by_time.range(..=(until, u64::MAX)).map(|(_, hold)| Arc::clone(hold)).collect()
    }

    /// When the watchdog must look next; from now on it is taken to do so by itself.
    pub(crate) fn plan_next(&self) -> Option<Moment> {
        let mut plan = self.lock();
        let next = plan.by_time.first_key_value().map(|((at, _), _)| *at);
        plan.planned = next;
        next
    }

    /// Every hold.
    pub(crate) fn all(&self) -> Vec<Arc<Hold>> {
        self.lock().by_time.values().cloned().collect()
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().by_time.is_empty()
    }
}
