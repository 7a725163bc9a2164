//! The clock by which a client judges its own leases.

use std::time::Duration;
use tokio::sync::watch;

/// A moment on a [`Clock`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(Duration);

impl Moment {
    /// The moment this long after the clock's zero.
    pub const fn at(since_zero: Duration) -> Self {
        Self(since_zero)
    }

    /// How long after the clock's zero.
    pub const fn since_zero(self) -> Duration {
        self.0
    }

    /// This moment and a while.
    #[must_use]
    pub fn plus(self, while_: Duration) -> Self {
        Self(self.0.saturating_add(while_))
    }

    /// How long from `earlier` to this moment, zero if it lies before.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

/// Where a client takes its time from.
///
/// The system clock is the one that also counts the time a machine was suspended (`CLOCK_BOOTTIME` on Linux), so that
/// a laptop that slept through a lease knows it when it wakes; wall-clock steps do not move it.
#[derive(Debug, Clone)]
pub struct Clock(Source);

#[derive(Debug, Clone)]
enum Source {
    System,
    Manual(ManualClock),
}

impl Clock {
    /// The machine's own.
    pub const fn system() -> Self {
        Self(Source::System)
    }

    /// Now.
    pub fn now(&self) -> Moment {
        match &self.0 {
            Source::System => Moment(since_boot()),
            Source::Manual(clock) => clock.now(),
        }
    }

    /// Waits until the clock shows `at` or later.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future has no effect.
    pub async fn sleep_until(&self, at: Moment) {
        match &self.0 {
            // The runtime's timers do not count suspended time, so the clock is asked now and then.
            Source::System => loop {
                let left = at.since(self.now());
                if left.is_zero() {
                    return;
                }
                tokio::time::sleep(left.min(Duration::from_secs(1))).await;
            },
            Source::Manual(clock) => clock.sleep_until(at).await,
        }
    }
}

impl From<ManualClock> for Clock {
    fn from(clock: ManualClock) -> Self {
        Self(Source::Manual(clock))
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn since_boot() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
}

/// Elsewhere the standard library's monotonic clock is what there is; it may stop while the machine sleeps.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn since_boot() -> Duration {
    use std::sync::LazyLock;
    use std::time::Instant;
    static ZERO: LazyLock<Instant> = LazyLock::new(Instant::now);
    ZERO.elapsed() + Duration::from_secs(1)
}

/// A clock that stands still until it is told to move, for tests of code that uses locks.
///
/// ```
/// use std::time::Duration;
/// use tenure_core::{Client, ManualClock, Memory, Options};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tenure_core::Error> {
/// let clock = ManualClock::new();
/// let client = Client::new(Memory::with_clock(clock.clone()))?;
/// let lock = client.lock("report")?;
///
/// let guard = lock.lock_with(Options::new().lease(Duration::from_secs(10)).no_renew()).await?;
/// clock.advance(Duration::from_secs(11));
/// assert!(!guard.is_held());
/// assert!(lock.try_lock().await?.is_some());
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct ManualClock(std::sync::Arc<watch::Sender<Moment>>);

impl ManualClock {
    /// A clock at an arbitrary but fixed moment.
    pub fn new() -> Self {
        Self(std::sync::Arc::new(watch::Sender::new(Moment(Duration::from_secs(1)))))
    }

    /// Moves the clock at one stroke, as a suspended machine would see it: renewals that fell due meanwhile come too
    /// late if their leases ended too. Move in steps below `renew_every` to let the watchdog keep up.
    pub fn advance(&self, by: Duration) {
        self.0.send_modify(|now| *now = now.plus(by));
    }

    /// What the clock shows.
    pub fn now(&self) -> Moment {
        *self.0.borrow()
    }

    async fn sleep_until(&self, at: Moment) {
        // The sender lives in `self`, so the channel cannot close while we wait.
        let _ = self.0.subscribe().wait_for(|now| *now >= at).await;
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::new()
    }
}
