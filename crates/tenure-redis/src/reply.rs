//! What the scripts' replies mean.

use crate::error::{no_lock, nonsense};
use redis::Value;
use std::time::Duration;
use tenure_core::kernel::{Grant, Time};
use tenure_core::{Claim, Holder, Kind, Outcome, Sight, StoreError, Token};

/// Reads the reply of `acquire.lua`.
pub(crate) fn acquired(value: &Value) -> Result<Outcome, StoreError> {
    match value {
        Value::Int(0) => Ok(Outcome::Refused),
        Value::Int(_) => Ok(Outcome::Granted(Grant { token: number(value)?, count: 1 })),
        Value::Array(parts) => match parts.as_slice() {
            [token, count] => Ok(Outcome::Granted(grant(token, count)?)),
            _ => {
                let mut holders = read(value)?.holders;
                if holders.is_empty() {
                    // Whoever held it was gone by the time the script looked, which cannot be within one script.
                    return Err(nonsense(value));
                }
                let first = holders.iter().position(is_in).unwrap_or(0);
                Ok(Outcome::Busy(holders.swap_remove(first)))
            }
        },
        _ => Err(nonsense(value)),
    }
}

/// Reads the reply of `reenter.lua`.
pub(crate) fn reentered(value: &Value) -> Result<Outcome, StoreError> {
    match value {
        Value::Int(-1) => Ok(Outcome::Refused),
        Value::Int(0) => Ok(Outcome::NotHeld),
        Value::Array(parts) => match parts.as_slice() {
            [token, count] => Ok(Outcome::Granted(grant(token, count)?)),
            _ => Err(nonsense(value)),
        },
        _ => Err(nonsense(value)),
    }
}

fn grant(token: &Value, count: &Value) -> Result<Grant, StoreError> {
    Ok(Grant { token: number(token)?, count: u32::try_from(number(count)?).unwrap_or(u32::MAX) })
}

/// Reads the reply of `holder.lua` of either kind, and of `sight.lua`, which also counts those who wait.
pub(crate) fn sight(value: &Value) -> Result<Option<Sight>, StoreError> {
    let mut sight = read(value)?;
    sight.holders.retain(is_in);
    Ok((!sight.holders.is_empty()).then_some(sight))
}

/// Whether a holder is still in: the lease of a claim under others may end although that of the lock goes on.
fn is_in(holder: &Holder) -> bool {
    !holder.claim.is_nested() || holder.remaining != Some(Duration::ZERO)
}

/// A sight with all that the key names: those whose leases have ended too, for a millisecond before the key is gone.
fn read(value: &Value) -> Result<Sight, StoreError> {
    let Value::Array(parts) = value else { return Err(nonsense(value)) };
    let (ttl, now, what, waiters) = match parts.as_slice() {
        [Value::Int(ttl), now, what] => (*ttl, now, what, None),
        [Value::Int(ttl), now, what, waiters] => (*ttl, now, what, Some(waiters)),
        _ => return Err(nonsense(value)),
    };
    let now = Time::from_micros(number(now)?);
    let remaining = u64::try_from(ttl).ok().map(Duration::from_millis);
    let (kind, holders) = match what {
        Value::Array(fields) => (Kind::Reentrant, entered(fields, remaining, now)?),
        // Nothing was in the key: an empty string would be a lock's no less than a missing one.
        Value::BulkString(text) if text.is_empty() && ttl == -2 => (Kind::Simple, Vec::new()),
        Value::BulkString(text) => (Kind::Simple, vec![simple(text, remaining, now)]),
        _ => return Err(nonsense(value)),
    };
    let waiters = waiters.map(number).transpose()?.map(|waiters| u32::try_from(waiters).unwrap_or(u32::MAX));
    Ok(Sight { kind, holders, waiters })
}

