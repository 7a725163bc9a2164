//! Which locks somebody else was seen to have, who and when: a wait that ends without an answer of its own is one for a busy lock
//! only if somebody of this client was told so.

use crate::Moment;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tenure_kernel::{Holder, Key};

/// When each lock was last seen to be busy.
#[derive(Default)]
pub(crate) struct Busy(Mutex<HashMap<Key, Seen>>);

struct Seen {
    last: Moment,
    holder: Option<Holder>,
    /// When somebody was last warned of a long wait for it.
    warned: Option<Moment>,
}

impl Seen {
    fn may_warn(&self, now: Moment, within: Duration) -> bool {
        self.warned.is_none_or(|warned| now.since(warned) >= within)
    }
}

/// Who waits asks at least once a second.
const KEPT: Duration = Duration::from_secs(60);
/// What was seen so long before is still worth telling.
const FRESH: Duration = Duration::from_secs(2);

impl Busy {
    /// The store has said that somebody else has the lock, or comes first.
    pub(crate) fn saw(&self, key: &Key, holder: Option<&Holder>, now: Moment) {
        let mut all = self.lock();
        if let Some(seen) = all.get_mut(key) {
            seen.last = now;
            seen.holder = holder.cloned();
            return;
        }
        insert(&mut all, key, Seen { last: now, holder: holder.cloned(), warned: None });
    }

    /// Others of this client have it, or come first: the store need not be asked.
    pub(crate) fn is_ours(&self, key: &Key, now: Moment) {
        let mut all = self.lock();
        if !all.contains_key(key) {
            insert(&mut all, key, Seen { last: now, holder: None, warned: None });
        }
    }

    /// Whether it has since then.
    pub(crate) fn was_seen_since(&self, key: &Key, then: Moment) -> bool {
        self.lock().get(key).is_some_and(|seen| seen.last >= then)
    }

    /// Who had it when that was last seen, unless that was long before then.
    pub(crate) fn holder(&self, key: &Key, then: Moment) -> Option<Holder> {
        let all = self.lock();
        all.get(key).filter(|seen| then.since(seen.last) < FRESH)?.holder.clone()
    }

    /// Whether one who has waited for long is to be warned of: nobody else was within this time.
    pub(crate) fn is_to_be_warned_of(&self, key: &Key, now: Moment, within: Duration) -> bool {
        // Where nobody was told that it is busy the store is silent, of which others speak.
        self.lock().get(key).is_some_and(|seen| seen.may_warn(now, within))
    }

    /// The same of one whose warning is about to be written: from now on, others were warned of.
    pub(crate) fn warns(&self, key: &Key, now: Moment, within: Duration) -> bool {
        let mut all = self.lock();
        // What was seen long ago may be forgotten since.
        let Some(seen) = all.get_mut(key) else { return true };
        let may = seen.may_warn(now, within);
        if may {
            seen.warned = Some(now);
        }
        may
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Seen>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn insert(all: &mut HashMap<Key, Seen>, key: &Key, seen: Seen) {
    if all.len() == all.capacity() {
        let now = seen.last;
        all.retain(|_, seen| now.since(seen.last) < KEPT);
    }
    all.insert(key.clone(), seen);
}
