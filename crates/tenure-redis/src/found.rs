//! What is found in a lock's key: as what it is held, and by whom.

use crate::error::{no_lock, nonsense};
use crate::reply::{number, text};
use redis::Value;
use std::collections::HashMap;
use std::time::Duration;
use tenure_core::kernel::Time;
use tenure_core::{Claim, Holder, Kind, Sight, StoreError, Token, Waiting};

/// Who is in, those whose leases have ended too, for a millisecond before the key is gone.
pub(crate) struct Found {
    pub(crate) kind: Kind,
    /// The one that took the lock, then those under it; of a read-write lock, in the order in which they came.
    pub(crate) holders: Vec<Holder>,
}

/// When a hash was read, and how long it still lasts.
#[derive(Clone, Copy)]
struct Moment {
    now: Time,
    remaining: Option<Duration>,
}

impl Found {
    /// Reads a key's value: a hash as fields and values, a string as its first bytes. `ends` tells, for a read-write lock,
    /// when each lease ends: claim, time, claim, time.
    pub(crate) fn read(ttl: &Value, now: &Value, what: &Value, ends: &[Value]) -> Result<Self, StoreError> {
        let moment = Moment { now: Time::from_micros(number(now)?), remaining: millis(ttl) };
        match what {
            Value::Array(fields) => of_hash(fields, moment, ends),
            // Nothing was in the key: an empty string would be a lock's no less than a missing one.
            Value::BulkString(text) if text.is_empty() && *ttl == Value::Int(-2) => {
                Ok(Self { kind: Kind::Simple, holders: Vec::new() })
            }
            Value::BulkString(text) => Ok(Self { kind: Kind::Simple, holders: vec![simple(text, moment)] }),
            _ => Err(nonsense(what)),
        }
    }
}

impl Found {
    /// Puts in what is known of our own among those in Redisson's read-write lock; those of ours that have ended are gone
    /// from it a little later.
    pub(crate) fn with_shares(mut self, now: &Value, fields: &[Value], ends: &[Value]) -> Result<Self, StoreError> {
        if fields.is_empty() {
            return Ok(self);
        }
        let (known, moment) = (pairs(fields)?, Moment { now: Time::from_micros(number(now)?), remaining: None });
        let ours = shares(&known, moment, ends)?;
        let is_own = |holder: &Holder| known.iter().any(|(claim, _)| *claim == without_side(&holder.claim));
        self.holders.retain(|holder| !is_own(holder));
        let written = self.holders.iter().any(|holder| holder.claim.as_str() != without_side(&holder.claim));
        self.kind = if written { Kind::Write } else { ours.kind };
        self.holders.splice(0..0, ours.holders);
        Ok(self)
    }
}

/// A claim of Redisson's without the mark of those who write.
fn without_side(claim: &Claim) -> &str {
    claim.as_str().strip_suffix(":write").unwrap_or(claim.as_str())
}

fn pairs(fields: &[Value]) -> Result<Vec<(&str, &str)>, StoreError> {
    fields.chunks_exact(2).map(|pair| Ok((text(&pair[0])?, text(&pair[1])?))).collect()
}

/// A time to live, if there is one.
pub(crate) fn millis(ttl: &Value) -> Option<Duration> {
    number(ttl).ok().map(Duration::from_millis)
}

/// The first of those who are in.
pub(crate) fn outermost(mut holders: Vec<Holder>) -> Option<Holder> {
    let first = holders.iter().position(is_in).unwrap_or(0);
    (!holders.is_empty()).then(|| holders.swap_remove(first))
}

/// Whether a holder is still in: the lease of a claim under others may end although that of the lock goes on.
pub(crate) fn is_in(holder: &Holder) -> bool {
    !holder.claim.is_nested() || holder.remaining != Some(Duration::ZERO)
}

fn of_hash(fields: &[Value], moment: Moment, ends: &[Value]) -> Result<Found, StoreError> {
    let pairs = pairs(fields)?;
    let mode = pairs.iter().find(|(name, _)| *name == "mode").map(|(_, mode)| *mode);
    match mode {
        Some("read" | "write") => of_another_library(&pairs, moment),
        Some("tenure") => shares(&pairs, moment, ends),
        Some(_) => Err(no_lock()),
        // The one in the way, without the rest of the hash.
        None if !ends.is_empty() => shares(&pairs, moment, ends),
        None => entered(&pairs, moment),
    }
}

/// The holders of a lock that one at a time can have.
fn entered(pairs: &[(&str, &str)], Moment { now, remaining }: Moment) -> Result<Found, StoreError> {
    let whole = |value: &str| value.parse::<u64>().map_err(|_| no_lock());
    let mut token: Option<Token> = None;
    let mut kind = Kind::Reentrant;
    let mut since = None;
    let (mut above, mut under) = (Vec::new(), Vec::new());
    for (name, value) in pairs {
        match *name {
            "fence" => token = Some(whole(value)?),
            "fair" => kind = Kind::Fair,
            // Its tokens tell nothing of time.
            "fenced" => (kind, since) = (Kind::Fenced, Some(Time::from_micros(whole(value)?))),
            "line" | "change" | "nested" => drop(whole(value)?),
            name if is_claim(name) => {
                let claim = Claim::found(name);
                if claim.is_nested() {
                    let (count, ends) = nested(value)?;
                    under.push((claim, count, Some(ends.since(now))));
                } else {
                    above.push((claim, whole(value)?, remaining));
                }
            }
            _ => return Err(no_lock()),
        }
    }
    if !pairs.is_empty() && above.is_empty() && under.is_empty() {
        return Err(no_lock());
    }
    let holder = |(claim, count, remaining)| Holder {
        claim,
        count: u32::try_from(count).unwrap_or(u32::MAX),
        token,
        remaining,
        held_for: since.map(|since| now.since(since)).or(token.map(|token| Holder::held_since(token, now))),
    };
    Ok(Found { kind, holders: above.into_iter().chain(under).map(holder).collect() })
}

