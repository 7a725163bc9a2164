//! Going in again from inside a section: one at a time, or several who read.
//!
//! Sections that lie within each other are in at the same time. Those that lie beside each other, the branches of a `join!`,
//! are not, although the store would let both in: to the store they are one claim. So whoever goes in again takes a seat in the
//! outermost hold that it is inside of, and keeps it for as long as its guard lives, whatever becomes of that hold.

use super::again::{Again, Schedule};
use super::{Contended, Patience};
use crate::hold::Hold;
use crate::inner::Inner;
use crate::{Error, ErrorKind, Options, scope};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tenure_kernel::{Key, Kind};

/// The right to be in again under a hold.
pub(crate) struct Seat {
    hold: Arc<Hold>,
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
        self.hold.seats().retain(|taken| taken.number != self.number);
        self.hold.changed.notify_waiters();
    }
}

/// A seat that is taken.
#[derive(Debug)]
pub(crate) struct Taken {
    number: u64,
    reads: bool,
    /// How many inside of it wait for others to leave.
    waiting: u32,
}

/// One who wants a seat.
struct Asking<'a> {
    hold: &'a Hold,
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
        let mut seats = self.hold.seats();
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
            let mut seats = self.hold.seats();
            seats.iter_mut().filter(|taken| self.around.contains(&taken.number)).for_each(|taken| taken.waiting -= 1);
        }
    }
}

/// Waits for a seat in a hold, as one who wants a lock of this kind.
pub(super) async fn take(
    client: &Inner,
    hold: &Arc<Hold>,
    (kind, key): (Kind, &Key),
    options: &Options,
    patience: Patience,
) -> Result<Result<Seat, Contended>, Error> {
    let clock = &client.shared.clock;
    let began = clock.now();
    let mut asking = Asking { hold, reads: kind == Kind::Read, around: scope::seats(), waits: false };
    let mut schedule = Schedule::new(options.retry);
    loop {
        let mut changed = pin!(hold.changed.notified());
        // Registered before the look, so that whoever leaves between look and sleep is not missed.
        changed.as_mut().enable();
        match asking.ask() {
            Answer::Seated(number) => return Ok(Ok(Seat { hold: Arc::clone(hold), number })),
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
