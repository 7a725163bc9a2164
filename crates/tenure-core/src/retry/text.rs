//! Retry policies as people write them: `exponential(60ms, max=2s, tries=100)`.

use super::{Retry, Shape};
use crate::{Length, Unreadable};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

const FORM: &str = Retry::FORM;
const INTERVAL: &str = "begin a retry with the pause between two attempts, as in `fixed(100ms)`";
const MAX: &str = "write the longest pause of a retry once and as a length of time, as in `exponential(60ms, max=2s)`";
const TRIES: &str = "write how often to try again once and as a whole number, as in `linear(100ms, tries=10)`";
const ARGUMENT: &str = "a retry has an interval, max and tries, as in `exponential(60ms, max=2s, tries=100)`";

impl fmt::Display for Retry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({}", self.shape.name(), Length(self.interval))?;
        // Where pauses grow, it is good to know how far.
        if self.cap != self.shape.cap() || self.shape == Shape::Exponential {
            write!(f, ", max={}", Length(self.cap))?;
        }
        if let Some(times) = self.times {
            write!(f, ", tries={times}")?;
        }
        f.write_str(")")
    }
}

impl FromStr for Retry {
    type Err = Unreadable;

    fn from_str(text: &str) -> Result<Self, Unreadable> {
        parse(text).map_err(|rule| Unreadable::new(rule, "retry", text))
    }
}

fn parse(text: &str) -> Result<Retry, &'static str> {
    let (name, arguments) = text.trim().strip_suffix(')').and_then(|text| text.split_once('(')).ok_or(FORM)?;
    let shape = Shape::ALL.into_iter().find(|shape| shape.name() == name.trim_end()).ok_or(FORM)?;
    let mut arguments = arguments.split(',');
    let interval = arguments.next().and_then(length).ok_or(INTERVAL)?;
    let (mut max, mut tries) = (None, None);
    for argument in arguments {
        let (name, value) = argument.split_once('=').ok_or(ARGUMENT)?;
        match name.trim() {
            "max" => set(&mut max, length(value)).ok_or(MAX)?,
            "tries" => set(&mut tries, value.trim().parse().ok()).ok_or(TRIES)?,
            _ => return Err(ARGUMENT),
        }
    }
    Ok(Retry { cap: max.unwrap_or(shape.cap()), times: tries, ..Retry::new(shape, interval) })
}

fn length(text: &str) -> Option<Duration> {
    text.parse().ok().map(|Length(length)| length)
}

/// Puts down what could be read, and once only.
fn set<T>(place: &mut Option<T>, value: Option<T>) -> Option<()> {
    if place.is_some() {
        return None;
    }
    *place = Some(value?);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn retries_are_read_as_they_are_written() {
        for (text, retry) in [
            ("fixed(100ms)", Retry::fixed(millis(100))),
            ("fixed(100ms, max=50ms)", Retry::fixed(millis(100)).cap(millis(50))),
            ("linear(100ms, tries=10)", Retry::linear(millis(100)).times(10)),
            ("exponential(60ms, max=2s)", Retry::exponential(millis(60))),
            ("exponential(60ms, max=9s, tries=100)", Retry::exponential(millis(60)).cap(millis(9000)).times(100)),
            ("linear(1h 30m, tries=0)", Retry::linear(Duration::from_secs(5400)).times(0)),
        ] {
            assert_eq!((text.parse(), retry.to_string().as_str()), (Ok(retry), text));
        }
        for (text, retry) in [
            (" linear ( 100ms,tries = 3 ) ", Retry::linear(millis(100)).times(3)),
            ("exponential(60ms)", Retry::exponential(millis(60))),
            ("exponential(60ms, tries=3, max=1s)", Retry::exponential(millis(60)).cap(millis(1000)).times(3)),
        ] {
            assert_eq!(text.parse(), Ok(retry));
        }
    }

    #[test]
    fn what_is_no_retry_says_what_to_write() {
        for (text, rule) in [
            ("", FORM),
            ("100ms", FORM),
            ("fixed", FORM),
            ("fixed(100ms", FORM),
            ("Fixed(100ms)", FORM),
            ("random(100ms)", FORM),
            ("fixed()", INTERVAL),
            ("fixed(100)", INTERVAL),
            ("fixed(tries=3, 100ms)", INTERVAL),
            ("fixed(100ms, max=)", MAX),
            ("fixed(100ms, max=2)", MAX),
            ("fixed(100ms, max=1s, max=2s)", MAX),
            ("fixed(100ms, tries=)", TRIES),
            ("fixed(100ms, tries=many)", TRIES),
            ("fixed(100ms, tries=-1)", TRIES),
            ("fixed(100ms, tries=4294967296)", TRIES),
            ("fixed(100ms, tries=1, tries=1)", TRIES),
            ("fixed(100ms, 3)", ARGUMENT),
            ("fixed(100ms,)", ARGUMENT),
            ("fixed(100ms, jitter=1s)", ARGUMENT),
        ] {
            let error = text.parse::<Retry>().unwrap_err();
            assert_eq!(error.to_string(), format!("{rule}: retry=`{text}`"));
        }
    }

    fn any_retry() -> impl Strategy<Value = Retry> {
        let shape = prop::sample::select(Shape::ALL.to_vec());
        let parts = (shape, any::<Duration>(), any::<Option<Duration>>(), any::<Option<u32>>());
        parts.prop_map(|(shape, interval, cap, times)| Retry {
            cap: cap.unwrap_or(shape.cap()),
            times,
            ..Retry::new(shape, interval)
        })
    }

    proptest! {
        #[test]
        fn every_retry_is_read_as_it_was_written(retry in any_retry()) {
            prop_assert_eq!(retry.to_string().parse(), Ok(retry));
        }

        #[test]
        fn no_text_is_too_strange(text in "(fixed|linear)?[(), a-z0-9=]*") {
            let _ = text.parse::<Retry>();
        }
    }
}
