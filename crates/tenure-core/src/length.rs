//! Lengths of time as people write and read them: `24h`, `5m 30s`, `100ms`.

use std::fmt;
use std::time::Duration;

/// A length of time, exactly.
pub(crate) struct Length(pub(crate) Duration);

/// A length of time with no more digits than matter.
pub(crate) struct Spoken(pub(crate) Duration);

const UNITS: [(&str, u64); 3] = [("d", 24 * 60 * 60), ("h", 60 * 60), ("m", 60)];
/// Below two days people count in hours.
const DAYS_FROM: u64 = 2 * 24 * 60 * 60;

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
    fn lengths_are_spoken_short() {
        for (micros, expected) in
            [(0, "0s"), (1_234, "1ms"), (9_876_543, "9.876s"), (12_345_678, "12s"), (3_600_900_000, "1h")]
        {
            assert_eq!(Spoken(Duration::from_micros(micros)).to_string(), expected);
        }
    }
}
