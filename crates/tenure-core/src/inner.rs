//! A client's insides: what its locks and guards share.

mod flush;

pub(crate) use self::flush::{Flush, flush};

use crate::acquire::Seats;
use crate::hold::Hold;
use crate::keeper::Keeper;
use crate::length::Spoken;
use crate::queue::Queue;
use crate::shared::Shared;
use crate::wakeups::Hub;
use crate::{Error, ErrorKind, Options, Owner, scope};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;
use tenure_kernel::Key;

/// A lock as one owner has it.
type Lock = (Key, u64);

/// Who holds what, by key and owner. Of a read-write lock, an owner may hold both sides.
type Owned = HashMap<Lock, Vec<Weak<Hold>>>;

/// How long a client waits for its store.
pub(crate) struct Within {
    pub(crate) answer: Duration,
    pub(crate) first_answer: Duration,
    pub(crate) flush: Duration,
}

/// A client's insides. When the last client, lock and guard are gone, the threads finish their chores and end.
pub(crate) struct Inner {
    pub(crate) shared: Arc<Shared>,
    pub(crate) hub: Arc<Hub>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) options: Options,
    pub(crate) prefix: String,
    /// How long one answer of the store is waited for.
    pub(crate) answer_within: Duration,
    /// How long an endless wait puts up with a store that never answered.
    pub(crate) first_answer_within: Duration,
    /// How the last handle to go, and the thread that has built the client, wait for releases that are under way.
    pub(crate) flush: Arc<Flush>,
    owned: Mutex<Owned>,
    /// Of what an owner holds of a lock, for as long as anybody has one or waits for one.
    seats: Mutex<HashMap<Lock, Weak<Seats>>>,
    pub(crate) keeper: tokio::sync::Mutex<Keeper>,
}

impl Inner {
    /// Whether these options make sense, and the store can keep to them.
    pub(crate) fn check(&self, options: &Options) -> Result<(), Error> {
        options.check()?;
        let Some((longest, advice)) = self.shared.backend.longest_lease() else { return Ok(()) };
        for (name, length) in [("lease", Some(options.span())), ("at_least", options.at_least)] {
            if let Some(length) = length.filter(|length| *length > longest) {
                let message = format!(
                    "this store keeps no lock for so long, {advice}: {name}={} longest={}",
                    Spoken(length),
                    Spoken(longest)
                );
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
        }
        Ok(())
    }

    pub(crate) fn new(
        shared: Arc<Shared>,
        hub: Arc<Hub>,
        keeper: Keeper,
        options: Options,
        prefix: String,
        Within { answer: answer_within, first_answer: first_answer_within, flush: flush_within }: Within,
    ) -> Self {
        Self {
            flush: Flush::new(&shared, flush_within),
            shared,
            hub,
            queue: Arc::default(),
            options,
            prefix,
            answer_within,
            first_answer_within,
            owned: Mutex::default(),
            seats: Mutex::default(),
            keeper: tokio::sync::Mutex::new(keeper),
        }
    }

    /// The holds that an owner has on a key, in the order in which it got them.
    pub(crate) fn owned(&self, key: &Key, owner: &Owner) -> Vec<Arc<Hold>> {
        let owned = self.owned.lock().unwrap_or_else(PoisonError::into_inner);
        let holds = owned.get(&(key.clone(), owner.number()));
        holds.into_iter().flatten().filter_map(Weak::upgrade).collect()
    }

    /// Whether an owner holds something on a key that it could go into again from here.
    pub(crate) fn holds(&self, key: &Key, owner: &Owner) -> bool {
        !self.owned(key, owner).is_empty() || !scope::enclosing(self, key, owner).is_empty()
    }

    /// Remembers whose a new hold is.
    pub(crate) fn remember(&self, hold: &Arc<Hold>) {
        if let Some(owner) = &hold.owner {
            let mut owned = self.owned.lock().unwrap_or_else(PoisonError::into_inner);
            let holds = owned.entry((hold.key.clone(), owner.number())).or_default();
            if !holds.iter().any(|known| std::ptr::eq(known.as_ptr(), Arc::as_ptr(hold))) {
                holds.push(Arc::downgrade(hold));
            }
        }
    }

    /// The seats of all that an owner holds of a lock. They do not depend on what becomes of the holds.
    pub(crate) fn seats(&self, key: &Key, owner: &Owner) -> Arc<Seats> {
        let mut all = self.seats.lock().unwrap_or_else(PoisonError::into_inner);
        let place = (key.clone(), owner.number());
        if let Some(seats) = all.get(&place).and_then(Weak::upgrade) {
            return seats;
        }
        // Those that nobody has, or waits for, go when there are twice as many.
        if all.len() == all.capacity() {
            all.retain(|_, seats| seats.strong_count() > 0);
        }
        let seats = Arc::default();
        all.insert(place, Arc::downgrade(&seats));
        seats
    }

    /// Forgets whose a hold was.
    pub(crate) fn forget(&self, hold: &Arc<Hold>) {
        if let Some(owner) = &hold.owner {
            let mut owned = self.owned.lock().unwrap_or_else(PoisonError::into_inner);
            if let Entry::Occupied(mut holds) = owned.entry((hold.key.clone(), owner.number())) {
                // The owner may already be in again, under another claim.
                holds
                    .get_mut()
                    .retain(|known| !std::ptr::eq(known.as_ptr(), Arc::as_ptr(hold)) && known.strong_count() > 0);
                if holds.get().is_empty() {
                    holds.remove();
                }
            }
        }
    }
}

impl Drop for Inner {
    /// Releases that are under way are finished before the last handle is gone, for then the process may end.
    fn drop(&mut self) {
        if !self.shared.origin.is_here() {
            // All of it is the parent's, sockets and threads included: it is left alone.
            self.keeper.get_mut().disown();
            std::mem::forget((Arc::clone(&self.shared), Arc::clone(&self.hub)));
        }
        self.flush.wait(self.flush.within);
    }
}
