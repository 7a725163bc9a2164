//! Who held which lock when: a recorder for tests, whose checker is in `check`.
//!
//! Times are nanoseconds of `CLOCK_BOOTTIME`, one clock for all processes of a host, so the
//! histories of several processes can be merged as lines of text.

mod check;
mod line;
mod report;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::time::{ClockId, clock_gettime};

pub use self::report::{Inversion, Overlap, Report};

/// One hold of a lock. It claims the lock from `granted` to `ended`, in nanoseconds of
/// `CLOCK_BOOTTIME`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    /// The lock.
    pub key: String,
    /// The holder.
    pub who: String,
    /// The fencing token; none if the library that took the lock gives none.
    pub token: Option<u64>,
    /// When the holder began to ask for the lock.
    pub asked: u64,
    /// When the holder knew that it had the lock.
    pub granted: u64,
    /// When the holder ceased to claim the lock; `None` if nobody recorded it, and then the
    /// hold claims the instant of `granted` only.
    pub ended: Option<u64>,
}

/// A record of holds, cheap to clone and shared by its clones.
///
/// ```
/// # use tenure_testkit::history::History;
/// let history = History::new();
/// let asking = history.asking("orders/7", "worker 1");
/// // lock.acquire() …
/// let hold = asking.granted(1);
/// // the work; then, before guard.release() …
/// hold.ended();
/// history.check().assert_clean().assert_at_least(1);
/// ```
#[derive(Clone, Debug, Default)]
pub struct History(Arc<Mutex<Log>>);

#[derive(Debug, Default)]
struct Log {
    holds: Vec<Hold>,
    /// Everyone who ever asked, so that one who never got the lock is counted too.
    askers: BTreeSet<String>,
}

/// A wait for a lock that has begun. Dropping it means that the lock was not obtained.
#[derive(Debug)]
#[must_use = "a wait ends with `granted`, or by giving up"]
pub struct Asking {
    history: History,
    key: String,
    who: String,
    asked: u64,
}

/// A hold that has begun. Dropping it without [`ended`](Self::ended) leaves its end unknown.
#[derive(Debug)]
#[must_use = "record the end of the hold with `ended`"]
pub struct HoldRecord {
    history: History,
    index: usize,
}

/// Now, in nanoseconds of `CLOCK_BOOTTIME`.
pub fn boottime_now() -> u64 {
    nanoseconds(ClockId::Boottime)
}

/// Now, in nanoseconds of `CLOCK_MONOTONIC`: the one clock that a JVM can read too. A history whose holds are all by this
/// clock is as good as any other.
pub fn monotonic_now() -> u64 {
    nanoseconds(ClockId::Monotonic)
}

fn nanoseconds(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    let nanoseconds = i128::from(now.tv_sec) * 1_000_000_000 + i128::from(now.tv_nsec);
    u64::try_from(nanoseconds).expect("a host is not up for more than 500 years")
}

impl History {
    /// An empty history.
    pub fn new() -> Self {
        Self::default()
    }

    /// Records that `who` begins to ask for `key`: call it before the acquire is started.
    pub fn asking(&self, key: &str, who: &str) -> Asking {
        self.log().askers.insert(who.to_owned());
        Asking { history: self.clone(), key: key.to_owned(), who: who.to_owned(), asked: boottime_now() }
    }

    /// Records a hold that was not waited for: [`asking`](Self::asking) and
    /// [`granted`](Asking::granted) in one.
    pub fn granted(&self, key: &str, token: u64, who: &str) -> HoldRecord {
        self.asking(key, who).granted(token)
    }

    /// Adds a hold recorded elsewhere.
    pub fn add(&self, hold: Hold) {
        let mut log = self.log();
        log.askers.insert(hold.who.clone());
        log.holds.push(hold);
    }

    /// Adds holds written by [`Hold::to_line`], one in each line; empty lines are skipped.
    ///
    /// # Errors
    ///
    /// Names the first line that is not a hold; the lines before it have been added.
    pub fn add_lines(&self, text: &str) -> Result<(), String> {
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            self.add(Hold::from_line(line)?);
        }
        Ok(())
    }

    /// All holds in the order of their grants being recorded.
    pub fn holds(&self) -> Vec<Hold> {
        self.log().holds.clone()
    }

    /// All holds as lines of text, for [`add_lines`](Self::add_lines).
    pub fn to_lines(&self) -> String {
        let log = self.log();
        log.holds.iter().map(|hold| hold.to_line() + "\n").collect()
    }

    /// Looks for overlapping holds and for tokens that do not increase.
    pub fn check(&self) -> Report {
        let log = self.log();
        check::check(&log.holds, &log.askers)
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Asking {
    /// Records the grant: call it as soon as the acquire has returned.
    pub fn granted(self, token: u64) -> HoldRecord {
        let hold = Hold {
            key: self.key,
            who: self.who,
            token: Some(token),
            asked: self.asked,
            granted: boottime_now(),
            ended: None,
        };
        let mut log = self.history.log();
        log.holds.push(hold);
        let index = log.holds.len() - 1;
        drop(log);
        HoldRecord { history: self.history, index }
    }
}

impl HoldRecord {
    /// Records that the hold is claimed no longer: call it before the release is sent, or when
    /// the guard is seen to be lost or invalid. Returns the whole hold.
    pub fn ended(self) -> Hold {
        self.ended_at(boottime_now())
    }

    /// [`ended`](Self::ended) at a time taken earlier with [`boottime_now`], such as the last
    /// moment at which the guard was seen to be valid.
    pub fn ended_at(self, boottime: u64) -> Hold {
        let mut log = self.history.log();
        let hold = &mut log.holds[self.index];
        hold.ended = Some(boottime);
        hold.clone()
    }
}
