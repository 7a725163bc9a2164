//! What is told to the application's tasks: losses, also at their deadlines, and events.
//!
//! Whoever wakes a task runs code of the application's, its wakers. They may block or panic, so that neither the thread that renews
//! leases nor the one that sees to deadlines does: [`Voices`] do.

use crate::agenda::{Agenda, Slot};
use crate::event::{Announcer, Event, Events};
use crate::hold::Hold;
use crate::voices::{About, Voices, Word};
use crate::{Clock, Moment};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// What is to be told to the application's tasks.
pub(crate) struct Signals {
    /// The holds whose tokens are to be cancelled when their time is over, whatever the watchdog does.
    deadlines: Agenda,
    untold: Mutex<Vec<Arc<Hold>>>,
    events: Announcer,
    /// Tells whoever closes the client to look again.
    pub(crate) settling: Arc<Notify>,
    settles: AtomicBool,
    pub(crate) voices: Arc<Voices>,
}

impl Signals {
    pub(crate) fn new() -> Self {
        Self {
            deadlines: Agenda::new(Slot::Deadline),
            untold: Mutex::default(),
            events: Announcer::default(),
            settling: Arc::default(),
            settles: AtomicBool::new(false),
            voices: Arc::default(),
        }
    }

    fn untold(&self) -> MutexGuard<'_, Vec<Arc<Hold>>> {
        self.untold.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something has changed for those who wait for this hold.
    pub(crate) fn tell(&self, hold: &Arc<Hold>) {
        self.untold().push(Arc::clone(hold));
        self.deadlines.bell.notify_one();
    }

    /// Those who wait for this hold to be lost are told at its deadline.
    pub(crate) fn watch(&self, hold: &Arc<Hold>, now: Moment) {
        self.deadlines.add_at(hold, hold.next_deadline(now).unwrap_or(now));
    }

    /// Nobody waits for it any more.
    pub(crate) fn forget(&self, hold: &Hold) {
        self.deadlines.remove(hold);
    }

    /// Sends an event, if anybody listens; what to send is only worked out then.
    pub(crate) fn say(&self, event: impl FnOnce() -> Event) {
        self.voices.wake(About::News, self.events.say(event));
    }

    /// Less is left of the client than before, which whoever closes it waits for.
    pub(crate) fn settle(&self) {
        if !self.settles.swap(true, Ordering::AcqRel) {
            self.deadlines.bell.notify_one();
        }
    }

    pub(crate) fn subscribe(&self) -> Events {
        self.events.subscribe()
    }

    /// Tells those who wait for this hold, here and now.
    pub(crate) fn tell_now(&self, hold: &Hold, now: Moment) {
        self.voices.say(About::Loss, hold.signal(now));
    }

    /// Tells all there is to tell, until dropped.
    pub(crate) async fn run(&self, clock: &Clock) {
        loop {
            self.tell_all(clock);
            match self.deadlines.plan_next() {
                Some(at) => tokio::select! {
                    () = clock.sleep_until(at) => {}
                    () = self.deadlines.bell.notified() => {}
                },
                None => self.deadlines.bell.notified().await,
            }
        }
    }

    fn tell_all(&self, clock: &Clock) {
        loop {
            let now = clock.now();
            let mut holds = std::mem::take(&mut *self.untold());
            for hold in self.deadlines.due_by(now) {
                self.deadlines.remove(&hold);
                holds.push(hold);
            }
            // Taken back before anybody is woken: what settles meanwhile rings again.
            let settles = self.settles.swap(false, Ordering::AcqRel);
            if holds.is_empty() && !settles {
                return;
            }
            for hold in holds {
                self.tell_now(&hold, now);
                // It was renewed meanwhile, or another entry of it lasts longer.
                if hold.has_tokens() {
                    self.watch(&hold, now);
                }
            }
            if settles {
                self.voices.say(About::News, [Word::Ring(Arc::clone(&self.settling))]);
            }
        }
    }
}

impl Drop for Signals {
    /// Subscribers hear that there will be no more.
    fn drop(&mut self) {
        self.voices.wake(About::News, self.events.end());
    }
}
