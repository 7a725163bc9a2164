//! Lengths of time as people type and read them: `30s`, `5m`, `1h30m`.

use std::time::Duration;
use tenure::{Length, Unreadable};

/// A length that was typed. Whether it is a sensible one, its reader knows.
pub(crate) fn any(text: &str) -> Result<Duration, &'static str> {
    text.parse().map(|Length(length)| length).map_err(|error: Unreadable| error.rule())
}

/// A length where none at all would mean nothing.
pub(crate) fn some(text: &str) -> Result<Duration, &'static str> {
    any(text)
        .and_then(|length| if length.is_zero() { Err("choose more than nothing, such as `30s`") } else { Ok(length) })
}

/// A length with no more digits than matter: `120ms`, `27s`, `3m 12s`, `2h 5m`.
pub(crate) fn spoken(length: Duration) -> String {
    const HOUR: u64 = 3600;
    let seconds = length.as_secs();
    // Who has waited for hours does not count seconds.
    let kept = if seconds == 0 { u64::from(length.subsec_millis()) } else { seconds };
    let rounded = match (seconds, kept) {
        (0, millis) => Duration::from_millis(millis),
        (HOUR.., seconds) => Duration::from_secs(seconds / 60 * 60),
        (_, seconds) => Duration::from_secs(seconds),
    };
    humantime::format_duration(rounded).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_as_they_are_typed() {
        for read in [any, some] {
            assert_eq!(read("30s"), Ok(Duration::from_secs(30)));
            assert_eq!(read("1h30m"), Ok(Duration::from_secs(5400)));
            assert_eq!(read("250ms"), Ok(Duration::from_millis(250)));
            for nonsense in ["", "30", "-5s", "soon", "5 parsecs", "99999999999999999999s", "18446744073709551615d"] {
                assert!(read(nonsense).is_err(), "{nonsense}");
            }
        }
        assert_eq!(any("0s"), Ok(Duration::ZERO));
        assert!(some("0s").is_err());
    }

    #[test]
    fn lengths_are_spoken_short() {
        for (millis, expected) in
            [(0, "0s"), (120, "120ms"), (27_400, "27s"), (192_000, "3m 12s"), (7_512_000, "2h 5m")]
        {
            assert_eq!(spoken(Duration::from_millis(millis)), expected);
        }
    }
}
