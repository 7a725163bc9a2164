//! What the replies about counts mean.

use crate::error::{no_lock, nonsense};
use crate::found::in_line;
use crate::reply::{left_out, number, text};
use redis::Value;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::Duration;
use tenure_core::kernel::{Grant, Latch, Supply, Time};
use tenure_core::{Busy, Claim, Holder, Kind, Outcome, Sight, StoreError};

/// A permit that Redisson lets nobody have back by itself has this for its end.
const NEVER: u64 = 922_337_203_685_477;

/// Reads the reply of `take.lua`.
pub(crate) fn taken(value: &Value) -> Result<Outcome, StoreError> {
    let Value::Array(parts) = value else {
        return if *value == Value::Int(0) { Ok(Outcome::Refused) } else { Err(nonsense(value)) };
    };
    match parts.as_slice() {
        [total] => Ok(Outcome::Short(whole(total)?)),
        [token, count] => Ok(Outcome::Granted(Grant {
            token: number(token)?,
            count: u32::try_from(number(count)?).unwrap_or(u32::MAX),
        })),
        [now, claim, has, ends, first, ahead] => {
            let now = Time::from_micros(number(now)?);
            let holder = match text(claim)? {
                "" => None,
                claim => Some(of_semaphore(claim, text(has)?, moment(ends)?, now)?),
            };
            let ahead = u32::try_from(whole(ahead)?).ok();
            Ok(Outcome::Busy(Busy {
                holder,
                ahead,
                again: moment(first)?.map(|first| first.since(now)),
                votes: Vec::new(),
            }))
        }
        [now, id, ends, first] => {
            let now = Time::from_micros(number(now)?);
            let holder = match id {
                Value::BulkString(id) if id.is_empty() => None,
                id => Some(of_permits(id, moment(ends)?, now)?),
            };
            Ok(Outcome::Busy(Busy {
                holder,
                ahead: None,
                again: moment(first)?.map(|first| first.since(now)),
                votes: Vec::new(),
            }))
        }
        _ => Err(nonsense(value)),
    }
}

/// Reads the reply of `give_back.lua`.
pub(crate) fn given_back(value: &Value) -> Result<Outcome, StoreError> {
    match value {
        Value::Int(-1) => Ok(Outcome::NotHeld),
        Value::Int(count) => Ok(Outcome::GivenBack(u32::try_from(*count).map_err(|_| nonsense(value))?)),
        _ => Err(nonsense(value)),
    }
}

/// Whether more has ended than one call gives back, so that it is to be asked again, of the reply of `supply.lua`.
pub(crate) fn is_unsettled(value: &Value) -> bool {
    *value == Value::Int(-1)
}

/// Reads the reply of `supply.lua`.
pub(crate) fn supply(value: &Value) -> Result<Outcome, StoreError> {
    let Value::Array(parts) = value else { return Err(nonsense(value)) };
    let [was, available, total] = parts.as_slice() else { return Err(nonsense(value)) };
    let (was, total) = (known(was)?, known(total)?);
    Ok(Outcome::Supply(Supply { was, available: whole(available)?, total }))
}

/// Reads the reply of `latch/count.lua`.
pub(crate) fn latch(value: &Value) -> Result<Outcome, StoreError> {
    let Value::Array(parts) = value else { return Err(nonsense(value)) };
    let [was, count, round] = parts.as_slice() else { return Err(nonsense(value)) };
    let small = |value| u32::try_from(number(value)?).map_err(|_| nonsense(value));
    let round = if text(round)?.is_empty() { None } else { Some(number(round)?) };
    Ok(Outcome::Latch(Latch { was: small(was)?, count: small(count)?, round }))
}

/// What lies under a key where a count may be.
pub(crate) enum Looked {
    /// Something else.
    Other,
    /// Nothing, or a number of which there is no telling what it counts.
    Nothing,
    /// A count of this kind, and who has some of it.
    Count(Kind, Option<Sight>),
}

