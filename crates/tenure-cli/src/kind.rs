//! What kind of lock, as people type it.

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use std::str::FromStr;
use tenure::Kind;

/// What is taken: a lock, or a permit of so many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sort {
    Lock(Kind),
    Semaphore(u32),
}

/// The kinds of locks that a command can run under.
const LOCKS: [Kind; 6] = [Kind::Reentrant, Kind::Simple, Kind::Fair, Kind::Read, Kind::Write, Kind::Fenced];
const RULE: &str =
    "unknown kind, choose reentrant, simple, fair, read, write, fenced or semaphore:N, N of which run at a time";

impl FromStr for Sort {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        if let Some(permits) = text.strip_prefix("semaphore:") {
            let permits = permits.parse().ok().filter(|permits| (1..=i32::MAX as u32).contains(permits));
            return permits.map(Self::Semaphore).ok_or("write how many run at a time, such as `semaphore:3`");
        }
        let known = LOCKS.into_iter().find(|kind| kind.name() == text);
        known.map(Self::Lock).ok_or(RULE)
    }
}

/// Reads a kind; clap knows all there are, for its completions.
#[derive(Clone)]
pub(crate) struct Sorts;

impl TypedValueParser for Sorts {
    type Value = Sort;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<Sort, clap::Error> {
        StringValueParser::new().try_map(|text: String| text.parse::<Sort>()).parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let locks = LOCKS.into_iter().map(Kind::name).map(PossibleValue::new);
        Some(Box::new(locks.chain([PossibleValue::new("semaphore:N")])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_read_as_they_are_typed() {
        assert_eq!("fair".parse(), Ok(Sort::Lock(Kind::Fair)));
        assert_eq!("semaphore:3".parse(), Ok(Sort::Semaphore(3)));
        for nonsense in ["", "latch", "permits", "semaphore", "semaphore:", "semaphore:0", "semaphore:-1", "Fair"] {
            assert!(nonsense.parse::<Sort>().is_err(), "{nonsense}");
        }
    }
}
