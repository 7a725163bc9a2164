//! Lengths of time as people write and read them: `24h`, `5m 30s`, `100ms`.

use crate::Unreadable;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A length of time, exactly, as people write it.
///
/// ```
/// use std::time::Duration;
/// use tenure_core::Length;
///
/// assert_eq!("1h30m".parse(), Ok(Length(Duration::from_secs(5400))));
/// assert_eq!(Length(Duration::from_millis(1500)).to_string(), "1.5s");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Length(pub Duration);

/// A length of time with no more digits than matter.
pub(crate) struct Spoken(pub(crate) Duration);

const UNITS: [(&str, u64); 3] = [("d", 24 * 60 * 60), ("h", 60 * 60), ("m", 60)];
/// Below two days people count in hours.
const DAYS_FROM: u64 = 2 * 24 * 60 * 60;

impl Length {
    /// How a length is written, for those who have to say so.
    pub const FORM: &str = "write a length of time such as `30s`, `5m` or `1h30m`";
}

impl FromStr for Length {
    type Err = Unreadable;

    fn from_str(text: &str) -> Result<Self, Unreadable> {
        parse(text).map(Self).ok_or_else(|| Unreadable::new(Self::FORM, "length", text))
    }
}

/// Number by number, because humantime panics at a sum that is longer than any length.
fn parse(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    let mut sum = None;
    while !rest.is_empty() {
        let unit = rest.find(char::is_alphabetic)?;
        let end = rest[unit..].find(|c: char| !c.is_alphabetic()).map_or(rest.len(), |length| unit + length);
        let (one, more) = rest.split_at(end);
        sum = Some(sum.unwrap_or(Duration::ZERO).checked_add(humantime::parse_duration(one).ok()?)?);
        rest = more.trim_start();
    }
    sum
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut left = self.0;
        let units = if left.as_secs() < DAYS_FROM { &UNITS[1..] } else { &UNITS };
        let mut space = "";
        for (name, seconds) in units {
            let count = left.as_secs() / seconds;
            if count > 0 {
                write!(f, "{space}{count}{name}")?;
                left -= Duration::from_secs(count * seconds);
                space = " ";
            }
        }
        match (left.is_zero(), space) {
            (false, _) => write!(f, "{space}{left:?}"),
            (true, "") => f.write_str("0s"),
            (true, _) => Ok(()),
        }
    }
}

impl fmt::Display for Spoken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let finest = Duration::from_secs(10);
        let millis = u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX);
        Length(if self.0 < finest { Duration::from_millis(millis) } else { Duration::from_secs(self.0.as_secs()) })
            .fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_exact() {
        for (micros, expected) in [
            (0, "0s"),
            (10_000, "10ms"),
            (1_500_000, "1.5s"),
            (30_000_000, "30s"),
            (60_000_000, "1m"),
            (5_430_000_000, "1h 30m 30s"),
            (86_400_000_000, "24h"),
            (86_400_001_000, "24h 1ms"),
            (367 * 86_400_000_000, "367d"),
        ] {
            assert_eq!(Length(Duration::from_micros(micros)).to_string(), expected);
        }
        // However long.
        assert!(Length(Duration::MAX).to_string().ends_with("d 7h 15.999999999s"), "{}", Length(Duration::MAX));
    }

    #[test]
    fn lengths_are_read_as_they_are_written() {
        for (text, millis) in [
            ("30s", 30_000),
            ("1h30m", 5_400_000),
            ("1h 30m", 5_400_000),
            (" 250 ms ", 250),
            ("1.5s", 1500),
            ("2min", 120_000),
            ("0s", 0),
        ] {
            assert_eq!(text.parse(), Ok(Length(Duration::from_millis(millis))), "{text}");
        }
        for nonsense in [
            "",
            " ",
            "30",
            "-5s",
            "soon",
            "5 parsecs",
            "s",
            "1.s",
            "5s 3",
            "5s, 3ms",
            "99999999999999999999s",
            "18446744073709551615d",
            "18446744073709551615s 500ms 500ms",
        ] {
            let error = nonsense.parse::<Length>().unwrap_err();
            assert_eq!(error.to_string(), format!("{}: length=`{nonsense}`", Length::FORM));
        }
    }

    proptest::proptest! {
        #[test]
        fn every_length_is_read_as_it_was_written(length: Duration) {
            proptest::prop_assert_eq!(Length(length).to_string().parse(), Ok(Length(length)));
        }

        #[test]
        fn no_text_is_too_strange(text in "[0-9.smhdnu µ-]*") {
            let _ = text.parse::<Length>();
        }
    }

    #[test]
    fn lengths_are_spoken_short() {
        for (micros, expected) in
            [(0, "0s"), (1_234, "1ms"), (9_876_543, "9.876s"), (12_345_678, "12s"), (3_600_900_000, "1h")]
        {
            assert_eq!(Spoken(Duration::from_micros(micros)).to_string(), expected);
        }
    }
}
