//! The machine whose processes share a file: which of its boots this is, and what time it is since.

use crate::error::{Failure, is_crowded};
use std::fs;
use std::io::ErrorKind;
use std::time::{Duration, SystemTime};
use tenure_core::kernel::Time;
use tenure_core::{Clock, StoreError, StoreErrorKind, Token};

/// The boot that we live in, and its clock.
#[derive(Debug, Clone)]
pub(crate) struct Machine {
    boot: String,
    clock: Clock,
    /// What our clock shows more than that of the machine itself, in microseconds.
    ahead: i64,
}

impl Machine {
    /// The one that we run on.
    pub(crate) fn this() -> Result<Self, Failure> {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").map_err(|error| {
            if is_crowded(&error) {
                return Failure::from(error);
            }
            let message = format!("the machine's boot id cannot be read, mount /proc: {error}");
            StoreError::new(StoreErrorKind::Unsupported, message).into()
        })?;
        Ok(Self { boot: boot.trim().to_owned(), clock: Clock::system(), ahead: ahead()? })
    }

    /// One that a test makes up.
    pub(crate) fn pretended(boot: &str, clock: Clock) -> Self {
        Self { boot: boot.to_owned(), clock, ahead: 0 }
    }

    /// The id of this boot.
    pub(crate) fn boot(&self) -> &str {
        &self.boot
    }

    /// The time since this boot, the same for every process of the machine. Wall clocks do not move it, and it runs
    /// on while the machine sleeps.
    pub(crate) fn now(&self) -> Time {
        let shown = i64::try_from(self.clock.now().since_zero().as_micros()).unwrap_or(i64::MAX);
        Time::from_micros(shown.saturating_sub(self.ahead).try_into().unwrap_or(0))
    }
}

/// The largest token that may have been handed out by a store that remembers none: tokens follow the wall clock, so
/// that they also rise over a file that was deleted. Nothing else looks at that clock.
pub(crate) fn floor() -> Token {
    let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(wall.as_micros()).unwrap_or(0).saturating_sub(1)
}

/// How much the clock of our time namespace is ahead of the machine's: processes in several of them share one file.
fn ahead() -> Result<i64, Failure> {
    let text = match fs::read_to_string("/proc/self/timens_offsets") {
        Ok(text) => text,
        // A kernel without time namespaces.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(0),
        Err(error) if is_crowded(&error) => return Err(error.into()),
        Err(error) => return Err(unclear(&error.to_string())),
    };
    // The offsets are those of our children, which are ours too unless we have made a namespace for them.
    let ours = fs::read_link("/proc/self/ns/time").map_err(|error| unclear(&error.to_string()))?;
    let theirs = fs::read_link("/proc/self/ns/time_for_children").map_err(|error| unclear(&error.to_string()))?;
    if ours != theirs {
        return Err(unclear("this process has made a time namespace without moving in, run its child in place of it"));
    }
    offset(&text).ok_or_else(|| unclear(&format!("offsets=`{}`", text.trim())))
}

fn offset(text: &str) -> Option<i64> {
    let line = text.lines().find(|line| line.starts_with("boottime"))?;
    let mut words = line.split_whitespace().skip(1);
    let seconds: i64 = words.next()?.parse().ok()?;
    let nanos: u64 = words.next()?.parse().ok()?;
    let micros = i64::try_from(Duration::from_nanos(nanos).as_micros()).ok()?;
    seconds.checked_mul(1_000_000)?.checked_add(micros)
}

fn unclear(why: &str) -> Failure {
    StoreError::new(StoreErrorKind::Unsupported, format!("the machine's own time cannot be told: {why}")).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_read_as_the_kernel_writes_them() {
        for (text, micros) in [
            ("monotonic           0         0\nboottime            0         0\n", Some(0)),
            ("monotonic           0         0\nboottime       100000         0\n", Some(100_000_000_000)),
            ("monotonic           0         0\nboottime           -3 500000000\n", Some(-2_500_000)),
            ("monotonic           0         0\n", None),
            ("boottime x 0\n", None),
        ] {
            assert_eq!(offset(text), micros, "{text}");
        }
    }

    #[test]
    fn time_is_that_of_the_machine_whatever_a_namespace_adds() {
        let clock = tenure_core::ManualClock::new();
        let plain = Machine::pretended("b", clock.clone().into());
        let moved = Machine { ahead: -5_000_000, ..plain.clone() };
        assert_eq!(moved.now().since(plain.now()), Duration::from_secs(5));
    }

    #[test]
    fn this_machine_has_a_boot_and_a_time() {
        let machine = Machine::this().unwrap();
        assert_eq!(machine.boot().len(), 36);
        let before = machine.now();
        assert!(machine.now() >= before);
    }
}