/// What is written of a claim that stands under others: count, change, end.
fn nested(value: &str) -> Result<(u64, Time), StoreError> {
    let mut words = value.split(' ').map(str::parse::<u64>);
    match (words.next(), words.next(), words.next()) {
        (Some(Ok(count)), Some(Ok(_)), Some(Ok(ends))) => Ok((count, Time::from_micros(ends))),
        _ => Err(no_lock()),
    }
}

/// The holders of a read-write lock of ours: kind, token, since when, count, change. If it was not asked when their leases
/// end, they are taken to be in for as long as the hash is there.
fn shares(pairs: &[(&str, &str)], Moment { now, remaining }: Moment, ends: &[Value]) -> Result<Found, StoreError> {
    let mut known = HashMap::new();
    for pair in ends.chunks_exact(2) {
        known.insert(text(&pair[0])?, Time::from_micros(number(&pair[1])?));
    }
    let (mut kind, mut found) = (Kind::Read, Vec::new());
    for (name, value) in pairs.iter().filter(|(name, _)| *name != "mode") {
        let words: Vec<&str> = value.split(' ').collect();
        let [side, token, since, count, _] = words.as_slice() else { return Err(no_lock()) };
        let remaining = match known.get(name) {
            Some(ends) if *ends > now => Some(ends.since(now)),
            _ if ends.is_empty() => remaining,
            // Gone from the hash a little later.
            _ => continue,
        };
        if *side == Kind::Write.name() {
            kind = Kind::Write;
        }
        let since = Time::from_micros(since.parse().map_err(|_| no_lock())?);
        found.push((
            since,
            Holder {
                claim: Claim::found(name),
                count: count.parse().map_err(|_| no_lock())?,
                token: Some(token.parse().map_err(|_| no_lock())?),
                remaining,
                held_for: Some(now.since(since)),
            },
        ));
    }
    found.sort_by(|(one, holder), (other, another)| (one, &holder.claim).cmp(&(other, &another.claim)));
    Ok(Found { kind, holders: found.into_iter().map(|(_, holder)| holder).collect() })
}

/// The holders of a read-write lock of Redisson's: who writes has `:write` at its end.
fn of_another_library(pairs: &[(&str, &str)], moment: Moment) -> Result<Found, StoreError> {
    let mut kind = Kind::Read;
    let mut holders = Vec::new();
    for (name, value) in pairs.iter().filter(|(name, _)| *name != "mode") {
        if !is_claim(name) {
            return Err(no_lock());
        }
        if name.ends_with(":write") {
            kind = Kind::Write;
        }
        let count = value.parse().map_err(|_| no_lock())?;
        let claim = Claim::found(name);
        holders.push(Holder { claim, count, token: None, remaining: moment.remaining, held_for: None });
    }
    Ok(Found { kind, holders })
}

/// The holder that a string names: ours by claim and token; of another library's we know no more than what it wrote.
fn simple(value: &[u8], Moment { now, remaining }: Moment) -> Holder {
    let written = String::from_utf8_lossy(value);
    let ours = written.split_once(' ').and_then(|(claim, rest)| {
        let token: Token = rest.strip_suffix(" line").unwrap_or(rest).parse().ok()?;
        is_claim(claim).then(|| (Claim::found(claim), token))
    });
    let (claim, token) = match ours {
        Some((claim, token)) => (claim, Some(token)),
        None => (Claim::found(&written), None),
    };
    let held_for = token.map(|token| Holder::held_since(token, now));
    Holder { claim, count: 1, token, remaining, held_for }
}

/// The first of those who stand in line: claim, kind, since when.
pub(crate) fn in_line(line: &[Value], now: Time) -> Result<Vec<Waiting>, StoreError> {
    let mut waiting = Vec::with_capacity(line.len() / 3);
    for place in line.chunks_exact(3) {
        let kind: Kind = text(&place[1])?.parse().map_err(|_| nonsense(&place[1]))?;
        // Another library does not say.
        let since = if text(&place[2])?.is_empty() { None } else { Some(Time::from_micros(number(&place[2])?)) };
        let waited = since.map(|since| now.since(since));
        waiting.push(Waiting { claim: Claim::found(text(&place[0])?), kind, waited });
    }
    if waiting.iter().any(|waiting| waiting.kind.is_side()) {
        // Those who read and those who write stand in one line.
        waiting.sort_by_key(|waiting| std::cmp::Reverse(waiting.waited));
    }
    waiting.truncate(Sight::MOST);
    Ok(waiting)
}

/// Whether a hash's field is the claim of Tenure or Redisson: a client's uuid, a colon, and something.
fn is_claim(field: &str) -> bool {
    field.split_once(':').is_some_and(|(client, rest)| {
        client.len() == 36 && client.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-') && !rest.is_empty()
    })
}
