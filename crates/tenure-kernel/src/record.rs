//! What a store keeps of one lock, whatever its kind: how to step it, and how to write it down.

use crate::kinds::reentrant::{Entered, Hold, Tombstone};
use crate::{Claim, Kind, Operation, Time, Token, reentrant, simple};
use std::fmt;
use std::str::FromStr;

pub use crate::kinds::reentrant::{Record, Stepped};

/// Applies one operation to a lock of one kind, at one moment of the store's clock. `watermark` is the largest token the
/// store has handed out, for any key; zero if it does not remember.
pub fn step(kind: Kind, record: Record, operation: &Operation, now: Time, watermark: Token) -> Stepped {
    match kind {
        Kind::Reentrant => reentrant::step(record, operation, now, watermark),
        Kind::Simple => simple::step(record, operation, now, watermark),
    }
}

/// The first line of every record: what the lines after it mean.
const VERSION: &str = "tenure 1";

/// A record that this version cannot read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable(String);

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no record that this version can read: line=`{}`", self.0)
    }
}

impl std::error::Error for Unreadable {}

/// A line per thing, and the claim last on it, so that people can read it where they meet it.
///
/// ```
/// use tenure_kernel::Record;
///
/// let written = "tenure 1\nheld reentrant 1700 1000 31000\nin 1 0 - a0b1:7\n";
/// let record: Record = written.parse().unwrap();
/// assert_eq!(record.hold.as_ref().map(|hold| hold.token), Some(1700));
/// assert_eq!(record.to_string(), written);
/// ```
impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{VERSION}")?;
        if let Some(Hold { kind, token, since, ends, claims }) = &self.hold {
            writeln!(f, "held {kind} {token} {} {}", since.as_micros(), ends.as_micros())?;
            for Entered { claim, count, change, ends } in claims {
                match ends {
                    Some(ends) => writeln!(f, "in {count} {change} {} {claim}", ends.as_micros())?,
                    None => writeln!(f, "in {count} {change} - {claim}")?,
                }
            }
        }
        for Tombstone { claim, entry, forget } in &self.tombstones {
            writeln!(f, "cancelled {entry} {} {claim}", forget.as_micros())?;
        }
        Ok(())
    }
}

impl FromStr for Record {
    type Err = Unreadable;

    fn from_str(text: &str) -> Result<Self, Unreadable> {
        let mut lines = text.lines();
        let first = lines.next().unwrap_or_default();
        if first != VERSION {
            return Err(Unreadable(first.to_owned()));
        }
        let mut record = Self::default();
        for line in lines {
            read(&mut record, line).ok_or_else(|| Unreadable(line.to_owned()))?;
        }
        Ok(record)
    }
}

fn read(record: &mut Record, line: &str) -> Option<()> {
    let time = |text: &str| text.parse().ok().map(Time::from_micros);
    let (what, rest) = line.split_once(' ')?;
    match what {
        "held" => {
            let mut words = rest.split(' ');
            let mut next = || words.next();
            record.hold = Some(Hold {
                kind: next()?.parse().ok()?,
                token: next()?.parse().ok()?,
                since: time(next()?)?,
                ends: time(next()?)?,
                claims: Vec::new(),
            });
        }
        "in" => {
            let mut words = rest.splitn(4, ' ');
            let mut next = || words.next();
            let (count, change) = (next()?.parse().ok()?, next()?.parse().ok()?);
            let ends = match next()? {
                "-" => None,
                ends => Some(time(ends)?),
            };
            record.hold.as_mut()?.claims.push(Entered { claim: Claim::found(next()?), count, change, ends });
        }
        "cancelled" => {
            let mut words = rest.splitn(3, ' ');
            let mut next = || words.next();
            let (entry, forget) = (next()?.parse().ok()?, time(next()?)?);
            record.tombstones.push(Tombstone { claim: Claim::found(next()?), entry, forget });
        }
        _ => return None,
    }
    Some(())
}
