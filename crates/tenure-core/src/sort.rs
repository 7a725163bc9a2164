//! What is taken: a lock of some kind, or a permit of so many.

use crate::Unreadable;
use crate::supply::MOST;
use std::fmt;
use std::str::FromStr;
use tenure_kernel::Kind;

/// What is taken: a lock, or a permit of so many.
///
/// It is written as the lock's kind, or as `semaphore:3` for three at a time.
///
/// ```
/// use tenure_core::{Kind, Sort};
///
/// assert_eq!("fair".parse(), Ok(Sort::Lock(Kind::Fair)));
/// assert_eq!(Sort::Semaphore(3).to_string(), "semaphore:3");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sort {
    /// A lock of this kind, one of [`LOCKS`](Sort::LOCKS).
    Lock(Kind),
    /// One of so many permits, which the first to ask makes.
    Semaphore(u32),
}

impl Sort {
    /// The kinds of locks. The others are no locks, or not taken one by one.
    pub const LOCKS: &[Kind] = &[Kind::Reentrant, Kind::Simple, Kind::Fair, Kind::Read, Kind::Write, Kind::Fenced];

    pub(crate) fn check(self) -> Result<(), Unreadable> {
        let rule = match self {
            Self::Lock(kind) if Self::LOCKS.contains(&kind) => return Ok(()),
            Self::Semaphore(1..=MOST) => return Ok(()),
            Self::Lock(_) => RULE,
            Self::Semaphore(_) => PERMITS,
        };
        Err(Unreadable::new(rule, "kind", &self.to_string()))
    }
}

const RULE: &str =
    "unknown kind, choose reentrant, simple, fair, read, write, fenced or semaphore:N, N of which run at a time";
const PERMITS: &str = "write how many run at a time, such as `semaphore:3`";

impl fmt::Display for Sort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lock(kind) => kind.fmt(f),
            Self::Semaphore(permits) => write!(f, "semaphore:{permits}"),
        }
    }
}

impl FromStr for Sort {
    type Err = Unreadable;

    fn from_str(text: &str) -> Result<Self, Unreadable> {
        let refuse = |rule| Unreadable::new(rule, "kind", text);
        if let Some(permits) = text.strip_prefix("semaphore:") {
            let plain = Some(permits).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
            let permits = plain.and_then(|text| text.parse().ok()).filter(|permits| (1..=MOST).contains(permits));
            return permits.map(Self::Semaphore).ok_or_else(|| refuse(PERMITS));
        }
        let known = Self::LOCKS.iter().find(|kind| kind.name() == text);
        known.copied().map(Self::Lock).ok_or_else(|| refuse(RULE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_read_as_they_are_written() {
        let locks = Sort::LOCKS.iter().copied().map(Sort::Lock);
        for sort in locks.chain([Sort::Semaphore(1), Sort::Semaphore(MOST)]) {
            assert_eq!(sort.to_string().parse(), Ok(sort));
            assert_eq!(sort.check(), Ok(()));
        }
        for nonsense in [
            "semaphore:+3",
            "",
            "latch",
            "permits",
            "semaphore",
            "semaphore:",
            "semaphore:0",
            "semaphore:-1",
            "semaphore:2147483648",
            "Fair",
        ] {
            assert!(nonsense.parse::<Sort>().is_err(), "{nonsense}");
        }
        for nonsense in [Sort::Semaphore(0), Sort::Lock(Kind::Latch), Sort::Lock(Kind::Semaphore)] {
            assert!(nonsense.check().is_err(), "{nonsense}");
        }
    }
}
