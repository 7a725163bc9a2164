//! Retry policies: plain iterators over the pauses between attempts.

mod text;

use std::time::Duration;

/// When to ask again, for those who poll.
///
/// A policy is a recipe; [`IntoIterator`] makes the pauses. `times(n)` means n retries, that is n + 1 attempts.
///
/// It is written as `fixed(100ms)`, `linear(100ms, tries=10)` or `exponential(60ms, max=2s, tries=100)`.
///
/// ```
/// use std::time::Duration;
/// use tenure_core::Retry;
///
/// let pauses: Vec<_> = Retry::fixed(Duration::from_millis(50)).times(3).into_iter().collect();
/// assert_eq!(pauses, [Duration::from_millis(50); 3]);
/// assert_eq!("fixed(50ms, tries=3)".parse(), Ok(Retry::fixed(Duration::from_millis(50)).times(3)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    shape: Shape,
    interval: Duration,
    cap: Duration,
    times: Option<u32>,
}

/// How pauses follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Fixed,
    Linear,
    Exponential,
}

impl Shape {
    const ALL: [Self; 3] = [Self::Fixed, Self::Linear, Self::Exponential];

    const fn name(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Linear => "linear",
            Self::Exponential => "exponential",
        }
    }

    /// By how much a pause is longer than the one before.
    const fn factor(self) -> f64 {
        match self {
            Self::Fixed | Self::Linear => 1.0,
            Self::Exponential => 1.5,
        }
    }

    /// The longest pause unless said.
    const fn cap(self) -> Duration {
        match self {
            Self::Fixed | Self::Linear => Duration::MAX,
            Self::Exponential => Duration::from_secs(2),
        }
    }

    const fn jitter(self) -> Duration {
        match self {
            Self::Fixed => Duration::ZERO,
            Self::Linear | Self::Exponential => Duration::from_millis(50),
        }
    }

    /// The shortest pause.
    const fn floor(self) -> Duration {
        match self {
            Self::Fixed => Duration::ZERO,
            Self::Linear | Self::Exponential => Duration::from_millis(10),
        }
    }
}

impl Retry {
    /// How a policy is written, for those who have to say so.
    pub const FORM: &str =
        "write a retry such as `fixed(100ms)`, `linear(100ms, tries=10)` or `exponential(60ms, max=2s, tries=100)`";

    /// The same pause every time, exactly.
    pub const fn fixed(interval: Duration) -> Self {
        Self::new(Shape::Fixed, interval)
    }

    /// The same pause every time and up to 50 ms more, 10 ms at least.
    pub const fn linear(interval: Duration) -> Self {
        Self::new(Shape::Linear, interval)
    }

    /// Half as long again every time, 2 s at most, then up to 50 ms more; 10 ms at least.
    pub const fn exponential(interval: Duration) -> Self {
        Self::new(Shape::Exponential, interval)
    }

    const fn new(shape: Shape, interval: Duration) -> Self {
        Self { shape, interval, cap: shape.cap(), times: None }
    }

    /// At most this many retries.
    #[must_use]
    pub const fn times(mut self, retries: u32) -> Self {
        self.times = Some(retries);
        self
    }

    /// No pause longer than this, jitter apart.
    #[must_use]
    pub const fn cap(mut self, cap: Duration) -> Self {
        self.cap = cap;
        self
    }

    /// The pause between attempts before any growth.
    pub const fn interval(&self) -> Duration {
        self.interval
    }

    /// The longest pause, jitter apart.
    pub const fn longest(&self) -> Duration {
        self.cap
    }

    /// When the first retry comes at the earliest; none if there is none.
    pub(crate) fn soonest(&self) -> Option<Duration> {
        (self.times != Some(0)).then(|| self.interval.min(self.cap).max(self.shape.floor()))
    }

    fn pause(&self, retry: u32) -> Duration {
        let grown = self.interval.as_secs_f64() * self.shape.factor().powi(i32::try_from(retry).unwrap_or(i32::MAX));
        // A pause that has grown beyond what a duration can hold is as good as the cap.
        let grown = Duration::try_from_secs_f64(grown).unwrap_or(self.cap).min(self.cap);
        grown.saturating_add(self.shape.jitter().mul_f64(fastrand::f64())).max(self.shape.floor())
    }
}

impl IntoIterator for Retry {
    type Item = Duration;
    type IntoIter = Pauses;

    fn into_iter(self) -> Pauses {
        Pauses { policy: self, retry: 0 }
    }
}

/// The pauses of a [`Retry`] policy, one before each retry.
#[derive(Debug, Clone)]
pub struct Pauses {
    policy: Retry,
    retry: u32,
}

impl Iterator for Pauses {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        if self.policy.times.is_some_and(|times| self.retry >= times) {
            return None;
        }
        let pause = self.policy.pause(self.retry);
        self.retry = self.retry.saturating_add(1);
        Some(pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(pauses: impl Iterator<Item = Duration>) -> Vec<u128> {
        pauses.map(|pause| pause.as_millis()).collect()
    }

    #[test]
    fn exponential_grows_by_half_to_its_cap_and_then_jitters() {
        let pauses = millis(Retry::exponential(Duration::from_millis(60)).times(20).into_iter());
        assert_eq!(pauses.len(), 20);
        for (retry, pause) in pauses.iter().enumerate() {
            let grown = (60.0 * 1.5f64.powi(i32::try_from(retry).unwrap())).min(2000.0);
            assert!(
                (grown.floor()..grown + 50.0).contains(&(u32::try_from(*pause).unwrap().into())),
                "{retry}: {pause}"
            );
        }
    }

    #[test]
    fn fixed_is_the_same_every_time() {
        let pauses = millis(Retry::fixed(Duration::from_millis(30)).into_iter().take(10));
        assert_eq!(pauses, [30; 10]);
    }

    #[test]
    fn linear_is_constant_but_for_jitter_and_has_a_floor() {
        let mut pauses: Vec<_> = Retry::linear(Duration::from_millis(100)).into_iter().take(100).collect();
        pauses.dedup();
        assert!(pauses.len() > 90, "they come at the same time for everyone");
        for pause in millis(Retry::linear(Duration::from_millis(100)).into_iter().take(100)) {
            assert!((100..150).contains(&pause));
        }
        assert!(millis(Retry::linear(Duration::ZERO).into_iter().take(100)).iter().all(|pause| *pause >= 10));
    }

    #[test]
    fn the_longest_interval_does_not_overflow() {
        assert_eq!(Retry::linear(Duration::MAX).into_iter().next(), Some(Duration::MAX));
    }

    #[test]
    fn endless_growth_does_not_overflow() {
        let policy = Retry::exponential(Duration::from_secs(1)).cap(Duration::from_secs(9));
        let late = policy.into_iter().nth(5000).unwrap();
        assert!(late >= Duration::from_secs(9) && late < Duration::from_millis(9050));
    }
}
