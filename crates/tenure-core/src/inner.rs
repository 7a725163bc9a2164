//! A client's insides: what its locks and guards share.

use crate::hold::Hold;
use crate::keeper::Keeper;
use crate::queue::Queue;
use crate::shared::Shared;
use crate::wakeups::Hub;
use crate::{Options, Owner};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;
use tenure_kernel::Key;

/// Who holds what, by key and owner. Of a read-write lock, an owner may hold both sides.
type Owned = HashMap<(Key, u64), Vec<Weak<Hold>>>;

/// A client's insides. When the last client, lock and guard are gone, the thread finishes its chores and ends.
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
    owned: Mutex<Owned>,
    pub(crate) keeper: tokio::sync::Mutex<Keeper>,
}

impl Inner {
    pub(crate) fn new(
        shared: Arc<Shared>,
        hub: Arc<Hub>,
        keeper: Keeper,
        options: Options,
        prefix: String,
        answer_within: Duration,
        first_answer_within: Duration,
    ) -> Self {
        Self {
            shared,
            hub,
            queue: Arc::default(),
            options,
            prefix,
            answer_within,
            first_answer_within,
            owned: Mutex::default(),
            keeper: tokio::sync::Mutex::new(keeper),
        }
    }

    /// The holds that an owner has on a key, in the order in which it got them.
    pub(crate) fn owned(&self, key: &Key, owner: &Owner) -> Vec<Arc<Hold>> {
        let owned = self.owned.lock().unwrap_or_else(PoisonError::into_inner);
        let holds = owned.get(&(key.clone(), owner.number()));
        holds.into_iter().flatten().filter_map(Weak::upgrade).collect()
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
