//! Where one who waits stands.

use std::sync::Arc;
use tokio::sync::watch;

/// Where one who waits for a lock stands in line, for whoever wants to show it. Clones are the same place.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tenure_core::Error> {
/// use tenure_core::{Client, Memory, Options, Place};
///
/// let client = Client::new(Memory::new())?;
/// let lock = client.fair("printer")?;
/// let first = lock.lock().await?;
///
/// let place = Place::new();
/// let waiting = lock.lock_with(Options::new().place(&place));
/// let shown = async {
///     while place.position() != Some(1) {
///         place.changed().await;
///     }
///     first.release().await
/// };
/// let (second, released) = tokio::join!(waiting, shown);
/// assert!(released.is_ok() && second?.is_held());
/// assert_eq!(place.position(), None);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Place(Arc<watch::Sender<Option<u32>>>);

impl Place {
    /// Nowhere yet.
    pub fn new() -> Self {
        Self(Arc::new(watch::Sender::new(None)))
    }

    /// The place in line when the store was last asked, which is about once a second: 1 is the next to be served. None for
    /// one who does not stand in line, because it is in, gave up, or wants a kind of lock that has none.
    pub fn position(&self) -> Option<u32> {
        *self.0.borrow()
    }

    /// Until the position changes.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future has no effect.
    pub async fn changed(&self) {
        // The sender is ours, so that it cannot be gone.
        let _ = self.0.subscribe().changed().await;
    }

    /// So many stand before.
    pub(crate) fn behind(&self, ahead: Option<u32>) {
        let position = ahead.map(|ahead| ahead.saturating_add(1));
        self.0.send_if_modified(|known| std::mem::replace(known, position) != position);
    }
}

impl Default for Place {
    fn default() -> Self {
        Self::new()
    }
}

impl PartialEq for Place {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
