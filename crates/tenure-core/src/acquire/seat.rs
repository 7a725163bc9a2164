//! Going in again from inside a section: one at a time, or several who read.
//!
//! Sections that lie within each other are in at the same time. Those that lie beside each other, the branches of a `join!`,
//! are not, although the store would let both in: to the store they are one owner. So whoever goes in again takes a seat among
//! those of all that the owner holds of the lock, and keeps it for as long as its guard lives, whatever becomes of the holds.

use super::again::{Again, Schedule};
use super::{Contended, Patience};
use crate::inner::Inner;
use crate::{Error, ErrorKind, Options, scope};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tenure_kernel::{Key, Kind};
use tokio::sync::Notify;

/// The seats that are taken, of all that an owner holds of one lock.
#[derive(Debug, Default)]
pub(crate) struct Seats {
    taken: Mutex<Vec<Taken>>,
    /// Rung when somebody leaves.
    left: Notify,
}

impl Seats {
    fn lock(&self) -> MutexGuard<'_, Vec<Taken>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to be in again.
pub(crate) struct Seat {
    seats: Arc<Seats>,
    number: u64,
}

impl Seat {
    /// Unique in the process.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.seats.lock().retain(|taken| taken.number != self.number);
        self.seats.left.notify_waiters();
    }
}

/// A seat that is taken.
#[derive(Debug)]
struct Taken {
    number: u64,
    reads: bool,
    /// How many inside of it wait for others to leave.
    waiting: u32,
}

/// One who wants a seat.
struct Asking<'a> {
    seats: &'a Seats,
    reads: bool,
    /// The seats that it is inside of.
    around: Vec<u64>,
    waits: bool,
}

enum Answer {
    Seated(u64),
    Wait,
    /// Somebody waits for the seat that the asker is inside of, and has the one that it wants to be left.
    Never,
}

impl Asking<'_> {
    fn ask(&mut self) -> Answer {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let mut seats = self.seats.lock();
        let around = &self.around;
        let goes_with = |taken: &Taken| around.contains(&taken.number) || (self.reads && taken.reads);
        let mut in_the_way = seats.iter().filter(|taken| !goes_with(taken)).peekable();
        if in_the_way.peek().is_none() {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            seats.push(Taken { number, reads: self.reads, waiting: 0 });
            return Answer::Seated(number);
        }
        let rival = in_the_way.any(|taken| taken.waiting > 0);
        let mut own = seats.iter_mut().filter(|taken| around.contains(&taken.number)).peekable();
        if rival && own.peek().is_some() {
            return Answer::Never;
        }
        if !std::mem::replace(&mut self.waits, true) {
            own.for_each(|taken| taken.waiting += 1);
        }
        Answer::Wait
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        if self.waits {
            let mut seats = self.seats.lock();
            seats.iter_mut().filter(|taken| self.around.contains(&taken.number)).for_each(|taken| taken.waiting -= 1);
        }
    }
}

/// Waits for a seat among these, as one who wants a lock of this kind.
pub(super) async fn take(
    client: &Inner,
    seats: &Arc<Seats>,
    (kind, key): (Kind, &Key),
    options: &Options,
    patience: Patience,
) -> Result<Result<Seat, Contended>, Error> {
    let clock = &client.shared.clock;
    let began = clock.now();
    let mut asking = Asking { seats, reads: kind == Kind::Read, around: scope::seats(), waits: false };
    let mut schedule = Schedule::new(options.retry);
    loop {
        let mut changed = pin!(seats.left.notified());
        // Registered before the look, so that whoever leaves between look and sleep is not missed.
        changed.as_mut().enable();
        match asking.ask() {
            Answer::Seated(number) => return Ok(Ok(Seat { seats: Arc::clone(seats), number })),
            Answer::Wait => {}
            Answer::Never => return Err(rivals(key)),
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
            client.shared.begin()?;
            return Ok(Err(Contended { holder: None, waited: clock.now().since(began) }));
        }
    }
}

/// Two branches that read want to write, and each waits for the other to leave.
fn rivals(key: &Key) -> Error {
    Error::new(
        ErrorKind::Conflict,
        "another branch of the same task reads and waits to write, and for this one to leave, so that neither would ever get \
         in: write before the branches part, or one after the other",
    )
    .about(key)
}
