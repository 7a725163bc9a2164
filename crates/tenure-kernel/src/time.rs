//! The store's time, as a number the step functions can compare.

use std::time::Duration;

/// A moment on the store's clock, in microseconds since an epoch of the store's choosing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

impl Time {
    /// Never.
    pub const MAX: Self = Self(u64::MAX);

    /// This many microseconds after the epoch.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// Microseconds since the epoch.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// This moment and a while, saturating.
    #[must_use]
    pub fn plus(self, while_: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(while_.as_micros()).unwrap_or(u64::MAX)))
    }

    /// How long from `earlier` to this moment, zero if it lies before.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}