/// Reads the reply of `counted/sight.lua`.
pub(crate) fn looked(value: &Value) -> Result<Looked, StoreError> {
    let Value::Array(parts) = value else { return Err(nonsense(value)) };
    let [what, now, Value::Array(held), Value::Array(ends), waiters, Value::Array(line), hold, ..] = parts.as_slice()
    else {
        return Err(nonsense(value));
    };
    let now = Time::from_micros(number(now)?);
    let mut known = HashMap::new();
    for pair in ends.chunks_exact(2) {
        known.insert(bytes(&pair[0])?, Time::from_micros(number(&pair[1])?));
    }
    let kind = match text(what)? {
        "other" => return Ok(Looked::Other),
        "none" | "count" => return Ok(Looked::Nothing),
        name => name.parse().map_err(|_| nonsense(what))?,
    };
    let mut holders = Vec::new();
    for pair in held.chunks_exact(2) {
        let ends = known.get(bytes(&pair[0])?).copied();
        let holder = match kind {
            // Beside those who have some, their sums.
            Kind::Semaphore if ends.is_none() => continue,
            Kind::Semaphore => of_semaphore(text(&pair[0])?, text(&pair[1])?, ends, now)?,
            _ => {
                // Another library may have made one of ours last longer.
                let shown = number(&pair[1])?;
                let ours = ends.filter(|ends| shown <= ends.as_micros().div_ceil(1000) + 1000);
                let ends = ours.or((shown < NEVER).then(|| Time::from_micros((shown + 1000).saturating_mul(1000))));
                of_permits(&pair[0], ends, now)?
            }
        };
        holders.push(holder);
    }
    // What has ended is given back when it is next asked for.
    holders.retain(|holder| holder.remaining != Some(Duration::ZERO));
    holders.sort_by(|one, other| (other.held_for, &one.claim).cmp(&(one.held_for, &other.claim)));
    if holders.is_empty() {
        return Ok(Looked::Count(kind, None));
    }
    let waiters = Some(u32::try_from(number(waiters)?).unwrap_or(u32::MAX));
    let line = in_line(line, now)?;
    let more = left_out(hold, holders.len())?;
    Ok(Looked::Count(kind, Some(Sight { kind, holders, more, waiters, line, votes: Vec::new() })))
}

/// A claim that has permits: how many, its token, since when.
fn of_semaphore(claim: &str, has: &str, ends: Option<Time>, now: Time) -> Result<Holder, StoreError> {
    let words: Vec<u64> = has.split(' ').map(|word| word.parse().map_err(|_| no_lock())).collect::<Result<_, _>>()?;
    let [count, token, since] = words[..] else { return Err(no_lock()) };
    Ok(Holder {
        claim: Claim::found(claim),
        count: u32::try_from(count).unwrap_or(u32::MAX),
        token: Some(token),
        remaining: ends.map(|ends| ends.since(now)),
        held_for: Some(now.since(Time::from_micros(since))),
    })
}

/// A permit that is taken. Since when is not written down anywhere.
fn of_permits(id: &Value, ends: Option<Time>, now: Time) -> Result<Holder, StoreError> {
    let remaining = ends.map(|ends| ends.since(now));
    Ok(Holder { claim: shown(bytes(id)?), count: 1, token: None, remaining, held_for: None })
}

/// A permit's name, of what it is called on the server.
fn shown(member: &[u8]) -> Claim {
    if member.len() != 16 {
        return Claim::found(&String::from_utf8_lossy(member));
    }
    let mut digits = String::with_capacity(32);
    for byte in member {
        let _ = write!(digits, "{byte:02x}");
    }
    Claim::found(&digits)
}

/// A moment, if there is one.
fn moment(value: &Value) -> Result<Option<Time>, StoreError> {
    if text(value)?.is_empty() { Ok(None) } else { Ok(Some(Time::from_micros(number(value)?))) }
}

fn bytes(value: &Value) -> Result<&[u8], StoreError> {
    match value {
        Value::BulkString(bytes) => Ok(bytes),
        _ => Err(nonsense(value)),
    }
}

/// A number that may be missing.
fn known(value: &Value) -> Result<Option<i64>, StoreError> {
    match value {
        Value::BulkString(text) if text.is_empty() => Ok(None),
        value => whole(value).map(Some),
    }
}

/// A number that may be below zero.
fn whole(value: &Value) -> Result<i64, StoreError> {
    match value {
        Value::Int(number) => Ok(*number),
        value => text(value)?.parse().map_err(|_| nonsense(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::member;
    use super::*;

    #[test]
    fn redissons_ids_are_bytes_and_all_others_are_themselves() {
        for (id, bytes) in [
            ("000102030405060708090a0b0c0d0e0f", (0..16).collect::<Vec<u8>>()),
            ("short", b"short".to_vec()),
            ("000102030405060708090a0b0c0d0e0x", b"000102030405060708090a0b0c0d0e0x".to_vec()),
        ] {
            let claim = Claim::found(id);
            assert_eq!(*member(&claim), bytes);
            assert_eq!(shown(&bytes), claim);
        }
    }
}
