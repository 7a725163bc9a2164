//! Going in again from inside a section: one at a time, or several who read.
//!
//! Sections that lie within each other are in at the same time. Those that lie beside each other, the branches of a `join!`,
//! are not, although the store would let both in: to the store they are one owner. So whoever goes in again takes a seat among
//! those of all that the owner holds of the lock, and keeps it for as long as its guard lives, whatever becomes of the holds.

use super::again::{Again, Schedule};
use super::wait::Wait;
use super::{Contended, Patience};
use crate::bell::{Bell, wake_each};
use crate::event::WaitEnd;
use crate::inner::Inner;
use crate::{Error, ErrorKind, Options, Owner, scope};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tenure_kernel::{Key, Kind};

/// The seats of all that an owner holds of one lock.
#[derive(Debug, Default)]
pub(crate) struct Seats {
    room: Mutex<Room>,
    /// Rung when somebody leaves.
    left: Bell,
}

/// Which seats are taken, and who waits for one.
#[derive(Debug, Default)]
struct Room {
    taken: Vec<Taken>,
    waiting: Vec<Wish>,
}

impl Seats {
    fn lock(&self) -> MutexGuard<'_, Room> {
        self.room.lock().unwrap_or_else(PoisonError::into_inner)
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
        self.seats.lock().taken.retain(|taken| taken.number != self.number);
        wake_each(self.seats.left.ring());
    }
}

/// A seat that is taken.
#[derive(Debug)]
struct Taken {
    number: u64,
    reads: bool,
}

/// One who wants a seat.
#[derive(Debug, Clone)]
struct Wish {
    /// The number that its seat is to have.
    number: u64,
    reads: bool,
    /// The seats that it is inside of: none of them is left before it is done.
    around: Vec<u64>,
}

impl Wish {
    fn is_inside(&self, seat: u64) -> bool {
        self.around.contains(&seat)
    }

    /// Whether the seat has to be left first.
    fn waits_for(&self, taken: &Taken) -> bool {
        let goes_with = self.is_inside(taken.number) || (self.reads && taken.reads);
        !goes_with
    }
}

impl Room {
    fn in_the_way<'a>(&'a self, wish: &'a Wish) -> impl Iterator<Item = u64> + 'a {
        self.taken.iter().filter(|taken| wish.waits_for(taken)).map(|taken| taken.number)
    }

    /// Whether a seat that is in the way is left only when the one who wishes has left another: somebody inside of it waits for a
    /// seat which that one is inside of, or for somebody who does.
    fn is_in_vain(&self, wish: &Wish) -> bool {
        let (mut todo, mut seen): (Vec<u64>, Vec<u64>) = (self.in_the_way(wish).collect(), Vec::new());
        while let Some(seat) = todo.pop() {
            if wish.is_inside(seat) {
                return true;
            }
            if !seen.contains(&seat) {
                seen.push(seat);
                let inside = self.waiting.iter().filter(|other| other.is_inside(seat));
                todo.extend(inside.flat_map(|other| self.in_the_way(other)));
            }
        }
        false
    }
}

/// One who asks for a seat, until it goes.
struct Asking<'a> {
    seats: &'a Seats,
    wish: Wish,
}

enum Answer {
    Seated,
    Wait,
    /// Somebody waits for the seat that the asker is inside of, and has the one that it wants to be left.
    Never,
}

impl Asking<'_> {
    fn ask(&self) -> Answer {
        let (mut room, wish) = (self.seats.lock(), &self.wish);
        if room.in_the_way(wish).next().is_none() {
            room.taken.push(Taken { number: wish.number, reads: wish.reads });
            return Answer::Seated;
        }
        if room.is_in_vain(wish) {
            return Answer::Never;
        }
        if !room.waiting.iter().any(|other| other.number == wish.number) {
            room.waiting.push(wish.clone());
        }
        Answer::Wait
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.seats.lock().waiting.retain(|other| other.number != self.wish.number);
    }
}

/// Waits for a seat among these, as one who wants a lock of this kind.
pub(super) async fn take(
    client: &Inner,
    seats: &Arc<Seats>,
    (kind, key): (Kind, &Key),
    options: &Options,
    patience: Patience,
    owner: &Owner,
) -> Result<Result<Seat, Contended>, Error> {
    let mut wait = Wait::new(client, (kind, key), options, Some(owner), client.shared.clock.now());
    let outcome = wait_for_seat(client, seats, (kind, key), options, patience, &mut wait).await;
    wait.ends(WaitEnd::of(&outcome));
    outcome
}

async fn wait_for_seat(
    client: &Inner,
    seats: &Arc<Seats>,
    (kind, key): (Kind, &Key),
    options: &Options,
    patience: Patience,
    wait: &mut Wait<'_>,
) -> Result<Result<Seat, Contended>, Error> {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let clock = &client.shared.clock;
    let began = clock.now();
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let asking = Asking { seats, wish: Wish { number, reads: kind == Kind::Read, around: scope::seats() } };
    let mut schedule = Schedule::new(options.retry);
    loop {
        // It hears before the look, so that whoever leaves between look and sleep is not missed.
        let changed = seats.left.rung();
        match asking.ask() {
            Answer::Seated => return Ok(Ok(Seat { seats: Arc::clone(seats), number })),
            Answer::Wait => {}
            Answer::Never => return Err(rivals(key)),
        }
        let again = if matches!(patience, Patience::Once) { Again::Never } else { schedule.next() };
        if !matches!(patience, Patience::Once) {
            wait.begin_unknown();
        }
        let called = async {
            match again {
                Again::WhenCalled => changed.await,
                Again::After(pause) => clock.sleep_until(clock.now().plus(pause)).await,
                Again::Never => return false,
            }
            true
        };
        let called = async {
            tokio::select! {
                again = called => again,
                () = patience.end(&client.shared) => false,
            }
        };
        if !wait.endure(called).await {
            client.shared.begin()?;
            return Ok(Err(Contended { holder: None, waited: clock.now().since(began), votes: Vec::new() }));
        }
    }
}

/// Two branches that read want to write, and each waits for the other to leave.
fn rivals(key: &Key) -> Error {
    Error::new(
        ErrorKind::Conflict,
        "another branch of the same task waits for this one to leave, and this one for it, so that neither would ever get in: \
         go in before the branches part, or one after the other",
    )
    .about(key)
}
