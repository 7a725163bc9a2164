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
///     let mut position = place.position();
///     while position != Some(1) {
///         position = place.moved_from(position).await;
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

    /// Until the position is another than that which was last seen; which it is. A move in between is not missed.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future has no effect.
    pub async fn moved_from(&self, seen: Option<u32>) -> Option<u32> {
        let mut places = self.0.subscribe();
        // The sender is ours, so that it cannot be gone.
        places.wait_for(|position| *position != seen).await.map_or(seen, |position| *position)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_move_between_a_look_and_the_wait_for_the_next_is_seen() {
        let place = Place::new();
        let seen = place.position();
        place.behind(Some(0));
        assert_eq!(place.moved_from(seen).await, Some(1));
    }
}
