//! When a server's watermark was last brought up to its clock.

use std::time::{Duration, Instant};

/// When the watermark was last brought up to the server's clock, by a request on one connection: another one may lead to
/// another server.
///
/// Tokens are counted on from the watermark, which costs the server less than looking at its clock for each of them.
/// They then lie behind the clock by about this long, which is how precisely a token tells since when a lock is held.
#[derive(Default)]
pub(crate) struct Calendar(Option<Instant>);

impl Calendar {
    const GOOD_FOR: Duration = Duration::from_millis(50);

    /// Whether a request sent now is to look at the clock. Until one has, every request does; from then on one at a
    /// time, however many are under way.
    pub(crate) fn is_due(&mut self, now: Instant) -> bool {
        match &mut self.0 {
            Some(at) => {
                let due = now.saturating_duration_since(*at) >= Self::GOOD_FOR;
                if due {
                    *at = now;
                }
                due
            }
            None => true,
        }
    }

    /// A request sent at `now` has brought the watermark up.
    pub(crate) fn looked(&mut self, now: Instant) {
        self.0 = Some(now);
    }

    /// A request that was to look at the clock did not come to it.
    pub(crate) fn not_looked(&mut self) {
        self.0 = None;
    }
}
