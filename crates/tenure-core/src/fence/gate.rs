//! The gate: guarded writes to anything, by running them while it is held.

use super::Refused;
use super::files::Files;
use crate::Token;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Lets through who is not older than the newest seen: for files, HTTP handlers and whatever else cannot check a fencing
/// token by itself. It stands where the writes arrive, not where they are sent.
///
/// ```
/// use tenure_core::fence::FenceGate;
///
/// static GATE: FenceGate = FenceGate::new();
///
/// fn put(document: &str, token: u64, text: &str) -> u16 {
///     match GATE.guard(document, token, || store(document, text)) {
///         Ok(()) => 204,
///         Err(_late) => 409,
///     }
/// }
/// # fn store(_: &str, _: &str) {}
/// assert_eq!((put("a", 7, "new"), put("a", 5, "late"), put("a", 7, "newer")), (204, 409, 204));
/// ```
///
/// Calls block while another writes to the same resource; other resources do not wait. In async code call them by
/// `spawn_blocking`. The gate is not re-entrant: a write must not go through it for the same resource again.
///
/// A gate remembers every resource that it has ever seen, because the late writer may come at any time: some hundred bytes
/// each in memory, or a small file. Where resources come and go in millions, keep the token with each, as
/// [`sql`](super::sql) does.
pub struct FenceGate(Memory);

enum Memory {
    /// Each resource has a lock of its own, so that a slow write holds up no other.
    Own(Mutex<BTreeMap<String, Arc<Mutex<Token>>>>),
    Files(Files),
}

impl FenceGate {
    /// A gate for the writes of this process, as long as it lives. After a restart it has seen nothing.
    pub const fn new() -> Self {
        Self(Memory::Own(Mutex::new(BTreeMap::new())))
    }

    /// A gate that survives restarts, crashes and power losses, and that the processes of one machine share: all that
    /// open the same directory. It is made if it is missing, and has a small file for each resource. It must lie on a local
    /// file system; what is removed from it is forgotten.
    ///
    /// Passing costs a flush to the disk.
    ///
    /// # Errors
    ///
    /// [`Refused::Shut`] if there is no such directory and it cannot be made.
    pub fn persistent(directory: impl AsRef<Path>) -> Result<Self, Refused> {
        Files::open(directory.as_ref()).map(|files| Self(Memory::Files(files)))
    }

    /// Runs a write if no later holder has been here, and keeps all others of the resource out until it is done. Check and
    /// write are thus one step: who is paused in between finds nobody ahead when it goes on.
    ///
    /// The write is done when the closure returns. A future that it returns is run outside the gate, where nothing guards it.
    ///
    /// The price is that others wait for as long as a write takes, also if its process is stopped in the middle. They go on
    /// when it does, or when it dies. A write that fails or panics leaves its token as the newest one.
    ///
    /// # Errors
    ///
    /// [`Refused::Late`] if a later holder has been here, [`Refused::Shut`] if the gate's file cannot be used. Either way
    /// the write was not run.
    pub fn guard<T>(&self, resource: &str, token: Token, write: impl FnOnce() -> T) -> Result<T, Refused> {
        match &self.0 {
            Memory::Own(seen) => {
                let newest = {
                    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                    match seen.get(resource) {
                        Some(newest) => Arc::clone(newest),
                        None => Arc::clone(seen.entry(resource.to_owned()).or_default()),
                    }
                };
                // A number that was set before a write panicked is as good as any.
                let mut newest = newest.lock().unwrap_or_else(PoisonError::into_inner);
                if token < *newest {
                    return Err(Refused::Late { token, newest: Some(*newest) });
                }
                *newest = token;
                Ok(write())
            }
            Memory::Files(files) => {
                let held = files.hold(resource, token)?;
                let written = write();
                drop(held);
                Ok(written)
            }
        }
    }

    /// Leaves the token and does nothing else: from now on older ones are refused. Call it before reading what a write is to
    /// be decided by.
    ///
    /// As the check of a write that follows it is not enough. A later holder may pass, and write, in between: who can be
    /// stopped there needs [`guard`](FenceGate::guard).
    ///
    /// # Errors
    ///
    /// As [`guard`](FenceGate::guard).
    pub fn pass(&self, resource: &str, token: Token) -> Result<(), Refused> {
        self.guard(resource, token, || ())
    }
}

impl Default for FenceGate {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for FenceGate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Memory::Own(_) => f.write_str("FenceGate"),
            Memory::Files(files) => write!(f, "FenceGate({})", files.directory().display()),
        }
    }
}
