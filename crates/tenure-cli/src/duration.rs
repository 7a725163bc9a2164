//! Lengths of time as people type and read them: `30s`, `5m`, `1h30m`.

use std::time::Duration;

/// A length that was typed. Whether it is a sensible one, its reader knows.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(length) if length.is_zero() => Err("choose more than nothing, such as `30s`".to_owned()),
        Ok(length) => Ok(length),
        Err(_) => Err("write a length of time such as `30s`, `5m` or `1h30m`".to_owned()),
    }
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
        assert_eq!(parse("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(parse("1h30m"), Ok(Duration::from_secs(5400)));
        assert_eq!(parse("250ms"), Ok(Duration::from_millis(250)));
        for nonsense in
            ["", "30", "-5s", "0s", "0", "soon", "5 parsecs", "99999999999999999999s", "18446744073709551615d"]
        {
            assert!(parse(nonsense).is_err(), "{nonsense}");
        }
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
