//! A client's insides: what its locks and guards share.

use crate::hold::Hold;
use crate::keeper::Keeper;
use crate::queue::Queue;
use crate::shared::Shared;
use crate::wakeups::Hub;
use crate::{Options, Owner};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;
use tenure_kernel::Key;

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
    owned: Mutex<HashMap<(Key, u64), Weak<Hold>>>,
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

    /// The hold that an owner has on a key, if any.
    pub(crate) fn owned(&self, key: &Key, owner: &Owner) -> Option<Arc<Hold>> {
        let owned = self.owned.lock().unwrap_or_else(PoisonError::into_inner);
        owned.get(&(key.clone(), owner.number()))?.upgrade()
    }

    /// Remembers whose a new hold is.
    pub(crate) fn remember(&self, hold: &Arc<Hold>) {
        if let Some(owner) = &hold.owner {
            let mut owned = self.owned.lock().unwrap_or_else(PoisonError::into_inner);
            owned.insert((hold.key.clone(), owner.number()), Arc::downgrade(hold));
        }
    }

    /// Forgets whose a hold was.
    pub(crate) fn forget(&self, hold: &Arc<Hold>) {
        if let Some(owner) = &hold.owner {
            let mut owned = self.owned.lock().unwrap_or_else(PoisonError::into_inner);
            let entry = (hold.key.clone(), owner.number());
            // The owner may already be in again, under another claim.
            if owned.get(&entry).is_some_and(|known| std::ptr::eq(known.as_ptr(), Arc::as_ptr(hold))) {
                owned.remove(&entry);
            }
        }
    }
}
