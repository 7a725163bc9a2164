//! How a record is written down, so that people can read it where they meet it.

use crate::kinds::reentrant::{Entered, Hold};
use crate::{Claim, Countdown, Kind, Record, Share, Span, Spot, Time, Tombstone, Waiter};
use std::fmt;
use std::str::FromStr;

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

/// A line per thing, and the claim last on it, before those it stands under.
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
        for Share { claim, kind, token, since, ends, count, change } in &self.shares {
            let (since, ends) = (since.as_micros(), ends.as_micros());
            writeln!(f, "share {kind} {token} {since} {ends} {count} {change} {claim}")?;
        }
        if let Some((kind, total)) = self.supply {
            writeln!(f, "supply {kind} {total}")?;
        }
        if let Some(Countdown { count, round, ids }) = &self.latch {
            writeln!(f, "latch {count} {round}")?;
            ids.iter().try_for_each(|id| writeln!(f, "counted {id}"))?;
        }
        if self.fence > 0 {
            writeln!(f, "fence {}", self.fence)?;
        }
        for Waiter { claim, kind, want, under, upgrades, since, ends } in &self.line {
            let (since, ends) = (since.as_micros(), ends.as_micros());
            write!(f, "{} {kind}", if *upgrades { "upgrades" } else { "waits" })?;
            if *kind == Kind::Semaphore {
                write!(f, ":{want}")?;
            }
            write!(f, " {since} {ends} {claim}")?;
            under.iter().try_for_each(|claim| write!(f, " {claim}"))?;
            writeln!(f)?;
        }
        if self.pass != Time::default() {
            writeln!(f, "pass {}", self.pass.as_micros())?;
        }
        for Tombstone { client, span: Span { since, until }, forget } in &self.tombstones {
            writeln!(f, "over {} {since} {until} {client}", forget.as_micros())?;
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
        "share" => {
            let mut words = rest.splitn(7, ' ');
            let mut next = || words.next();
            record.shares.push(Share {
                kind: next()?.parse().ok()?,
                token: next()?.parse().ok()?,
                since: time(next()?)?,
                ends: time(next()?)?,
                count: next()?.parse().ok()?,
                change: next()?.parse().ok()?,
                claim: Claim::found(next()?),
            });
        }
        "waits" | "upgrades" => {
            let mut words = rest.split(' ');
            let mut next = || words.next();
            let kind = next()?;
            let (kind, want) = kind.split_once(':').unwrap_or((kind, "1"));
            record.line.push(Waiter {
                kind: kind.parse().ok()?,
                want: want.parse().ok()?,
                since: time(next()?)?,
                ends: time(next()?)?,
                claim: Claim::found(next()?),
                upgrades: what == "upgrades",
                under: words.map(Claim::found).collect(),
            });
        }
        "supply" => {
            let (kind, total) = rest.split_once(' ')?;
            record.supply = Some((kind.parse().ok()?, total.parse().ok()?));
        }
        "latch" => {
            let (count, round) = rest.split_once(' ')?;
            record.latch = Some(Countdown { count: count.parse().ok()?, round: round.parse().ok()?, ids: Vec::new() });
        }
        "counted" => record.latch.as_mut()?.ids.push(Claim::found(rest)),
        "fence" => record.fence = rest.parse().ok()?,
        "pass" => record.pass = time(rest)?,
        "over" => {
            let mut words = rest.splitn(4, ' ');
            let mut next = || words.next();
            let forget = time(next()?)?;
            let span = Span { since: next()?.parse().ok()?, until: next()?.parse().ok()? };
            record.tombstones.push(Tombstone { client: next()?.into(), span, forget });
        }
        // As it was written before a client said all that is over at once.
        "cancelled" => {
            let mut words = rest.splitn(3, ' ');
            let mut next = || words.next();
            let (entry, forget) = (next()?.parse().ok()?, time(next()?)?);
            let claim = Claim::found(next()?);
            let span = Span::one(Spot::of(&claim, entry)?);
            record.tombstones.push(Tombstone { client: claim.client().into(), span, forget });
        }
        _ => return None,
    }
    Some(())
}