/// The holders that a hash names: the one that took the lock, then those under it.
fn entered(fields: &[Value], remaining: Option<Duration>, now: Time) -> Result<Vec<Holder>, StoreError> {
    let mut token: Option<Token> = None;
    let (mut above, mut under) = (Vec::new(), Vec::new());
    for pair in fields.chunks_exact(2) {
        match text(&pair[0])? {
            "fence" => token = Some(number(&pair[1])?),
            "line" | "change" | "nested" => drop(number(&pair[1])?),
            name if is_claim(name) => {
                let claim = Claim::found(name);
                if claim.is_nested() {
                    let (count, ends) = nested(&pair[1])?;
                    under.push((claim, count, Some(ends.since(now))));
                } else {
                    above.push((claim, number(&pair[1])?, remaining));
                }
            }
            _ => return Err(no_lock()),
        }
    }
    if !fields.is_empty() && above.is_empty() && under.is_empty() {
        return Err(no_lock());
    }
    let holder = |(claim, count, remaining)| Holder {
        claim,
        count: u32::try_from(count).unwrap_or(u32::MAX),
        token,
        remaining,
        held_for: token.map(|token| Holder::held_since(token, now)),
    };
    Ok(above.into_iter().chain(under).map(holder).collect())
}

/// What is written of a claim that stands under others: count, change, end.
fn nested(value: &Value) -> Result<(u64, Time), StoreError> {
    let mut words = text(value)?.split(' ').map(str::parse::<u64>);
    match (words.next(), words.next(), words.next()) {
        (Some(Ok(count)), Some(Ok(_)), Some(Ok(ends))) => Ok((count, Time::from_micros(ends))),
        _ => Err(no_lock()),
    }
}

/// The holder that a string names: ours by claim and token; of another library's we know no more than what it wrote.
fn simple(value: &[u8], remaining: Option<Duration>, now: Time) -> Holder {
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

/// Reads the reply of `renew.lua` for many holds: the places of those that do not hold any more, from zero.
pub(crate) fn gone(value: &Value) -> Result<Vec<usize>, StoreError> {
    let Value::Array(gone) = value else { return Err(nonsense(value)) };
    let place = |at: &Value| usize::try_from(number(at)?.saturating_sub(1)).map_err(|_| nonsense(at));
    gone.iter().map(place).collect()
}

/// Reads the reply of `renew.lua` for one hold.
pub(crate) fn renewed(value: &Value) -> Result<Outcome, StoreError> {
    match value {
        Value::Array(gone) if gone.is_empty() => Ok(Outcome::Renewed),
        Value::Array(_) => Ok(Outcome::NotHeld),
        other => Err(nonsense(other)),
    }
}

/// Reads the reply of `release.lua`.
pub(crate) fn released(value: &Value) -> Result<Outcome, StoreError> {
    match value {
        Value::Int(0) => Ok(Outcome::NotHeld),
        Value::Int(1) => Ok(Outcome::Released),
        Value::Int(2) => Ok(Outcome::Left),
        Value::Int(3) => Ok(Outcome::Kept),
        other => Err(nonsense(other)),
    }
}

/// Reads the reply of `leave.lua`.
pub(crate) fn left(value: &Value) -> Result<Outcome, StoreError> {
    match value {
        Value::Int(0) => Ok(Outcome::NotHeld),
        Value::Array(parts) => match parts.as_slice() {
            [_, count] => Ok(Outcome::StillHeld(u32::try_from(number(count)?).unwrap_or(u32::MAX))),
            _ => Err(nonsense(value)),
        },
        _ => Err(nonsense(value)),
    }
}

/// Reads the reply of `SCAN`: where to go on, and the names that were found, without those that are no text.
pub(crate) fn scanned(value: &Value) -> Result<(u64, Vec<&str>), StoreError> {
    let Value::Array(parts) = value else { return Err(nonsense(value)) };
    let [next, Value::Array(found)] = parts.as_slice() else { return Err(nonsense(value)) };
    Ok((number(next)?, found.iter().filter_map(|name| text(name).ok()).collect()))
}

/// Whether a hash's field is the claim of Tenure or Redisson: a client's uuid, a colon, and something.
fn is_claim(field: &str) -> bool {
    field.split_once(':').is_some_and(|(client, rest)| {
        client.len() == 36 && client.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-') && !rest.is_empty()
    })
}

fn text(value: &Value) -> Result<&str, StoreError> {
    match value {
        Value::BulkString(bytes) => std::str::from_utf8(bytes).map_err(|_| no_lock()),
        Value::SimpleString(text) => Ok(text),
        _ => Err(nonsense(value)),
    }
}

fn number(value: &Value) -> Result<u64, StoreError> {
    match value {
        Value::Int(number) => u64::try_from(*number).map_err(|_| nonsense(value)),
        _ => text(value)?.parse().map_err(|_| no_lock()),
    }
}
