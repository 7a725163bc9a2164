//! How long to wait for the file while another process writes to it.
//!
//! SQLite has no line for writers: who finds the file locked sleeps and looks again. Its own sleeps grow to a tenth of
//! a second, which would be most of a hand-over; ours stay short, and end when nobody wants the answer any more.

use crate::ticket::Ticket;
use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The first looks, in microseconds; every later one is as far from the one before as the last of these.
const LOOKS: [u64; 10] = [50, 50, 100, 100, 200, 200, 400, 400, 800, 1600];

thread_local! {
    /// What the work at hand may take: a handler gets no argument of its own, and one thread does one work at a time.
    static PATIENCE: RefCell<Option<Patience>> = const { RefCell::new(None) };
}

struct Patience {
    until: Instant,
    ticket: Arc<Ticket>,
}

/// Does some work that may wait until then, or until the one who wants it has gone.
pub(crate) fn with<T>(until: Instant, ticket: &Arc<Ticket>, work: impl FnOnce() -> T) -> T {
    PATIENCE.set(Some(Patience { until, ticket: Arc::clone(ticket) }));
    let done = work();
    PATIENCE.set(None);
    done
}

/// Whether anybody still wants what the work at hand will come to.
pub(crate) fn is_wanted() -> bool {
    PATIENCE.with_borrow(|patience| patience.as_ref().is_some_and(|patience| !patience.ticket.is_given_up()))
}

/// Waits for the next look. False if there is to be none.
pub(crate) fn wait(looks: i32) -> bool {
    let left = PATIENCE.with_borrow(|patience| {
        patience.as_ref().map_or(Duration::ZERO, |patience| patience.until.saturating_duration_since(Instant::now()))
    });
    if left.is_zero() || !is_wanted() {
        return false;
    }
    let at = usize::try_from(looks).unwrap_or(0).min(LOOKS.len() - 1);
    // Two that were turned away together should not come back together.
    let pause = Duration::from_micros(LOOKS[at]).mul_f64(0.5 + fastrand::f64());
    std::thread::sleep(pause.min(left));
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_waits_without_leave() {
        assert!(!wait(0));
    }

    #[test]
    fn waiting_ends_in_time_and_when_nobody_wants_the_answer() {
        let began = Instant::now();
        let ticket = Arc::new(Ticket::default());
        let mut looks = 0;
        with(began + Duration::from_millis(500), &ticket, || {
            while wait(looks) {
                looks += 1;
            }
        });
        let took = began.elapsed();
        assert!(took >= Duration::from_millis(500) && took < Duration::from_secs(30), "{took:?}");
        assert!(looks > 5, "{looks}");
        ticket.give_up();
        with(Instant::now() + Duration::from_secs(60), &ticket, || assert!(!wait(0)));
    }
}
