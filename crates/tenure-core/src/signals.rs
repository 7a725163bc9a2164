//! The client's thread that speaks to the application's tasks: it wakes those who wait for a lock or for a loss, cancels
//! their tokens and sends them events.
//!
//! Whoever wakes a task runs code of the application's, its wakers. They may block or panic, so the thread that renews leases
//! leaves all of this to this one.

use crate::agenda::{Agenda, Slot};
use crate::event::{Announcer, Event, Events};
use crate::hold::Hold;
use crate::{Clock, Moment};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// What is to be told to the application's tasks.
pub(crate) struct Signals {
    /// The holds whose tokens are to be cancelled when their time is over, whatever the watchdog does.
    deadlines: Agenda,
    untold: Mutex<Vec<Arc<Hold>>>,
    events: Announcer,
    /// Whether subscribers are to be woken.
    news: AtomicBool,
    /// Tells whoever closes the client to look again; rung by this thread too.
    pub(crate) settling: Notify,
    settles: AtomicBool,
}

impl Signals {
    pub(crate) fn new() -> Self {
        Self {
            deadlines: Agenda::new(Slot::Deadline),
            untold: Mutex::default(),
            events: Announcer::default(),
            news: AtomicBool::new(false),
            settling: Notify::new(),
            settles: AtomicBool::new(false),
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
        if self.events.say(event) && !self.news.swap(true, Ordering::AcqRel) {
            self.deadlines.bell.notify_one();
        }
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

    /// Losses first: they are what somebody must act upon.
    fn tell_all(&self, clock: &Clock) {
        loop {
            let now = clock.now();
            let mut holds = std::mem::take(&mut *self.untold());
            for hold in self.deadlines.due_by(now) {
                self.deadlines.remove(&hold);
                holds.push(hold);
            }
            // Taken back before they are woken: what is said meanwhile rings again.
            let (news, settles) = (self.news.swap(false, Ordering::AcqRel), self.settles.swap(false, Ordering::AcqRel));
            if holds.is_empty() && !news && !settles {
                return;
            }
            for hold in holds {
                hold.signal(now);
                // It was renewed meanwhile, or another entry of it lasts longer.
                if hold.has_tokens() {
                    self.watch(&hold, now);
                }
            }
            if settles {
                let _ = catch_unwind(AssertUnwindSafe(|| self.settling.notify_waiters()));
            }
            if news {
                self.events.wake();
            }
        }
    }
}
