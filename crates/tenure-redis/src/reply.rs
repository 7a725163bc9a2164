//! What the scripts' replies mean.

use crate::error::{no_lock, nonsense};
use crate::found::{Found, in_line, is_in, millis, outermost};
use redis::Value;
use std::time::Duration;
use tenure_core::kernel::{Grant, Time};
use tenure_core::{Applied, Busy, Claim, Holder, Kind, Outcome, Sight, Step, StoreError};

/// Reads the reply of `acquire.lua`, for a lock of this kind.
pub(crate) fn acquired(kind: Kind, value: &Value) -> Result<Outcome, StoreError> {
    match value {
        Value::Int(0) => Ok(Outcome::Refused),
        Value::Int(_) => Ok(Outcome::Granted(Grant { token: number(value)?, count: 1 })),
        Value::Array(parts) => match parts.as_slice() {
            [token, count] => Ok(Outcome::Granted(grant(token, count)?)),
            [rival] => Ok(Outcome::Deadlock(Claim::found(text(rival)?))),
            [ttl, now, what] => {
                let Found { kind: held, holders } = Found::read(ttl, now, what, &[])?;
                // Another library's lock does not say whether it is a fenced one.
                let may_be = kind == Kind::Fenced && held == Kind::Reentrant;
                match (held == kind || may_be, outermost(holders)) {
                    (true, Some(holder)) => Ok(Outcome::Busy(Busy::behind(holder))),
                    // Some of them may have left since: it takes another look to tell who is in.
                    (false, _) if held.is_side() => Err(no_lock()),
                    (false, Some(_)) => Ok(Outcome::Conflict(held)),
                    // Whoever held it was gone by the time the script looked, which cannot be within one script.
                    (_, None) => Err(nonsense(value)),
                }
            }
            [ttl, now, what, ahead, kept] => {
                let found = Found::read(ttl, now, what, &[])?;
                busy(outermost(found.holders), millis(ttl), ahead, kept)
            }
            [latest, now, what, ends, ahead, kept] => {
                // A hash of ours is shown by the one in the way alone, another library's as it is.
                let again = number(latest).ok().map(Duration::from_micros);
                let ttl = again.map_or(-1, |left| i64::try_from(left.as_millis()).unwrap_or(i64::MAX));
                let known = match what {
                    Value::Array(fields) if !text(ends)?.is_empty() => vec![fields[0].clone(), ends.clone()],
                    _ => Vec::new(),
                };
                let found = Found::read(&Value::Int(ttl), now, what, &known)?;
                busy(outermost(found.holders), again, ahead, kept)
            }
            _ => Err(nonsense(value)),
        },
        _ => Err(nonsense(value)),
    }
}

/// Reads the reply of `multi/acquire.lua`. One that is in use for something else is left to be looked at.
pub(crate) fn together(steps: &[Step], value: &Value) -> Result<Applied, StoreError> {
    let Value::Array(parts) = value else { return Err(nonsense(value)) };
    let Some((first, rest)) = parts.split_first() else { return Err(nonsense(value)) };
    let Some(at) = usize::try_from(number(first)?).unwrap_or(usize::MAX).checked_sub(1) else {
        if rest.len() != steps.len() {
            return Err(nonsense(value));
        }
        let grant = |token: &Value| Ok(Outcome::Granted(Grant { token: number(token)?, count: 1 }));
        return Ok(Applied::Each(rest.iter().map(grant).collect()));
    };
    let one = steps.get(at).ok_or_else(|| nonsense(value))?;
    let answer = match rest {
        [] => Err(no_lock()),
        [cancelled] => acquired(one.kind, cancelled),
        _ => acquired(one.kind, &Value::Array(rest.to_vec())),
    };
    Ok(Applied::Stopped { at, answer })
}

/// Not now, behind this holder if the lock is held, and behind so many of a line.
fn busy(
    holder: Option<Holder>,
    held_for: Option<Duration>,
    ahead: &Value,
    kept: &Value,
) -> Result<Outcome, StoreError> {
    let ahead = match ahead {
        Value::Int(-1) => None,
        ahead => Some(u32::try_from(number(ahead)?).unwrap_or(u32::MAX)),
    };
    let again = if holder.is_some() { held_for } else { Some(Duration::from_micros(number(kept)?)) };
    Ok(Outcome::Busy(Busy { holder, ahead, again, votes: Vec::new() }))
}

/// Whether what lies under a key may be a count, of a reply of `sight.lua`.
pub(crate) fn may_be_count(value: &Value) -> bool {
    let Value::Array(parts) = value else { return false };
    matches!(parts.get(2), Some(Value::BulkString(text)) if is_number(text))
}

/// Whether a text is a number as counts are.
pub(crate) fn is_number(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    (1..=11).contains(&text.len()) && !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

/// When the holder was looked at, by the server's time in µs, of a reply of `holder.lua`.
pub(crate) fn moment(value: &Value) -> Option<u64> {
    match value {
        Value::Array(parts) => match parts.as_slice() {
            [_, now, _] => number(now).ok(),
            _ => None,
        },
        _ => None,
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

/// Reads the reply of `sight.lua`.
pub(crate) fn sight(value: &Value) -> Result<Option<Sight>, StoreError> {
    let Value::Array(parts) = value else { return Err(nonsense(value)) };
    let [ttl, now, what, waiters, Value::Array(ends), Value::Array(line), Value::Array(shares), hold, ..] =
        parts.as_slice()
    else {
        return Err(nonsense(value));
    };
    let Found { kind, mut holders } = Found::read(ttl, now, what, ends)?.with_shares(now, shares, ends)?;
    holders.retain(is_in);
    if holders.is_empty() {
        return Ok(None);
    }
    let waiters = Some(u32::try_from(number(waiters)?).unwrap_or(u32::MAX));
    let line = in_line(line, Time::from_micros(number(now)?))?;
    let more = left_out(hold, holders.len())?;
    Ok(Some(Sight { kind, holders, more, waiters, line, votes: Vec::new() }))
}

/// How many of those who hold are not shown.
pub(crate) fn left_out(hold: &Value, shown: usize) -> Result<u32, StoreError> {
    let shown = u64::try_from(shown).unwrap_or(u64::MAX);
    Ok(u32::try_from(number(hold)?.saturating_sub(shown)).unwrap_or(u32::MAX))
}

/// Whether those who were put out by force are still to be told, of the reply of one of the `force.lua`s, and if so whether
/// there are readers of Redisson's among them.
pub(crate) fn to_be_told(value: &Value) -> Option<bool> {
    let Value::Array(parts) = value else { return None };
    match text(parts.last()?) {
        Ok("claims") => Some(false),
        Ok("readers") => Some(true),
        _ => None,
    }
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

pub(crate) fn text(value: &Value) -> Result<&str, StoreError> {
    match value {
        Value::BulkString(bytes) => std::str::from_utf8(bytes).map_err(|_| no_lock()),
        Value::SimpleString(text) => Ok(text),
        _ => Err(nonsense(value)),
    }
}

pub(crate) fn number(value: &Value) -> Result<u64, StoreError> {
    match value {
        Value::Int(number) => u64::try_from(*number).map_err(|_| nonsense(value)),
        _ => text(value)?.parse().map_err(|_| no_lock()),
    }
}
