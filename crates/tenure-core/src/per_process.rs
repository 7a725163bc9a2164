//! What there is one of in each process, also where processes are forked.
//!
//! A fork copies a mutex as it is, but only the thread that forks. If another has just locked it, nobody ever unlocks it in the child,
//! and whoever asks for it there hangs. So a child takes a place that it has seen to be open.

use crate::{Error, ErrorKind};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// So many forks, each the child of the one before, may find a place locked.
const PLACES: usize = 8;

/// Something that there is one of in each process. A child finds what its parent has put there, which is to say whose it is.
pub(crate) struct PerProcess<T> {
    /// Which process was the last to choose a place, and which: the process in the upper half.
    chosen: AtomicU64,
    places: [Mutex<Option<T>>; PLACES],
}

impl<T> PerProcess<T> {
    pub(crate) const fn new() -> Self {
        Self { chosen: AtomicU64::new(0), places: [const { Mutex::new(None) }; PLACES] }
    }

    /// What this process has, or its parent had. None if no place is left.
    pub(crate) fn lock(&self) -> Option<MutexGuard<'_, Option<T>>> {
        self.lock_as(process::id())
    }

    fn lock_as(&self, process: u32) -> Option<MutexGuard<'_, Option<T>>> {
        let here = u64::from(process) << 32;
        let chosen = self.chosen.load(Ordering::Acquire);
        let place = if chosen >> 32 == here >> 32 { chosen & u64::from(u32::MAX) } else { self.choose(here, chosen)? };
        // Only threads of this process ask for this place, and they leave it again.
        let place = self.places.get(usize::try_from(place).ok()?)?;
        Some(place.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Chooses a place for this process, the first that is open. Another of its threads may have chosen meanwhile: then it is that one.
    fn choose(&self, here: u64, before: u64) -> Option<u64> {
        let is_open = |place: &Mutex<_>| !matches!(place.try_lock(), Err(TryLockError::WouldBlock));
        let open = (0u64..).zip(&self.places).find(|(_, place)| is_open(place))?.0;
        match self.chosen.compare_exchange(before, here | open, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Some(open),
            Err(other) => Some(other & u64::from(u32::MAX)),
        }
    }
}

/// No place is left.
pub(crate) fn too_many_forks() -> Error {
    let message = "this process is the child of a fork, of a fork, and so on, too often in a row: start it anew";
    Error::new(ErrorKind::Unavailable, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_finds_what_its_parent_had() {
        let one = PerProcess::new();
        *one.lock_as(1).unwrap() = Some("the parent's");
        assert_eq!(*one.lock_as(2).unwrap(), Some("the parent's"));
        *one.lock_as(2).unwrap() = Some("the child's");
        assert_eq!(*one.lock_as(2).unwrap(), Some("the child's"));
    }

    /// The guard that is kept is that of a thread which the child does not have.
    #[test]
    fn a_child_does_not_wait_for_a_thread_that_it_does_not_have() {
        let one = PerProcess::new();
        let mut kept = Vec::new();
        for process in 1..=PLACES {
            let mut guard = one.lock_as(u32::try_from(process).unwrap()).expect("a place is open");
            assert_eq!(guard.replace(process), None, "it is not that of one who may be in");
            kept.push(guard);
        }
        assert!(one.lock_as(u32::MAX).is_none(), "all are locked");
        // What is closed for a child's child is not for the child.
        kept.pop();
        assert_eq!(*one.lock_as(u32::MAX).unwrap(), Some(PLACES));
    }
}
