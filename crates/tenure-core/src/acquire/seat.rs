//! Going in again from inside a section, one at a time.

use super::Patience;
use super::again::{Again, Schedule};
use crate::Options;
use crate::hold::Hold;
use crate::inner::Inner;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

/// The right to be in again inside an entry: while one has it, the entry's other branches wait.
pub(crate) struct Seat {
    hold: Arc<Hold>,
    entry: u32,
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.hold.vacate(self.entry);
    }
}

/// Waits for the seat inside an entry; there is none to be had, and none needed, if the entry is over or not named. An error
/// is how long it took to run out of patience.
pub(super) async fn take(
    client: &Inner,
    hold: &Arc<Hold>,
    entry: Option<u32>,
    options: &Options,
    patience: Patience,
) -> Result<Option<Seat>, Duration> {
    let Some(entry) = entry else { return Ok(None) };
    let clock = &client.shared.clock;
    let began = clock.now();
    let mut schedule = Schedule::new(options.retry);
    loop {
        let mut changed = pin!(hold.changed.notified());
        // Registered before the look, so that whoever leaves between look and sleep is not missed.
        changed.as_mut().enable();
        match hold.occupy(entry) {
            None => return Ok(None),
            Some(true) => return Ok(Some(Seat { hold: Arc::clone(hold), entry })),
            Some(false) => {}
        }
        let again = if matches!(patience, Patience::Once) { Again::Never } else { schedule.next() };
        let called = async {
            match again {
                Again::WhenCalled => changed.await,
                Again::After(pause) => clock.sleep_until(clock.now().plus(pause)).await,
                Again::Never => return false,
            }
            true
        };
        let is_patient = tokio::select! {
            again = called => again,
            () = patience.end(&client.shared) => false,
        };
        if !is_patient {
            return Err(clock.now().since(began));
        }
    }
}
